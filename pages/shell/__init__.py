"""The frame around every page: address, bar, sidebar, navigation, and compilation of kernels."""
