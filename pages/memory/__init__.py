"""Parts of the section Memory of Design: latency, requests in flight, near-data compute."""
