"""Many scenarios: `axes`, the `sweep` that they span, and the `links` to one scenario or to a sweep."""
