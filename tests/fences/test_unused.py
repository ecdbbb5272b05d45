"""Is everything in the engine used by a page, a command or a script?"""

from tests.fences.unused import used_by_nobody, used_by_tests_alone


def test_nothing_in_the_engine_is_there_for_tests_and_benchmarks_alone() -> None:
    assert used_by_tests_alone() == ["engine.core.memo:clear_memos"]  # measurements and tests of the memo begin without it


def test_nothing_in_the_engine_is_used_by_nobody() -> None:
    assert used_by_nobody() == []
