"""The outlook of a verdict: `bands` over draws, `tipping` points and a map, the `territory`."""
