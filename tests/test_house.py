"""The fences of the house: is it no larger, no more tangled and no more crowded than what was decided?"""

import pytest

from tests import house

CEILINGS = house.ceilings()


@pytest.fixture(scope="module")
def now() -> dict[str, dict[str, int]]:
    """What is measured of this checkout."""
    return house.measured()


@pytest.mark.parametrize("what", sorted(CEILINGS))
def test_nothing_grows_over_its_ceiling(now, what):
    over = {key: (value, CEILINGS[what].get(key, 0)) for key, value in now[what].items() if value > CEILINGS[what].get(key, 0)}
    assert over == {}, f"{what}: now, and the ceiling; shrink it, or raise the ceiling in house.toml with a line in DECISIONS.md"


def test_a_circle_is_found_wherever_it_closes():
    graph = {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("b"), "d": frozenset("a")}
    assert house.circles(graph) == [["b", "c"]]
