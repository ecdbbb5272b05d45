"""Ways to divide tables among parts: one in each file of this folder.

`systems.sharding` defines the terms.
"""
