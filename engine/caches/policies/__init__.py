"""Cache policies that replace rows one by one, as kernels over a row index."""
