"""The smallest PMEM, CXL link or both with which a system meets a target.

Bands over draws of constants say how sure each answer is.
Read `question` (target and baseline), `ladder` (values to try, and the first that is enough), `smallest` (the search, over
near-data compute, relaxed lookup and staleness too), `bands` (the same for each draw of the constants) and `sentences` (the
answer in sentences). `cache` answers for a cache in HBM alone, and `memory_cost` for a budget.
"""
