"""Names of the engine that no page, command or script reaches: used by tests and benchmarks alone, or by nobody.

A name is reached when something reached mentions it, as the syntax trees say; nothing is imported. A method or field of a module
that is passed on as a value counts by its name alone. Commands, the public face, and what a registry finds, are reached by
themselves.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from engine.registry import CONSTANT_BY_KIND, TABLES
from tests import ROOT
from tests.house import nodes, tree, walk

USERS = ("app", "pages", "scripts")
TESTERS = ("tests", "benchmarks")
COMMANDS = "engine.__main__", "engine.commands"
ENTRIES = "main", "add"
FACE = "engine.api"  # for scripts and notebooks of others
KNOWN_BASES = {"NamedTuple", "Protocol", "StrEnum", "Exception"}  # nobody but the engine calls the methods of such a class
PATH = re.compile(r"(engine(?:\.\w+)*)[.:](\w+)")  # a name of the engine inside a text
ANY_NAME = "*"  # a module as a value: any name of it that is asked for

Name = tuple[str, str]  # a module and a name in it; a method is "Class.name", the rest of a module ""


class Mentions(NamedTuple):
    """What a piece of a module mentions: names, and attributes of whatever object."""

    names: frozenset[Name]
    attributes: frozenset[str]


def used_by_tests_alone() -> list[str]:
    """Return "module:name" of what tests or benchmarks reach and no user does."""
    return _labels(_reached(USERS + TESTERS) - _reached(USERS))


def used_by_nobody() -> list[str]:
    """Return "module:name" of what not even a test reaches."""
    return _labels(set(_pieces()) - _reached(USERS + TESTERS))


def _labels(names: Iterable[Name]) -> list[str]:
    """Say the engine's names; a class that is not reached says nothing of its methods."""
    engine_names = {name for name in names if name[0].split(".")[0] == "engine" and name[1] not in ("", ANY_NAME, "__all__")}
    return sorted(
        f"{module}:{name}" for module, name in engine_names if "." not in name or (module, name.split(".")[0]) not in engine_names
    )


@cache
def _paths() -> dict[str, Path]:
    tops = [ROOT / "app.py", *(ROOT / name for name in (*USERS, *TESTERS, "engine"))]
    paths = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*.py"))]
    path_by_module: dict[str, Path] = {}
    for path in sorted(paths):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        path_by_module[f"{name}.script" if name in path_by_module else name] = path  # a page's script beside its folder
    return path_by_module


@cache
def _trees() -> dict[str, ast.Module]:
    return {module: tree(path.relative_to(ROOT)) for module, path in _paths().items()}


def _base(module: str, node: ast.ImportFrom) -> str:
    """Return the full name of the module that a `from` imports from."""
    parts = module.split(".") + ["__init__"] * (_paths()[module].name == "__init__.py")
    return ".".join([*(parts[: -node.level] if node.level else ()), *([node.module] if node.module else ())])


