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
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            nested = (ast.FunctionDef, ast.ClassDef, ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)
            if isinstance(child, ast.AST) and field not in UNSEEN and not isinstance(child, nested):
                if not (field == "slice" and isinstance(child, ast.Tuple)):
                    yield child
                yield from _walk(child)


def _with(node: ast.AST, **changes: Any) -> str:
    """Return the text of a node with some of its fields changed, in parentheses where it may need them."""
    changed = copy.copy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    text = ast.unparse(changed)
    return f"({text})" if isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp) else text


def _sites_of(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the operators that apply to a node, each with the text that takes its place."""
    match node:
        case ast.Compare(ops=[op]):
            if type(op) in STRICT:
                yield "strictness", _with(node, ops=[STRICT[type(op)]()])
            yield "direction", _with(node, ops=[OPPOSITE[type(op)]()])
        case ast.BoolOp(op=op):
            yield "boolean", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.Tuple(elts=[_, _, *_], ctx=ast.Load()):
            yield from (("element", _with(node, elts=node.elts[:n] + node.elts[n + 1 :])) for n in range(len(node.elts)))
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
            yield "arithmetic", _with(node, op=SWAPS[type(op)]())
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
            yield "extreme", _with(node, func=ast.Name(EXTREMES[name]))
        case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in EXTREMES:
            yield "extreme", _with(node, func=ast.Attribute(node.func.value, EXTREMES[name]))
    for n, (one, two) in enumerate(zip(node.args, node.args[1:], strict=False)):
        words = isinstance(one, ast.Constant) and isinstance(one.value, str)
        if type(one) is type(two) and ast.unparse(one) != ast.unparse(two) and not words:
            yield "arguments", _with(node, args=[*node.args[:n], two, one, *node.args[n + 2 :]])


def _sites(root: Any) -> dict[str, list[Site]]:
    found: dict[str, list[Site]] = {}
    bound: set[str] = set()  # dropping a name's only assignment says nothing about tests
    for node in _walk(root):
        for operator, text in _sites_of(node):
            if operator == "statement" and isinstance(node, ast.Assign):
                names = {ast.unparse(target) for target in node.targets if not isinstance(target, ast.Attribute | ast.Subscript)}
                bound, new = bound | names, names - bound
                if new:
                    continue
            target = node.test if operator == "condition" else node  # type: ignore[attr-defined]
            found.setdefault(operator, []).append((target, text))
    return found


def places(tree: Path) -> dict[str, Place]:
    """Return what of a checkout's engine can be mutated, by a name that does not depend on the file."""
    found: dict[str, list[Place]] = {}
    for path in sorted((tree / "engine").rglob("*.py")):
        if not UNDRAWN & set(path.parts):
            for name, node in _named(ast.parse(path.read_text(encoding="utf-8")), ""):
                if sites := _sites(node):
                    found.setdefault(name, []).append(Place(str(path.relative_to(tree)), name, node, sites))
    several = {f"{at.name}@{_digest(at.node)}": at for same in found.values() if len(same) > 1 for at in same}
    return {name: same[0] for name, same in found.items() if len(same) == 1} | several


def _digest(node: Any) -> str:
    """Return a few digits that say what a place does, whatever its docstring says."""
    said = isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None
    parts = [node.args, *node.body[said:]] if isinstance(node, ast.FunctionDef) else [node]
    return hashlib.sha256(" ".join(map(ast.dump, parts)).encode()).hexdigest()[:8]


def _named(node: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            if isinstance(child, ast.FunctionDef):
                yield prefix + child.name, child
            yield from _named(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else f"{prefix}{child.name}/")
        elif isinstance(child, ast.Assign | ast.AnnAssign) and child.value and not isinstance(node, ast.FunctionDef):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            yield prefix + ast.unparse(target), ast.Starred(child.value)


def draw(trees: list[dict[str, Place]], seed: int, count: int) -> list[str]:
    """Return mutants' names: pairs of function and operator that all trees have, then one of their places."""
    pairs = set.intersection(*({(name, op) for name, at in tree.items() for op in at.sites} for tree in trees))
    chance = random.Random(seed)
    chosen = chance.sample(sorted(pairs), count)
    return [f"{name}:{op}:{chance.randrange(min(len(tree[name].sites[op]) for tree in trees))}" for name, op in chosen]


def mutate(checkout: Path, at: Place, operator: str, ordinal: int) -> str:
    """Change one place in a checkout, and return what was changed, as a line."""
    node, new = at.sites[operator][ordinal]
    path = checkout / at.path
    lines = path.read_bytes().splitlines(keepends=True)
    starts = [0, *(sum(map(len, lines[: n + 1])) for n in range(len(lines)))]
    first = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
    last = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
    text = b"".join(lines)
    path.write_bytes(text[:first] + new.encode() + text[last:])
    return f"{at.path}:{node.lineno}  {' '.join(text[first:last].decode().split())}  ->  {new}"  # type: ignore[attr-defined]
