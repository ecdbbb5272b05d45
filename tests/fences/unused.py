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

USERS = ("app", "pages", "scripts")
TESTERS = ("tests", "benchmarks")
COMMANDS = "engine.__main__", "engine.commands"
ENTRIES = "main", "add"
FACE = "engine.api"  # for scripts and notebooks of others
KNOWN_BASES = {"NamedTuple", "Protocol", "StrEnum", "Exception"}  # nobody but the engine calls the methods of such a class
PATH = re.compile(r"(engine(?:\.\w+)*)[.:](\w+)")  # a name of the engine inside a text
ANY = "*"  # a module as a value: any name of it that is asked for

Name = tuple[str, str]  # a module and a name in it; a method is "Class.name", the rest of a module ""


class Mentions(NamedTuple):
    """What a piece of a module mentions: names, and attributes of whatever object."""

    names: frozenset[Name]
    attributes: frozenset[str]


def used_by_tests_alone() -> list[str]:
    """Return "module:name" of what tests or benchmarks reach and no user does."""
    return _told(_reached(USERS + TESTERS) - _reached(USERS))


def used_by_nobody() -> list[str]:
    """Return "module:name" of what not even a test reaches."""
    return _told(set(_pieces()) - _reached(USERS + TESTERS))


def _told(names: Iterable[Name]) -> list[str]:
    """Say the engine's names; a class that is not reached says nothing of its methods."""
    found = {name for name in names if name[0].split(".")[0] == "engine" and name[1] not in ("", ANY, "__all__")}
    return sorted(f"{module}:{name}" for module, name in found if "." not in name or (module, name.split(".")[0]) not in found)


@cache
def _paths() -> dict[str, Path]:
    tops = [ROOT / "app.py", *(ROOT / name for name in (*USERS, *TESTERS, "engine"))]
    paths = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*.py"))]
    found: dict[str, Path] = {}
    for path in sorted(paths):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[f"{name}.script" if name in found else name] = path  # a page's script beside its folder
    return found


@cache
def _trees() -> dict[str, ast.Module]:
    return {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in _paths().items()}


def _base(module: str, node: ast.ImportFrom) -> str:
    """Return the full name of the module that a `from` imports from."""
    parts = module.split(".") + ["__init__"] * (_paths()[module].name == "__init__.py")
    return ".".join([*(parts[: -node.level] if node.level else ()), *([node.module] if node.module else ())])


def _imports(module: str, node: ast.AST) -> Iterator[tuple[str, Name]]:
    """Yield each word that an import statement brings, with what it stands for."""
    if isinstance(node, ast.Import):
        for one in node.names:
            whole = one.name if one.asname else one.name.split(".")[0]
            yield one.asname or whole, (whole, "")
    elif isinstance(node, ast.ImportFrom):
        base = _base(module, node)
        for one in node.names:
            whole = f"{base}.{one.name}"
            yield (
                one.asname or one.name,
                ((whole, "") if whole in _trees() and one.name not in _passed_on(base) else (base, one.name)),
            )


@cache
def _passed_on(package: str) -> set[str]:
    """Return the words that a package imports from its own modules: they hide a module of the same name."""
    body = _trees()[package].body if package in _trees() else []
    froms = (node for node in body if isinstance(node, ast.ImportFrom) and _base(package, node) != package)
    return {one.asname or one.name for node in froms for one in node.names}


@cache
def _words(module: str) -> dict[str, Name]:
    """Return what each word of a module stands for: what it imports, anywhere, and its own definitions."""
    brought = dict(pair for node in ast.walk(_trees()[module]) for pair in _imports(module, node))
    return brought | {name: (module, name) for statement in _trees()[module].body for name in _defined(statement)}


def _defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    stored = [node for one in targets if one for node in ast.walk(one) if isinstance(node, ast.Name)]
    return [node.id for node in stored if isinstance(node.ctx, ast.Store)]


