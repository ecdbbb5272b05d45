"""Mutants of the engine: small wrong changes, each named by function, operator and ordinal, and drawn by a seed.

The name leaves the file out, so that a draw stays the same when files move; a name that several places use carries a
digest of its text.
"""

import ast
import copy
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNDRAWN = {"commands", "study", "studies"}  # rooms of the engine that only print, or train for an hour
Site = tuple[ast.AST, str]  # what is replaced, and the text in its place
SWAPS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
STRICT: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITE: dict[type, type] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.NotEq}
OPPOSITE |= {ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
UNSEEN = {"annotation", "returns", "decorator_list"}


@dataclass(frozen=True)
class Place:
    """A function, or a constant of a module or class, and its possible mutations by operator."""

    path: str
    name: str
    node: Any
    sites: dict[str, list[Site]]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes whose value matters: neither annotations nor messages nor nested functions and classes."""
    for field, children in ast.iter_fields(node):
        for child in children if isinstance(children, list) else [children]:
            nested = (ast.FunctionDef, ast.ClassDef, ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)
            if isinstance(child, ast.AST) and field not in UNSEEN and not isinstance(child, nested):
                if not (field == "slice" and isinstance(child, ast.Tuple)):
                    yield child
                yield from _walk(child)


def _changed_text(node: ast.AST, **changes: Any) -> str:
    """Return the text of a node with some of its fields changed, in parentheses where it may need them."""
    variant = copy.copy(node)
    for name, replacement in changes.items():
        setattr(variant, name, replacement)
    text = ast.unparse(variant)
    return f"({text})" if isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp) else text


def _sites_of(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the operators that apply to a node, each with the text that takes its place."""
    match node:
        case ast.Compare(ops=[op]):
            if type(op) in STRICT:
                yield "strictness", _changed_text(node, ops=[STRICT[type(op)]()])
            yield "direction", _changed_text(node, ops=[OPPOSITE[type(op)]()])
        case ast.BoolOp(op=op):
            yield "boolean", _changed_text(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.Tuple(elts=[_, _, *_], ctx=ast.Load()):
            yield from (("element", _changed_text(node, elts=node.elts[:n] + node.elts[n + 1 :])) for n in range(len(node.elts)))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "condition", f"(not ({ast.unparse(test)}))"
        case ast.Assign() | ast.AugAssign() | ast.Expr():
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                yield "statement", "pass"
        case ast.Call():
            yield from _sites_of_call(node)
        case _:
            yield from _sites_of_number(node)


def _sites_of_number(node: Any) -> Iterator[tuple[str, str]]:
    match node:
        case ast.BinOp(op=op) if type(op) in SWAPS:
            yield "arithmetic", _changed_text(node, op=SWAPS[type(op)]())
            if isinstance(op, ast.Add):
                yield from (("term", f"({ast.unparse(term)})") for term in (node.left, node.right))
        case ast.Constant(value=bool(value)):
            yield "constant", repr(not value)
        case ast.Constant(value=int(value)):
            yield "constant", repr(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", repr(2 * value or 1.0)


def _sites_of_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    match node.func:
        case ast.Name(id=name) if name in EXTREMES:
            yield "extreme", _changed_text(node, func=ast.Name(EXTREMES[name]))
        case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in EXTREMES:
            yield "extreme", _changed_text(node, func=ast.Attribute(node.func.value, EXTREMES[name]))
    for n, (argument, neighbour) in enumerate(zip(node.args, node.args[1:], strict=False)):
        words = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        if type(argument) is type(neighbour) and ast.unparse(argument) != ast.unparse(neighbour) and not words:
            yield "arguments", _changed_text(node, args=[*node.args[:n], neighbour, argument, *node.args[n + 2 :]])


def _sites(root: Any) -> dict[str, list[Site]]:
    sites: dict[str, list[Site]] = {}
    bound: set[str] = set()  # dropping a name's only assignment says nothing about tests
    for node in _walk(root):
        for operator, text in _sites_of(node):
            if operator == "statement" and isinstance(node, ast.Assign):
                names = {ast.unparse(target) for target in node.targets if not isinstance(target, ast.Attribute | ast.Subscript)}
                bound, first_names = bound | names, names - bound
                if first_names:
                    continue
            target = node.test if operator == "condition" else node  # type: ignore[attr-defined]
            sites.setdefault(operator, []).append((target, text))
    return sites


def places(tree: Path) -> dict[str, Place]:
    """Return what of a checkout's engine can be mutated, by a name that does not depend on the file."""
    places_by_name: dict[str, list[Place]] = {}
    for path in sorted((tree / "engine").rglob("*.py")):
        if not UNDRAWN & set(path.parts):
            for name, node in _definitions(ast.parse(path.read_text(encoding="utf-8")), ""):
                if sites := _sites(node):
                    places_by_name.setdefault(name, []).append(Place(str(path.relative_to(tree)), name, node, sites))
    namesakes = {
        f"{place.name}@{_digest(place.node)}": place for group in places_by_name.values() if len(group) > 1 for place in group
    }
    return {name: group[0] for name, group in places_by_name.items() if len(group) == 1} | namesakes


def _digest(node: Any) -> str:
    """Return a few digits that say what a place does, whatever its docstring says."""
    has_docstring = isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None
    parts = [node.args, *node.body[has_docstring:]] if isinstance(node, ast.FunctionDef) else [node]
    return hashlib.sha256(" ".join(map(ast.dump, parts)).encode()).hexdigest()[:8]


def _definitions(node: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            if isinstance(child, ast.FunctionDef):
                yield prefix + child.name, child
            yield from _definitions(
                child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else f"{prefix}{child.name}/"
            )
        elif isinstance(child, ast.Assign | ast.AnnAssign) and child.value and not isinstance(node, ast.FunctionDef):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            yield prefix + ast.unparse(target), ast.Starred(child.value)


def draw(trees: list[dict[str, Place]], seed: int, count: int) -> list[str]:
    """Return mutants' names: pairs of function and operator that all trees have, then one of their places."""
    pairs = set.intersection(*({(name, op) for name, place in tree.items() for op in place.sites} for tree in trees))
    chance = random.Random(seed)
    sample = chance.sample(sorted(pairs), count)
    return [f"{name}:{op}:{chance.randrange(min(len(tree[name].sites[op]) for tree in trees))}" for name, op in sample]


def mutate(checkout: Path, place: Place, operator: str, ordinal: int) -> str:
    """Change one place in a checkout, and return what was changed, as a line."""
    node, replacement = place.sites[operator][ordinal]
    path = checkout / place.path
    lines = path.read_bytes().splitlines(keepends=True)
    starts = [0, *(sum(map(len, lines[: n + 1])) for n in range(len(lines)))]
    start = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
    end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
    text = b"".join(lines)
    path.write_bytes(text[:start] + replacement.encode() + text[end:])
    return f"{place.path}:{node.lineno}  {' '.join(text[start:end].decode().split())}  ->  {replacement}"  # type: ignore[attr-defined]
