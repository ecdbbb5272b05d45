"""Does the drawing of mutants do what a mutation score needs: the same draw wherever files lie, one change at a time?"""

from pathlib import Path

from tests.mutants import draw, mutate, places

SOURCE = '''"""A made-up module."""

LIMIT = 3


@njit(cache=True)
def within(x: int = 1, most: float = 2.0) -> bool:
    """Return whether x is small enough."""
    return x + 1 <= min(most, LIMIT)


def add(items, x):
    if not within(x):
        raise ValueError(f"{x + 1} is too much.")
    items.append(x)
    return items
'''


def checkout(folder: Path, where: str) -> Path:
    path = folder / "engine" / where
    path.mkdir(parents=True)
    (path / "one.py").write_text(SOURCE)
    return folder


def test_a_draw_is_the_same_when_files_have_moved(tmp_path: Path) -> None:
    here, there = checkout(tmp_path / "a", ""), checkout(tmp_path / "b", "core")
    assert draw([places(here)], 7, 8) == draw([places(there)], 7, 8) == draw([places(there), places(here)], 7, 8)


def test_each_operator_finds_its_places_and_no_text_or_annotation_is_one(tmp_path: Path) -> None:
    known = places(checkout(tmp_path, ""))
    found = {f"{name}:{op}": [new for _, new in sites] for name, at in known.items() for op, sites in at.sites.items()}
    assert found == {
        "LIMIT:constant": ["4"],
        "within:constant": ["2", "4.0", "2"],
        "within:strictness": ["(x + 1 < min(most, LIMIT))"],
        "within:direction": ["(x + 1 >= min(most, LIMIT))"],
        "within:arithmetic": ["(x - 1)"],
        "within:term": ["(x)", "(1)"],
        "within:extreme": ["max(most, LIMIT)"],
        "within:arguments": ["min(LIMIT, most)"],
        "add:condition": ["(not (not within(x)))"],
        "add:statement": ["pass"],
    }


def test_a_mutant_is_one_change(tmp_path: Path) -> None:
    tree = checkout(tmp_path, "")
    said = mutate(tree, places(tree)["within"], "strictness", 0)
    assert (tree / "engine/one.py").read_text() == SOURCE.replace("x + 1 <= min(most, LIMIT)", "(x + 1 < min(most, LIMIT))")
    assert said == "engine/one.py:9  x + 1 <= min(most, LIMIT)  ->  (x + 1 < min(most, LIMIT))"
