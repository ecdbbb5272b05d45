"""Names that tests give as strings exist: a renamed function would otherwise be noticed by the slow tests alone."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import ModuleType

from tests import house
from tests.cases import each

OURS = ("engine", "pages", "benchmarks")
FILES = [path for path in house.files("tests") if path.name.startswith("test_")]
Nodes = Sequence[ast.AST]


def modules_by_alias(nodes: Nodes) -> dict[str, ModuleType]:
    """Return our own modules by the names under which a test imports them."""
    aliases: dict[str, ModuleType] = {}
    for node in nodes:
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


def patched(nodes: Nodes) -> Iterator[tuple[str, str, int]]:
    """Yield (alias, name, line) of pairs such as `setattr(module, "name", ...)` and `(module, "name")`."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("setattr", "object"):
            pair = node.args[:2]
        else:
            pair = node.elts if isinstance(node, ast.Tuple) else []
        match pair:
            case [ast.Name(id=alias), ast.Constant(value=str(name))] if name.isidentifier():
                yield alias, name, node.lineno


def programs(nodes: Nodes) -> Iterator[Nodes]:
    """Yield the programs that a test holds as text, for another process."""
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)):
                pass
            case ast.JoinedStr(values=parts):
                text = "".join(part.value if isinstance(part, ast.Constant) else "x" for part in parts)
            case _:
                continue
        with suppress(SyntaxError):
            if "import " in text:
                yield house.walk(ast.parse(dedent(text)))


def missing_in_program(program: Nodes) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of what a program imports from our modules, or takes from them, and they lack."""
    aliases = modules_by_alias(program)
    for node in program:
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] in OURS:
                for name in names:
                    if not hasattr(import_module(module), name.name) and _submodule(module, name.name) is None:
                        yield module, name.name
            case ast.Attribute(value=ast.Name(id=alias), attr=name) if alias in aliases and not hasattr(aliases[alias], name):
                yield alias, name


@each("path", FILES)
def test_names_in_strings_exist(path: Path) -> None:
    nodes = house.nodes(path)
    aliases = modules_by_alias(nodes) if any(True for _ in patched(nodes)) else {}
    missing = [
        (line, alias, name) for alias, name, line in patched(nodes) if alias in aliases and not hasattr(aliases[alias], name)
    ]
    assert missing == []
    assert [found for program in programs(nodes) for found in missing_in_program(program)] == []


def test_a_name_that_is_gone_is_found() -> None:
    nodes = house.walk(
        ast.parse('from engine import version\nmonkeypatch.setattr(version, "GONE", 1)\nwork = (version, "MODEL")\n')
    )
    aliases = modules_by_alias(nodes)
    assert [hasattr(aliases[alias], name) for alias, name, _ in patched(nodes)] == [False, True]


def test_a_name_that_is_gone_is_found_in_a_program_held_as_text() -> None:
    texts = '("from engine import version, gone; version.GONE = 1", f"from engine import version; version.{1}; version.MODEL")'
    assert [list(missing_in_program(program)) for program in programs(house.walk(ast.parse(texts)))] == [
        [("engine", "gone"), ("version", "GONE")],
        [("version", "x")],
    ]
