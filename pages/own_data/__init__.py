"""One's own data on Start, Data, Failures: give a file, describe it, train."""
