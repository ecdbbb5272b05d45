"""Ways to divide tables among parts, a file each, found by a folder scan.

`systems.sharding` defines the terms.
"""
