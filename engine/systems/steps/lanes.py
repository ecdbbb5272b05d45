"""Names of the directions of links, each a lane of its own."""

TO_GPU, FROM_GPU = "to GPU", "from GPU"
TO_MEMORY, FROM_MEMORY = "in", "out"  # as seen from the memory
FROM_SERVERS, TO_SERVERS = "from servers", "to servers"
INTO_GPU = (TO_GPU, FROM_MEMORY, FROM_SERVERS)
