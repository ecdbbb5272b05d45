"""Many scenarios: `axes`, the `sweep` that they span, and `links` to them."""
