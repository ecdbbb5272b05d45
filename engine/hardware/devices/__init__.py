"""The devices, a file each: seconds, joules and dollars of work by a part's constants."""
