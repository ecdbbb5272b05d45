"""The protections, a file each: what comes back after which loss, and at what cost in seconds, joules and bytes."""
