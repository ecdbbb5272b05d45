"""The points of a sweep: as a table, filtered, pinned, drawn, and written into files."""
