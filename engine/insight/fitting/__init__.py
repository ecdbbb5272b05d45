"""Fits of a file of lookups to the generator's knobs, with their goodness."""
