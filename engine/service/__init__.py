"""The service: one process that owns a store and computes the points of its requests."""