def _home(name: Name) -> Name:
    """Follow a name through modules that only pass it on."""
    module, word = name
    while word and module in _trees() and (found := _words(module).get(word, (module, word))) != (module, word):
        module, word = found
    return module, word


def _mentions(module: str, nodes: Iterable[ast.AST]) -> Mentions:
    names: set[Name] = set()
    attributes: set[str] = set()
    words, roots = _words(module), set()
    for node in (one for top in nodes for one in ast.walk(top)):
        if isinstance(node, ast.Attribute):
            attributes.add(node.attr)
            roots.add(node.value)
            names.add(_home((_module(node.value, words), node.attr)))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in words:
            home, word = _home(words[node.id])
            names.add((home, word or (ANY if node not in roots else "")))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(target, "") for _, (target, _) in _imports(module, node)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            attributes.add(node.value)
            names |= {_home((found[1], found[2])) for found in [PATH.fullmatch(node.value)] if found}
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
    found: dict[Name, Mentions] = {}
    for module, tree in _trees().items():
        for statement in tree.body:
            if isinstance(statement, ast.ClassDef):
                found |= _class(module, statement)
            else:
                found |= {(module, name): _mentions(module, [statement]) for name in _defined(statement)}
        found[module, ""] = _mentions(module, [one for one in tree.body if not _defined(one)])
    return found


def _class(module: str, owner: ast.ClassDef) -> dict[Name, Mentions]:
    """Return a class with its fields and special methods, and beside it every other method, unless a stranger's base calls it."""
    ours = _ours(module, owner)
    methods = [one for one in owner.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("__") and ours]
    rest = [one for one in (*owner.body, *owner.bases, *owner.keywords, *owner.decorator_list) if one not in methods]
    pieces = {(module, f"{owner.name}.{one.name}"): _mentions(module, [one]) for one in methods}
    return pieces | {(module, owner.name): _mentions(module, rest)}


def _ours(module: str, owner: ast.ClassDef) -> bool:
    """Return whether a class and all that it derives from are the engine's own."""
    bases = {node.id for base in owner.bases for node in ast.walk(base) if isinstance(node, ast.Name)} - KNOWN_BASES
    homes = [_home(_words(module).get(name, ("", name))) for name in bases]
    classes = [
        [one for one in _trees()[home].body if _defined(one) == [name]] if home in _trees() else [] for home, name in homes
    ]
    return all(
        found and (not isinstance(found[0], ast.ClassDef) or _ours(home, found[0]))
        for (home, _), found in zip(homes, classes, strict=True)
    )


def _roots(folders: Iterable[str]) -> set[Name]:
    theirs = {name for name in _pieces() if name[0].split(".")[0] in folders}
    variants = {
        (module, CONSTANT_BY_KIND[kind][0]) for module in _trees() for kind in CONSTANT_BY_KIND if kind in module.split(".")[1:-1]
    }
    variants |= {(f"engine.{place}", table) for place, table in TABLES.values()}
    theirs |= {name for name in _pieces() if name[0].startswith(FACE)}
    return theirs | {name for name in _pieces() if name in variants or (name[0].startswith(COMMANDS) and name[1] in ENTRIES)}


@cache
def _reached(folders: tuple[str, ...]) -> set[Name]:
    known = set(_pieces())
    by_name: dict[str, set[tuple[Name, Name]]] = defaultdict(set)  # attribute: what it may be, and what must be reached for that
    for module, name in known:
        owner, _, method = name.rpartition(".")
        by_name[method].add(((module, name), (module, owner or ANY)))
    reached, waiting, asked = set[Name](), _roots(folders), set[str]()
    while waiting:
        reached |= waiting
        mentioned = {name for one in waiting & known for name in _pieces()[one].names} | {(module, "") for module, _ in waiting}
        asked |= {name for one in waiting & known for name in _pieces()[one].attributes}
        called = {name for word in asked & set(by_name) for name, owner in by_name[word] if owner in reached}
        waiting = {name for name in mentioned | called if name in known or name[1] == ANY} - reached
    return reached
