"""Names say what they are: the share of bound names that are empty words (pronouns, participles, particles) stays small.

`python -m tests.fences.test_names` prints the share of each room, and the commonest empty names.
"""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.house import PLAN, files, tree

EMPTY = frozenset(PLAN["names"]["empty"].split())
MOST_PERCENT = PLAN["names"]["percent"]
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def bound(node: ast.AST) -> Iterator[set[str]]:
    """Yield the names that each scope below a node binds, once each; attributes of self count as their scope's."""
    names: set[str] = set()
    pending = list(ast.iter_child_nodes(node))
    while pending:
        child = pending.pop()
        names.update(_names(child))
        if isinstance(child, SCOPES):
            yield from bound(child)
        else:
            pending += ast.iter_child_nodes(child)
    yield names


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    elif isinstance(node, ast.alias) and node.asname:
        yield node.asname


def empty_names(part: str) -> dict[str, tuple[int, Counter[str]]]:
    """Return by room how many names are bound, and the empty ones with their numbers."""
    rooms: dict[str, tuple[int, Counter[str]]] = {}
    for path in files(part):
        count, empty = rooms.setdefault(path.parts[1], (0, Counter()))
        for names in bound(tree(path)):
            count += len(names)
            empty.update(name for name in names if name.strip("_").lower() in EMPTY)
        rooms[path.parts[1]] = count, empty
    return rooms


def percent(part: str) -> float:
    """Return the percentage of a part's bound names that are empty."""
    rooms = empty_names(part).values()
    return 100 * sum(empty.total() for _, empty in rooms) / sum(count for count, _ in rooms)


@pytest.mark.parametrize("part", ["engine", "pages"])
def test_few_names_are_empty(part: str) -> None:
    assert percent(part) <= MOST_PERCENT[part]


def test_an_empty_name_is_seen_wherever_it_is_bound() -> None:
    code = (
        "def at(given):\n    for one in given: pass\n    with open(given) as found: self.own = [each for each in found]\nKEPT = 1"
    )
    names = [name.lower() for scope in bound(ast.parse(code)) for name in scope]
    assert {"at", "given", "one", "found", "own", "each", "kept"} <= set(names) and {"at", "kept", "own"} <= EMPTY


if __name__ == "__main__":
    for part in ("engine", "pages"):
        print(f"{part} {percent(part):.1f} %")
        for room, (count, empty) in sorted(empty_names(part).items(), key=lambda pair: -pair[1][1].total()):
            print(f"  {room:20} {empty.total():5} of {count:5}  {' '.join(f'{name} {n}' for name, n in empty.most_common(8))}")
