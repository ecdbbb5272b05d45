"""What stands around every page: the address, the bar on top, the drawer, the places, and the wait for kernels."""
