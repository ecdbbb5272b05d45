"""Expected misses and conflicts of row caches."""
