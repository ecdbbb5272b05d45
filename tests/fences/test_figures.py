"""Numbers in texts: each goes through `engine.core.figures`; what is formatted by hand is listed in figures.toml.

A list there is of files and how many numbers each formats by hand. Its name says why; that of what is yet to be changed "to go".
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
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


def by_hand(nodes: Iterable[ast.AST]) -> int:
    """Count the numbers that a module formats: in f-strings, by `format`, `str.format` and `%`."""
    total = 0
    for node in nodes:
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
    return Counter({str(path): found for path in files if (found := by_hand(house.nodes(path)))})


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
    assert [by_hand(house.walk(ast.parse(text))) for text in written] == [1] * len(written)
    plain = ["f'{a}'", "f'{a:8}'", "f'{a:>{width}}'", "f'{a!r:.40}'", "f'{figure(a)} s'", "n % 4", "'{} of {}'.format(a, b)"]
    assert [by_hand(house.walk(ast.parse(text))) for text in plain] == [0] * len(plain)


# Nouns of counted things. In a text their number and they are written by `count`, which says "1 batch".
COUNTED = re.compile(
    r" (?:(?:different|full|more|unique) )?(?:batches|bytes|cells|channels|characters|columns|configurations|constants|"
    r"copies|cores|entries|estimates|faults|features|fields|GPUs|ids|knobs|lines|lookups|models|modules|nodes|numbers|"
    r"objectives|parts|points|presets|ranks|records|recoveries|results|rows|runs|samples|seeds|shares|states|systems|tables|threads|values|words)(?![\w/])"
)
# No number stands there, or one that is never 1.
NEVER_ONE = {
    "{s.system} shares",
    "{task.name} runs",
    "{sample_text} samples",
    "{' and '.join(narrow_precisions)} rows",
    "{' and '.join(map(str, lengths))} lookups",
    "{_range([*compress(lengths, too_long)])} lookups",
    "{ages_text} batches",
    "{accuracy_at_recovery} points",
    "{_ages_text(holds)} batches",
    "{_shortened_list(file.pooling)} ids",
    "{high} GPUs",
    "{number} values",
    "{self.header.count(name)} columns",
    "{status.st_size} bytes",
    "{most_bytes} bytes",
    "{nbytes} bytes",
    "{system_title(name)} runs",
}
NO_COUNT = re.compile(
    r"(?:100 \* )?(?:[\w.]+\.)?[A-Z][A-Z_]*$|(?:figures\.)?count\((?:\w+\.)*[A-Z][A-Z_]+\)$|(?:figures\.)?count\(.*'|"
    r"(?:figures\.)?(?:figure|exact|percent)\("
)


def plurals_by_hand(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the numbers of f-strings that stand before a plural, which is wrong for 1."""
    pairs = ((first, second) for node in nodes if isinstance(node, ast.JoinedStr) for first, second in pairwise(node.values))
    return [
        f"{{{written}}}{noun[0]}"
        for first, second in pairs
        if isinstance(first, ast.FormattedValue) and isinstance(second, ast.Constant)
        if (noun := COUNTED.match(str(second.value))) and not NO_COUNT.match(written := ast.unparse(first.value))
    ]


def test_a_number_and_the_noun_that_it_counts_are_written_together():
    files = [path for part in ("engine", "pages") for path in house.files(part) if path != FORMATTER]
    assert {text for path in files for text in plurals_by_hand(house.nodes(path))} == NEVER_ONE
    assert plurals_by_hand(house.walk(ast.parse("f'{len(a)} batches and {count(n)} unique rows'"))) == [
        "{len(a)} batches",
        "{count(n)} unique rows",
    ]
    assert plurals_by_hand(house.walk(ast.parse("f'{count(len(a), \"batch\")} of {MOST_ROWS} rows'"))) == []
