"""The protections, a file each: restored state by loss, and costs."""
