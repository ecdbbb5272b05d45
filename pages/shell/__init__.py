"""The frame around every page: address, bar, drawer, places, and the wait for kernels."""
