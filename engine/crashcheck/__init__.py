"""The crash explorer."""
