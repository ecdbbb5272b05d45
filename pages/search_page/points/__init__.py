"""The points of a sweep: in a table, filtered, pinned, in charts, and written to files."""
