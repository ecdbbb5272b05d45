"""Numbers in texts: each goes through `engine.core.figures`; what is formatted by hand is listed in figures.toml.

A list there is of files and how many numbers each formats by hand. Its name says why; that of what is yet to be changed "to go".
"""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

from tests import house

LISTED = tomllib.loads((Path(__file__).parent / "figures.toml").read_text(encoding="utf-8"))
FORMATTER = Path("engine/core/figures.py")
NUMBER = re.compile(r"[,_%]|[bcdeEfFgGnoxX]$|\{.*\}.*[^\d\}]$")  # in a format: groups of digits, or a number's type
TEMPLATE = re.compile(r"\{\w*:([^{}]*)\}")
PRINTF = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[deEfFgG]")


def spec(node: ast.expr | None) -> str:
    """Return a format as it is written, {} where it is computed."""
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)


def is_number(form: str) -> bool:
    """Return whether a format is a number's; a width or an alignment alone is any text's."""
    return bool(NUMBER.search(form)) or form == "{}"


def by_hand(tree: ast.Module) -> int:
    """Count the numbers that a module formats: in f-strings, by `format`, `str.format` and `%`."""
    total = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            total += node.conversion == -1 and is_number(spec(node.format_spec))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "format":
            total += len(node.args) > 1
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
            total += len(PRINTF.findall(node.left.value)) if isinstance(node.left.value, str) else 0
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            total += sum(map(is_number, TEMPLATE.findall(node.value)))
    return total


def counted() -> Counter[str]:
    """Return by file of the engine and the pages how many numbers it formats by hand."""
    files = [path for part in ("engine", "pages") for path in house.files(part) if path != FORMATTER]
    return Counter({str(path): found for path in files if (found := by_hand(house.tree(path)))})


def test_every_number_in_a_text_goes_through_the_one_formatter():
    listed: Counter[str] = Counter()
    for files in LISTED.values():
        listed.update(files)
    found = counted()
    more = {
        name: f"{found[name]}, listed {listed[name]}: use engine.core.figures" for name in found if found[name] > listed[name]
    }
    fewer = {name: f"{found[name]}, listed {listed[name]}: lower it" for name in listed if found[name] < listed[name]}
    assert more == {} and fewer == {}


def test_the_fence_sees_each_way_to_format_a_number():
    written = [
        "f'{a:.3g}'",
        "f'{a:,}'",
        "f'{a:8.2f}'",
        "f'{a:.0%}'",
        "f'{a:{form}}'",
        "f'{a:>{width}.2f}'",
        "format(a, '.3g')",
        "'%.3f s' % a",
        "'{:.1f} %'.format(a)",
        "f'{a:04x}'",
    ]
    assert [by_hand(ast.parse(text)) for text in written] == [1] * len(written)
    plain = ["f'{a}'", "f'{a:8}'", "f'{a:>{width}}'", "f'{a!r:.40}'", "f'{figure(a)} s'", "n % 4", "'{} of {}'.format(a, b)"]
    assert [by_hand(ast.parse(text)) for text in plain] == [0] * len(plain)
