"""A run of training with faults: run until a fault, cut, recover, resume."""
