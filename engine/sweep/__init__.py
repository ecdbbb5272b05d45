"""Sweeps over many scenarios: `axes`, the `sweep` over axes, and `links` to both."""
