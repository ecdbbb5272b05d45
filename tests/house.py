"""The structure of the checkout, measured: rooms and their sizes, imports, circles, crowded folders, names used twice.

`make house` prints the table of rooms. test_house.py holds the order of rooms and the limits in house.toml.
"""

import ast
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests import ROOT

PLAN = tomllib.loads((Path(__file__).parent / "house.toml").read_text(encoding="utf-8"))
PARTS = ("engine", "pages", "tests")
ORDER: Mapping[str, tuple[str, ...]] = {part: tuple(order) for part, order in PLAN["order"].items()}
VARIANTS = tuple(PLAN["variants"])
OUTSIDE = ("streamlit", "altair", "pages", "app", "tests", "benchmarks")
MANY = PLAN["limits"]["files in a folder"]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def files(part: str) -> tuple[Path, ...]:
    """Return a part's Python files, relative to the checkout."""
    return tuple(sorted(path.relative_to(ROOT) for path in (ROOT / part).rglob("*.py")))


@cache
def scripts() -> frozenset[str]:
    """Return the modules that Streamlit runs as pages: the files at the pages' root."""
    return frozenset(module(path) for path in files("pages") if path.parent == Path("pages")) - {"pages"}


@cache
def text(path: Path) -> str:
    """Return what a file says."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(text(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a file's syntax tree: walking takes longer than reading."""
    return tuple(ast.walk(tree(path)))


def module(path: Path) -> str:
    """Return a file's dotted name; a package has its folder's."""
    return ".".join(path.parent.parts if path.name == "__init__.py" else path.with_suffix("").parts)


@cache
def code_lines(path: Path) -> int:
    """Count the lines that hold code: neither blank, nor a comment, nor a docstring."""
    code = {number for number, line in enumerate(map(str.strip, text(path).splitlines()), 1) if line and line[0] != "#"}
    for node in nodes(path):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            code -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(code)


def rooms() -> dict[str, tuple[int, int, int]]:
    """Return by folder its own files, physical lines, and lines of code."""
    found: dict[str, list[Path]] = defaultdict(list)
    for part in PARTS:
        for path in files(part):
            found[str(path.parent)].append(path)
    return {
        room: (
            len(inside),
            sum(text(path).count("\n") for path in inside),
            sum(map(code_lines, inside)),
        )
        for room, inside in sorted(found.items())
    }


def crowded() -> dict[str, int]:
    """Return the folders with more than MANY Python files beside __init__."""
    count = Counter(str(path.parent) for part in PARTS for path in files(part) if path.name != "__init__.py")
    return {room: n for room, n in sorted(count.items()) if n > MANY and room not in VARIANTS}


@cache
def imports(part: str) -> Mapping[str, frozenset[str]]:
    """Return which modules of a part each of them imports, late imports included."""
    known = {module(path): path for path in files(part)}
    return {name: frozenset(_imports(name, path, known)) - {name} for name, path in known.items()}


def _imports(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, (above, node.module)))
            for alias in node.names:
                full = f"{base}.{alias.name}"
                if full in known or base in known:
                    yield full if full in known else base


def packages(part: str) -> Mapping[str, frozenset[str]]:
    """Return which rooms of a part each room imports; files at its root stand one by one."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for name, others in imports(part).items():
        rooms[_room(name)] |= {_room(other) for other in others} - {_room(name)}
    return {room: frozenset(others) for room, others in rooms.items()}


def folders(part: str) -> Mapping[str, frozenset[str]]:
    """Return which folders of a part each folder imports, at any depth."""
    folder = {module(path): str(path.parent) for path in files(part)}
    inside: dict[str, set[str]] = defaultdict(set)
    for name, others in imports(part).items():
        inside[folder[name]] |= {folder[other] for other in others} - {folder[name]}
    return {name: frozenset(others) for name, others in inside.items()}


def upward(part: str) -> list[str]:
    """Return the imports of a part that go from a room to one that stands above it."""
    edges = ((name, other) for name, others in imports(part).items() for other in others)
    return sorted(f"{name} imports {other}" for name, other in edges if _floor(other) > _floor(name))


def _floor(name: str) -> int:
    part, _, below = name.partition(".")
    return ORDER[part].index("scripts" if name in scripts() else below.split(".")[0]) if below else 0


def outward() -> list[str]:
    """Return the imports with which the engine reaches out of itself, and those that are absolute."""
    found = []
    for path in files("engine"):
        for node in nodes(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            found += [f"{path} imports {name}" for name in names if name.split(".")[0] in (*OUTSIDE, "engine")]
    return found


def _room(name: str) -> str:
    return ".".join(name.split(".")[:2])


def circles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Return the sets of names that reach each other (Tarjan's components of more than one)."""
    reach = {name: _reach(graph, name) for name in graph}
    together = {frozenset({name, *(other for other in reach[name] if name in reach.get(other, ()))}) for name in graph}
    return sorted(sorted(one) for one in together if len(one) > 1)


def _reach(graph: Mapping[str, frozenset[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in graph.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def class_names() -> dict[str, int]:
    """Return the public class names that stand for more than one thing in the engine, and how many."""
    nodes = (node for path in files("engine") for node in tree(path).body if isinstance(node, ast.ClassDef))
    count = Counter(node.name for node in nodes if not node.name.startswith("_"))
    return {name: n for name, n in sorted(count.items()) if n > 1}


def _main() -> None:
    for room, (count, lines, code) in rooms().items():
        print(f"{room:36} {count:4} files {lines:6} lines {code:6} code")
    for part in PARTS:
        print(f"{part}: {sum(text(path).count(chr(10)) for path in files(part))} lines in {len(files(part))} files")


if __name__ == "__main__":
    _main()
