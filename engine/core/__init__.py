"""Types that every room uses: arrays, constants, the catalogue of parts, work, task graph, memo.

No module of this room reads a scenario.
"""
