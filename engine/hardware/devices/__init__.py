"""The devices, a file each: seconds, joules and dollars of work from a part's constants."""
