"""The devices, a file each: where a part's GB/s, W and USD become seconds, joules and dollars of a task's work."""
