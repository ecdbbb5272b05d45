"""Many scenarios: `axes`, the `sweep` that they span, and the `links` that say one or all of them."""
