"""Layers: does every module import only what lies below it, and is every file small and documented?"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
VARIANTS = ("systems", "devices", "caches", "protections")
OUTSIDE = {"streamlit", "altair", "pages", "app", "tests"}
MOST_LINES, MOST_FUNCTION_LINES = 250, 40
SKIP = {".venv", "build", "tests"}


def _files(folder: str = "") -> list[Path]:
    found = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if not SKIP & set(path.parts))


FILES = _files()
ENGINE = _files("engine")
every_file = pytest.mark.parametrize("path", FILES, ids=str)
every_engine_file = pytest.mark.parametrize("path", ENGINE, ids=str)


def _tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _package(path: Path, level: int) -> str:
    return ".".join(path.parent.parts[: len(path.parent.parts) - level + 1])


def imported(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the full dotted name of everything that a file imports, late and relative imports included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = f"{_package(path, node.level)}.{node.module or ''}".strip(".") if node.level else node.module or ""
            yield from (f"{base}.{alias.name}" for alias in node.names)


def forbidden(path: Path, name: str) -> bool:
    """Return whether the engine file `path` may not import `name`."""
    parts = name.split(".")
    kind = path.parts[1] if len(path.parts) > 2 else ""
    crosses = kind in VARIANTS and parts[0] == "engine" and len(parts) > 1 and parts[1] in VARIANTS and parts[1] != kind
    return parts[0] in OUTSIDE or crosses


@every_engine_file
def test_the_engine_imports_neither_pages_nor_another_kind_of_variant(path: Path) -> None:
    assert [name for name in imported(path, _tree(path)) if forbidden(path, name)] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("engine/run/run.py", "import streamlit as st"),
        ("engine/run/run.py", "def f():\n    from pages.common import charts"),
        ("engine/systems/trainingcxl/cxl.py", "from engine.devices.pmem import DEVICE"),
        ("engine/systems/trainingcxl/cxl.py", "from engine import devices"),
        ("engine/systems/trainingcxl/cxl.py", "from ..devices import pmem"),
    ],
)
def test_the_layer_rule_sees_late_relative_and_package_imports(path: str, source: str) -> None:
    assert any(forbidden(Path(path), name) for name in imported(Path(path), ast.parse(source)))


def test_the_layer_rule_lets_a_system_use_the_scenario_and_its_own_kind() -> None:
    source = "from engine.scenario import Scenario\nfrom engine.systems.stages import lookup\nimport numpy"
    assert not any(
        forbidden(Path("engine/systems/trainingcxl/cxl.py"), name) for name in imported(Path("x.py"), ast.parse(source))
    )


@every_file
def test_a_file_fits_on_a_few_screens(path: Path) -> None:
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@every_file
def test_a_function_fits_on_one_screen(path: Path) -> None:
    functions = (node for node in ast.walk(_tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    long = {node.name: node.end_lineno - node.lineno + 1 for node in functions if node.end_lineno}
    assert {name: lines for name, lines in long.items() if lines > MOST_FUNCTION_LINES} == {}


def undocumented(tree: ast.Module) -> list[str]:
    """Return the public functions and classes of a file, and their public methods, that lack a docstring."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    top = [node for node in tree.body if isinstance(node, kinds)]
    methods = [node for owner in top if isinstance(owner, ast.ClassDef) for node in owner.body if isinstance(node, kinds)]
    return [node.name for node in top + methods if not node.name.startswith("_") and not ast.get_docstring(node)]


@every_file
def test_a_module_says_what_it_is_for(path: Path) -> None:
    tree = _tree(path)
    assert not tree.body or ast.get_docstring(tree)


@every_engine_file
def test_a_public_name_of_the_engine_has_a_docstring(path: Path) -> None:
    assert undocumented(_tree(path)) == []


def test_nothing_is_called_helpers_or_utils() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "info", "misc"}
    assert [path for path in FILES if vague & {path.stem, *path.parts}] == []
