"""Systems that look ahead at later batches to fetch rows in time."""