def _imports(module: str, node: ast.AST) -> Iterator[tuple[str, Name]]:
    """Yield each word that an import statement brings, with what it stands for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            target = alias.name if alias.asname else alias.name.split(".")[0]
            yield alias.asname or target, (target, "")
    elif isinstance(node, ast.ImportFrom):
        base = _base(module, node)
        for alias in node.names:
            target = f"{base}.{alias.name}"
            yield (
                alias.asname or alias.name,
                ((target, "") if target in _trees() and alias.name not in _passed_on(base) else (base, alias.name)),
            )


@cache
def _passed_on(package: str) -> set[str]:
    """Return the words that a package imports from its own modules: they hide a module of the same name."""
    body = _trees()[package].body if package in _trees() else []
    froms = (node for node in body if isinstance(node, ast.ImportFrom) and _base(package, node) != package)
    return {alias.asname or alias.name for node in froms for alias in node.names}


@cache
def _words(module: str) -> dict[str, Name]:
    """Return what each word of a module stands for: what it imports, anywhere, and its own definitions."""
    brought = dict(pair for node in nodes(_paths()[module].relative_to(ROOT)) for pair in _imports(module, node))
    return brought | {name: (module, name) for statement in _trees()[module].body for name in _defined(statement)}


def _defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = [node for target in targets if target for node in walk(target) if isinstance(node, ast.Name)]
    return [node.id for node in names if isinstance(node.ctx, ast.Store)]


def _home(name: Name) -> Name:
    """Follow a name through modules that only pass it on."""
    module, word = name
    while word and module in _trees() and (home := _words(module).get(word, (module, word))) != (module, word):
        module, word = home
    return module, word


def _mentions(module: str, statements: Iterable[ast.AST]) -> Mentions:
    names: set[Name] = set()
    attributes: set[str] = set()
    words, roots = _words(module), set()
    for node in (child for top in statements for child in walk(top)):
        if isinstance(node, ast.Attribute):
            attributes.add(node.attr)
            roots.add(node.value)
            names.add(_home((_module(node.value, words), node.attr)))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in words:
            home, word = _home(words[node.id])
            names.add((home, word or (ANY_NAME if node not in roots else "")))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(target, "") for _, (target, _) in _imports(module, node)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            attributes.add(node.value)
            names |= {_home((match[1], match[2])) for match in [PATH.fullmatch(node.value)] if match}
    return Mentions(frozenset(names), frozenset(attributes))


def _module(node: ast.expr, words: dict[str, Name]) -> str:
    """Return the module that an expression names, if it does."""
    if isinstance(node, ast.Attribute):
        return f"{_module(node.value, words)}.{node.attr}"
    module, name = words.get(node.id, ("", "")) if isinstance(node, ast.Name) else ("", "")
    return "" if name else module


@cache
def _pieces() -> dict[Name, Mentions]:
    """Return what every definition mentions, and under "" what the rest of its module does."""
    pieces: dict[Name, Mentions] = {}
    for module, syntax in _trees().items():
        for statement in syntax.body:
            if isinstance(statement, ast.ClassDef):
                pieces |= _class(module, statement)
            else:
                pieces |= {(module, name): _mentions(module, [statement]) for name in _defined(statement)}
        pieces[module, ""] = _mentions(module, [statement for statement in syntax.body if not _defined(statement)])
    return pieces


def _class(module: str, owner: ast.ClassDef) -> dict[Name, Mentions]:
    """Return a class with its fields and special methods, and beside it every other method, unless a stranger's base calls it."""
    is_engine_class = _is_engine_class(module, owner)
    methods = [
        statement
        for statement in owner.body
        if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("__") and is_engine_class
    ]
    rest = [
        statement for statement in (*owner.body, *owner.bases, *owner.keywords, *owner.decorator_list) if statement not in methods
    ]
    pieces = {(module, f"{owner.name}.{method.name}"): _mentions(module, [method]) for method in methods}
    return pieces | {(module, owner.name): _mentions(module, rest)}


def _is_engine_class(module: str, owner: ast.ClassDef) -> bool:
    """Return whether a class and all that it derives from are the engine's own."""
    bases = {node.id for base in owner.bases for node in walk(base) if isinstance(node, ast.Name)} - KNOWN_BASES
    homes = [_home(_words(module).get(name, ("", name))) for name in bases]
    classes = [
        [statement for statement in _trees()[home].body if _defined(statement) == [name]] if home in _trees() else []
        for home, name in homes
    ]
    return all(
        statements and (not isinstance(statements[0], ast.ClassDef) or _is_engine_class(home, statements[0]))
        for (home, _), statements in zip(homes, classes, strict=True)
    )


def _roots(folders: Iterable[str]) -> set[Name]:
    roots = {name for name in _pieces() if name[0].split(".")[0] in folders}
    variants = {
        (module, CONSTANT_BY_KIND[kind][0]) for module in _trees() for kind in CONSTANT_BY_KIND if kind in module.split(".")[1:-1]
    }
    variants |= {(f"engine.{place}", table) for place, table in TABLES.values()}
    roots |= {name for name in _pieces() if name[0].startswith(FACE)}
    return roots | {name for name in _pieces() if name in variants or (name[0].startswith(COMMANDS) and name[1] in ENTRIES)}


@cache
def _reached(folders: tuple[str, ...]) -> set[Name]:
    pieces = set(_pieces())
    by_name: dict[str, set[tuple[Name, Name]]] = defaultdict(set)  # attribute: what it may be, and what must be reached for that
    for module, name in pieces:
        owner, _, method = name.rpartition(".")
        by_name[method].add(((module, name), (module, owner or ANY_NAME)))
    reached, waiting, attributes = set[Name](), _roots(folders), set[str]()
    while waiting:
        reached |= waiting
        mentioned = {name for piece in waiting & pieces for name in _pieces()[piece].names} | {
            (module, "") for module, _ in waiting
        }
        attributes |= {name for piece in waiting & pieces for name in _pieces()[piece].attributes}
        called = {name for word in attributes & set(by_name) for name, owner in by_name[word] if owner in reached}
        waiting = {name for name in mentioned | called if name in pieces or name[1] == ANY_NAME} - reached
    return reached
