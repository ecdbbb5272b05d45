"""Words that every room speaks: arrays, constants, the parts' catalogue, work, task graph, memo.

They know no scenario.
"""
