"""Systems of many GPUs, nodes and memories, or of none."""
