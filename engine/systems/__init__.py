"""Training systems: how each turns a batch's traffic into tasks; a folder for each family."""
