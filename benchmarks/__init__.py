"""Speed of Emberpool compared with peers: each file is a benchmark, `python -m engine bench` runs all.

Peers are other programs that do the same work. They are installed separately.
"""
