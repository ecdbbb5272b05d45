"""Charts and files of a sweep."""
