"""Memory: what latency, requests in flight and near-data compute do to a step, a section of Design."""
