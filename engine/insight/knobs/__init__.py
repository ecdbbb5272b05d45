"""Knobs of a machine: values worth a look, strips over them, and their effect."""
