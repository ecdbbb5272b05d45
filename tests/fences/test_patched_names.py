"""Names that tests give as strings exist: a renamed function would otherwise be noticed by the slow tests alone."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from tests import ROOT

OURS = ("engine", "pages", "benchmarks")
FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))


def modules_by_alias(tree: ast.Module) -> dict[str, ModuleType]:
    """Return our own modules by the names under which a test imports them."""
    aliases: dict[str, ModuleType] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
            for name in node.names:
                imported = getattr(import_module(node.module), name.name, None)
                imported = _submodule(node.module, name.name) if imported is None else imported
                if isinstance(imported, ModuleType):
                    aliases[name.asname or name.name] = imported
    return aliases


def _submodule(package: str, name: str) -> ModuleType | None:
    try:
        return import_module(f"{package}.{name}")
    except ModuleNotFoundError:
        return None


def patched(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Yield (alias, name, line) of pairs such as `setattr(module, "name", ...)` and `(module, "name")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("setattr", "object"):
            pair = node.args[:2]
        else:
            pair = node.elts if isinstance(node, ast.Tuple) else []
        match pair:
            case [ast.Name(id=alias), ast.Constant(value=str(name))] if name.isidentifier():
                yield alias, name, node.lineno


def programs(tree: ast.AST) -> Iterator[ast.Module]:
    """Yield the programs that a test holds as text, for another process."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if "import " in text:
                pass
            case ast.JoinedStr(values=parts):
                text = "".join(part.value if isinstance(part, ast.Constant) else "x" for part in parts)
            case _:
                continue
        with suppress(SyntaxError):
            yield ast.parse(dedent(text))


def missing_in_program(program: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of what a program imports from our modules, or takes from them, and they lack."""
    aliases = modules_by_alias(program)
    for node in ast.walk(program):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] in OURS:
                for name in names:
                    if not hasattr(import_module(module), name.name) and _submodule(module, name.name) is None:
                        yield module, name.name
            case ast.Attribute(value=ast.Name(id=alias), attr=name) if alias in aliases and not hasattr(aliases[alias], name):
                yield alias, name


@pytest.mark.parametrize("path", FILES, ids=str)
def test_names_in_strings_exist(path: Path) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    aliases = modules_by_alias(tree) if any(True for _ in patched(tree)) else {}
    missing = [
        (line, alias, name) for alias, name, line in patched(tree) if alias in aliases and not hasattr(aliases[alias], name)
    ]
    assert missing == []
    assert [each for program in programs(tree) for each in missing_in_program(program)] == []


def test_a_name_that_is_gone_is_found() -> None:
    tree = ast.parse('from engine import version\nmonkeypatch.setattr(version, "GONE", 1)\nwork = (version, "MODEL")\n')
    aliases = modules_by_alias(tree)
    assert [hasattr(aliases[alias], name) for alias, name, _ in patched(tree)] == [False, True]


def test_a_name_that_is_gone_is_found_in_a_program_held_as_text() -> None:
    texts = '("from engine import version, gone; version.GONE = 1", f"from engine import version; version.{1}; version.MODEL")'
    assert [list(missing_in_program(program)) for program in programs(ast.parse(texts))] == [
        [("engine", "gone"), ("version", "GONE")],
        [("version", "x")],
    ]
