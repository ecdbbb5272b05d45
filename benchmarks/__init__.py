"""Speed beside peers: each file is one benchmark, `python -m engine bench` runs them; peers are installed apart."""
