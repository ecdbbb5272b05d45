"""The smallest PMEM, CXL link or both with which a system meets a target.

Bands, which vary the model's constants, say how certain each answer is.
Read `question` (target and baseline), `ladder` (values to try, and the first that is enough), `smallest` (the search, over
near-data compute, relaxed lookup and staleness too), `bands` (the same for each draw of the constants) and `sentences` (the
answer in sentences). `cache` sizes a cache in HBM, and `memory_cost` spends a budget.
"""
