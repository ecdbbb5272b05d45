"""One's own data: a file is given, its columns are described, and it is trained on or shown; on Start, Data and Failures."""
