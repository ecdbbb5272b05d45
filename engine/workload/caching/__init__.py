"""Expected misses and conflicts of caches of rows."""
