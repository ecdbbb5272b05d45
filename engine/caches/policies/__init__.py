"""Cache policies that replace rows one by one, each a kernel over the slots of a row index."""
