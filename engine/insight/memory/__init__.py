"""What the memory system's physics does to a step: latency under load, the CXL link's latency, and near-data compute."""
