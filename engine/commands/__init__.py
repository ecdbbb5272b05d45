"""The headless commands, one file each: `add` declares a command's arguments, `call` does it and returns the exit status."""
