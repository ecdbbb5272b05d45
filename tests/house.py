"""The house in numbers: rooms and their sizes, circles, crowded folders, names that stand twice, how far a knob is spread.

`python -m tests.house` prints them, `python -m tests.house --write` keeps them as the ceilings that test_house.py holds.
"""

import ast
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests import ROOT

CEILINGS = Path(__file__).parent / "house.toml"
PARTS = ("engine", "pages", "tests")
KNOBS = ("cxl_bandwidth_GBps", "pmem_capacity_GB", "mlp_staleness_bound_batches")
CORE = ("core", "scenario", "workload", "hardware", "systems", "caches", "amounts", "schedule", "training", "persistence",
        "faults", "run", "results")  # fmt: skip
# The engine's rooms from the ground up: each imports only those before it.
ORDER = ("errors", "units", "version", "registry", "core", "scenario", "sweep", "workload", "hardware", "faults", "systems",
         "caches", "amounts", "schedule", "training", "persistence", "run", "results", "estimates", "estimate", "simulate",
         "full_runs", "insight", "store", "service", "crashcheck", "validation", "campaign", "analysis", "api", "commands",
         "__main__")  # fmt: skip
# Folders whose files are variants of one thing: they may be many.
VARIANTS = (
    "engine/commands",
    "engine/campaign/protections",
    "engine/hardware/devices",
    "engine/caches/policies",
    "engine/workload/readers",
    "pages",
)
OUTSIDE = ("streamlit", "altair", "pages", "app", "tests", "benchmarks")
MANY = 12
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
TRACE = """
import sys
from engine.simulate import simulate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
entered = set()
def note(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and "/engine/" in name:
        entered.add(name.rsplit("/engine/", 1)[1])
scenario = with_values(preset("tiny").scenario, {"run.batches": 40})
sys.setprofile(note)
simulate(scenario)
sys.setprofile(None)
print(*sorted(entered))
"""


@cache
def files(part: str) -> tuple[Path, ...]:
    """Return a part's Python files, relative to the checkout."""
    return tuple(sorted(path.relative_to(ROOT) for path in (ROOT / part).rglob("*.py")))


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
def imports() -> Mapping[str, frozenset[str]]:
    """Return which modules of the engine each of them imports, late imports included."""
    known = {module(path): path for path in files("engine")}
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


def packages() -> Mapping[str, frozenset[str]]:
    """Return which rooms of the engine each room imports; files at its root stand one by one."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, others in imports().items():
        found[_room(name)] |= {_room(other) for other in others} - {_room(name)}
    return {room: frozenset(others) for room, others in found.items()}


def upward() -> list[str]:
    """Return the imports of the engine that go from a room to one that stands above it."""
    edges = ((name, other) for name, others in imports().items() for other in others)
    return sorted(f"{name} imports {other}" for name, other in edges if _floor(other) > _floor(name))


def _floor(name: str) -> int:
    return ORDER.index(name.split(".")[1]) if "." in name else 0


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


def mentions(knob: str) -> int:
    """Return how many lines of the engine name a knob."""
    return sum(knob in line for path in files("engine") for line in text(path).splitlines())


def entered() -> list[str]:
    """Return the files of the engine whose code runs in a full run of the smallest preset, the variants' own apart."""
    found = subprocess.run([sys.executable, "-c", TRACE], capture_output=True, text=True, check=True, cwd=ROOT)
    variants = ("hardware/devices/", "systems/trainingcxl/")
    return [name for name in found.stdout.split() if not name.startswith(variants)]


def measured() -> dict[str, dict[str, int]]:
    """Return everything that has a ceiling."""
    every = rooms()
    core = sum(code for room, (_, _, code) in every.items() if Path(room).parts[:1] == ("engine",) and _in_core(room))
    lines = {f"{part} lines": sum(text(path).count("\n") for path in files(part)) for part in PARTS}
    return {
        "rooms": {room: code for room, (_, _, code) in every.items()},
        "totals": {**lines, "core code lines": core, "files entered by simulate": len(entered())},
        "mentions": {knob: mentions(knob) for knob in KNOBS},
        "crowded": crowded(),
        "class names twice": class_names(),
        "circles": {"largest of files": _largest(imports()), "largest of packages": _largest(packages())},
    }


def _in_core(room: str) -> bool:
    return len(Path(room).parts) > 1 and Path(room).parts[1] in CORE


def _largest(graph: Mapping[str, frozenset[str]]) -> int:
    return max(map(len, circles(graph)), default=0)


def ceilings() -> dict[str, dict[str, int]]:
    """Return the committed ceilings."""
    return tomllib.loads(CEILINGS.read_text(encoding="utf-8"))


def _main() -> None:
    now = measured()
    if "--write" in sys.argv:
        tables = (f'["{name}"]\n' + "".join(f'"{key}" = {value}\n' for key, value in rows.items()) for name, rows in now.items())
        head = "# Ceilings of tests/house.py; raising one takes a line in DECISIONS.md that says why.\n"
        CEILINGS.write_text(head + "\n".join(tables), encoding="utf-8")
    for room, (count, lines, code) in rooms().items():
        print(f"{room:36} {count:4} files {lines:6} lines {code:6} code")
    for name, rows in now.items():
        print(*(f"{name}: {key} = {value}" for key, value in rows.items() if name != "rooms"), sep="\n")


if __name__ == "__main__":
    _main()
