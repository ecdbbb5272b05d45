"""What to expect of caches of rows."""
