"""A run of training through faults: run, cut, recover, resume."""
