"""Why: where a speed-up comes from, a section of Design."""
