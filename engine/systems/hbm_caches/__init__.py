"""Systems that cache rows of host memory in HBM."""
