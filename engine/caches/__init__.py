"""Row caches before the tables, for one capacity or for all capacities.

Read `row_index`, then `policies`, then `replay`. `stack_distance` has the hits for all capacities.
"""
