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
FOREIGN_PACKAGES = ("streamlit", "altair", "pages", "app", "tests", "benchmarks")
MOST_FILES = PLAN["limits"]["files in a folder"]
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
    return tuple(walk(tree(path)))


def walk(top: ast.AST) -> list[ast.AST]:
    """Return a node and all below it in the order of `ast.walk`, but for Load and Store, in half the time."""
    found = [top]
    for node in found:
        for name in node._fields:
            child = getattr(node, name, None)
            if isinstance(child, list):
                found += [member for member in child if isinstance(member, ast.AST)]
            elif isinstance(child, ast.AST) and not isinstance(child, ast.expr_context):
                found.append(child)
    return found


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
    paths_by_folder: dict[str, list[Path]] = defaultdict(list)
    for part in PARTS:
        for path in files(part):
            paths_by_folder[str(path.parent)].append(path)
    return {
        room: (
            len(paths),
            sum(text(path).count("\n") for path in paths),
            sum(map(code_lines, paths)),
        )
        for room, paths in sorted(paths_by_folder.items())
    }


def crowded() -> dict[str, int]:
    """Return the folders with more than MOST_FILES Python files beside __init__."""
    count = Counter(str(path.parent) for part in PARTS for path in files(part) if path.name != "__init__.py")
    return {room: n for room, n in sorted(count.items()) if n > MOST_FILES and room not in VARIANTS}


@cache
def imports(part: str) -> Mapping[str, frozenset[str]]:
    """Return which modules of a part each of them imports, late imports included."""
    path_by_module = {module(path): path for path in files(part)}
    return {name: frozenset(_imports(name, path, path_by_module)) - {name} for name, path in path_by_module.items()}


def _imports(name: str, path: Path, path_by_module: Mapping[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in path_by_module)
        elif isinstance(node, ast.ImportFrom):
            parent = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, (parent, node.module)))
            for alias in node.names:
                target = f"{base}.{alias.name}"
                if target in path_by_module or base in path_by_module:
                    yield target if target in path_by_module else base


def packages(part: str) -> Mapping[str, frozenset[str]]:
    """Return which rooms of a part each room imports; files at its root stand one by one."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for name, targets in imports(part).items():
        rooms[_room(name)] |= {_room(target) for target in targets} - {_room(name)}
    return {room: frozenset(targets) for room, targets in rooms.items()}


def folders(part: str) -> Mapping[str, frozenset[str]]:
    """Return which folders of a part each folder imports, at any depth."""
    folder = {module(path): str(path.parent) for path in files(part)}
    imported: dict[str, set[str]] = defaultdict(set)
    for name, targets in imports(part).items():
        imported[folder[name]] |= {folder[target] for target in targets} - {folder[name]}
    return {name: frozenset(targets) for name, targets in imported.items()}


def upward(part: str) -> list[str]:
    """Return the imports of a part that go from a room to one that stands above it."""
    edges = ((name, target) for name, targets in imports(part).items() for target in targets)
    return sorted(f"{name} imports {target}" for name, target in edges if _floor(target) > _floor(name))


def _floor(name: str) -> int:
    part, _, inner_name = name.partition(".")
    return ORDER[part].index("scripts" if name in scripts() else inner_name.split(".")[0]) if inner_name else 0


def outward() -> list[str]:
    """Return the imports with which the engine reaches out of itself, and those that are absolute."""
    sentences = []
    for path in files("engine"):
        for node in nodes(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            sentences += [f"{path} imports {name}" for name in names if name.split(".")[0] in (*FOREIGN_PACKAGES, "engine")]
    return sentences


def _room(name: str) -> str:
    return ".".join(name.split(".")[:2])


def circles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Return the sets of names that reach each other (Tarjan's components of more than one)."""
    reach = {name: _reach(graph, name) for name in graph}
    components = {
        frozenset({name, *(neighbour for neighbour in reach[name] if name in reach.get(neighbour, ()))}) for name in graph
    }
    return sorted(sorted(component) for component in components if len(component) > 1)


def _reach(graph: Mapping[str, frozenset[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for neighbour in graph.get(waiting.pop(), ()):
            if neighbour not in reached:
                reached.add(neighbour)
                waiting.append(neighbour)
    return reached


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
