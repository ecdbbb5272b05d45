"""The protections, a file each: the restored state by loss, and the cost in seconds, joules and bytes."""
