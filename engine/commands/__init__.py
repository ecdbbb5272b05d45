"""The commands of the command line, one file each.

`add` declares the arguments, `call` runs the command and returns the exit status.
"""
