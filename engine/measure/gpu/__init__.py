"""Measuring a GPU: its operators timed one by one, and constants of parts fitted to them."""
