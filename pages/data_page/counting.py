"""Profiles that take long are counted in another process; the answer's box says so."""

from collections.abc import Callable, Hashable
from pathlib import Path
from time import monotonic
from typing import Any

from engine.insight.data_profile import Profile
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.data_page import workload_tables
from pages.ui import answer

BOX_AFTER = 0.3  # seconds without a box: most profiles take less


def expected_profile(scenario: Scenario) -> Profile:
    """Return the generator's expected profile; raises EmberpoolError."""
    find = workload_tables.expected_profile
    profile: Profile = (
        with_box("Computing the popularity of the generator's rows", find, scenario)
        if workload_tables.has_many_table_kinds(scenario)
        else find(scenario)
    )
    return profile


def counted_profile(scenario: Scenario, max_lookups: int, path: Path) -> Profile:
    """Return the profile of a file's first lookups, at most `max_lookups`; raises EmberpoolError."""
    words = f"Counting the lookups of {path.name}"
    profile: Profile = with_box(words, workload_tables.counted_profile, scenario, max_lookups, str(path))
    return profile


def with_box(words: str, find: Callable[..., Any], *arguments: Hashable) -> Any:
    """Return `find(*arguments)`, computed once in another process.

    Until then the page's answer shows `words`.
    """
    start, place = monotonic(), None

    def draw() -> None:
        nonlocal place
        if place is None and monotonic() - start > BOX_AFTER:
            place = answer.wait(words, "This takes some seconds, and a few more the first time.")

    try:
        return later.cached_result(find, *arguments, meanwhile=draw)
    finally:
        if place is not None:
            place.empty()
