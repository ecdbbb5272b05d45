"""Kernels of tables: where the rows of each table are looked up."""
