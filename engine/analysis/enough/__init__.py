"""Is it enough? The smallest PMEM, CXL link or both with which a system meets a target, and how sure that is.

Read `question` (target and baseline), `ladder` (what is tried, and the first of it that is enough), `smallest` (the search, over
near-data compute, relaxed lookup and staleness too), `drawn` (the same for each draw of the constants) and `told` (all of it in
sentences, of the words in `wording`).
"""
