"""Cache policies that replace rows one by one, as kernels on a row index."""
