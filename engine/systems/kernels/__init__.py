"""Kernels of tables: where the rows of each are looked up."""
