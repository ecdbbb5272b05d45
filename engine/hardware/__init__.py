"""Devices, and the catalogue of the parts that they are built from."""
