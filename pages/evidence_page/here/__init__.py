"""A machine that was measured, and what was predicted for it."""
