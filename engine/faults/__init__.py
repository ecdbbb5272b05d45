"""Faults: who strikes, how often by published rates, and what is lost; a row of the catalogue each."""
