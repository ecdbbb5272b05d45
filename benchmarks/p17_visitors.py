"""P17: seconds from a visitor's move until the script has finished, among 20 visitors of one server.

They think for 5 s between two moves, for 10 minutes, while a sweep runs on the same store. One of them is a browser.
"""

from benchmarks.benchmark import Benchmark

LIMIT_SECONDS = 1.5


def run() -> tuple[float, float, bool]:
    """Return the 95th percentile of all moves, the limit, and whether no visitor met an error."""
    from tests.pages.load.crowd import crowd

    report = crowd()
    return report.p95, LIMIT_SECONDS, not report.errors


BENCHMARK = Benchmark("P17", "a move among 20 visitors, 95th percentile", "its limit, 1.5 s", "playwright", 1, 1.5, run, "wall")
