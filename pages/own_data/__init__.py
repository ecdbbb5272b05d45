"""The visitor's own data, on Start, Data and Failures: give a file, describe it, train on it."""
