"""The service: one process that owns a store and has the points computed that others request."""
