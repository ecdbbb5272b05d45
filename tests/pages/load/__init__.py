"""Many visitors of one real server at once."""
