"""No `sum` of floats in the engine and the pages, but `total` of core/arithmetic.py: since Python 3.12 `sum` rounds otherwise.

The fence knows counts: sums of whole numbers that can be seen as such where they stand. All else is added by `total`.
"""

import ast
from collections.abc import Iterator, Sequence

from tests import house
from tests.cases import each

FILES = (*house.files("engine"), *house.files("pages"))
WHOLE = {"len", "int", "bool", "isinstance", "all", "any"}  # functions that return whole numbers, or truth, which is 0 or 1


def is_whole(node: ast.AST) -> bool:
    """Return whether an expression is visibly a whole number or a truth."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=int()):
            return True
        case ast.Call(func=ast.Name(id=function)):
            return function in WHOLE
        case ast.BoolOp(values=values):
            return all(map(is_whole, values))
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return is_whole(left) and is_whole(right)
    return False


def is_count(call: ast.Call) -> bool:
    """Return whether a call of `sum` adds visibly whole numbers."""
    match call.args:
        case [ast.GeneratorExp(elt=term) | ast.ListComp(elt=term)]:
            return is_whole(term)
        case [ast.Call(func=ast.Name(id="map"), args=[ast.Name(id=function), *_])]:
            return function in WHOLE
    return False


def float_sums(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Yield the line of each use of `sum` that is no count."""
    counts = {id(node.func) for node in nodes if isinstance(node, ast.Call) and is_count(node)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == "sum" and id(node) not in counts:
            yield node.lineno


def test_floats_are_added_by_total_alone() -> None:
    lines = [f"{path}:{line}" for path in FILES for line in float_sums(house.nodes(path))]
    assert lines == [], "add these with `total` of engine/core/arithmetic.py: `sum` rounds floats otherwise since Python 3.12"


@each(
    ("text", "is_found"),
    [
        ("sum(joules.values())", True),
        ("sum(share * 2 for share in shares)", True),
        ("sum(len(rows) * nbytes for rows in tables)", True),
        ("[*map(sum, pairs)]", True),
        ("sum(counts, 0.0)", True),
        ("sum(share > 0 for share in shares)", False),
        ("sum(not share for share in shares)", False),
        ("sum(2 * len(row) for row in rows)", False),
        ("sum(map(len, rows))", False),
        ("joules.sum()", False),
    ],
)
def test_a_sum_of_floats_is_found_and_a_count_is_not(text: str, is_found: bool) -> None:
    assert bool([*float_sums(house.walk(ast.parse(text)))]) == is_found
