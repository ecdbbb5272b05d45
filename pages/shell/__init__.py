"""The frame around every page: address, bar, drawer, places, and compilation of kernels."""
