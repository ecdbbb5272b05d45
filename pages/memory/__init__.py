"""Memory: effects of latency, requests in flight and near-data compute; a section of Design."""
