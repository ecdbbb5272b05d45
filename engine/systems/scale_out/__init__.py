"""Systems that scale out over many GPUs, nodes and memories, or use CPUs only."""
