"""Measuring a GPU: timings of single operators, and constants of parts fitted to them."""
