"""Faults of a machine: when each strikes, and what each destroys.

`fault` computes the strikes, `catalog.toml` has a table for each fault, and `rates` has a file for each source of published
rates.
"""
