"""Is it enough? The smallest PMEM, CXL link or both with which a system meets a target, and how sure that is.

Read `question` (target and baseline), `smallest` (the search), `choices` (near-data compute, relaxed lookup, staleness),
`drawn` (the same search for each draw of the constants) and `told` (all of it in sentences).
"""
