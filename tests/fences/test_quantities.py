"""One number, one name: each named number in a table of pages and commands comes from one function."""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.insight.quantities import QUANTITIES
from tests import ROOT

# Pages without those that run when imported, and commands with what they print.
ROOMS = ("pages/*/**/*.py", "engine/commands/**/*.py", "engine/analysis/verdict/**/*.py")
NAME = re.compile(r"[A-Z][^\[\]]* \[[^\[\]]+\]")  # a number's title with its unit
READERS = ("quantity", "number")  # functions that read a named quantity; anything else works it out anew
# The winner of a changed question has no result; tests/pages/test_quantities.py compares its numbers.
SAME = {
    ("Throughput [samples/s]", "throughput"): "quantity",
    ("Cost of a billion samples that count [USD]", "cost"): "total",
}


def function_of(expression: ast.expr) -> str:
    """Return the name of the function or field that gives a number; "" for a constant or a text."""
    if isinstance(expression, ast.JoinedStr):
        return ""
    if isinstance(expression, ast.IfExp):
        return function_of(expression.body)
    for node in ast.walk(expression):
        called = node.func if isinstance(node, ast.Call) else node
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if name and not hasattr(builtins, name) and (isinstance(node, ast.Call | ast.Attribute)):
            return name
    return ""


def pairs_in(source: str, names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, function) of each named number in a module's dictionaries; `names` are the module's own."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Dict):
            continue
        for key, number in zip(node.keys, node.values, strict=True):
            is_name = isinstance(key, ast.Constant | ast.Name | ast.Attribute)
            try:
                name = eval(ast.unparse(key), dict(names)) if key and is_name else None
            except (NameError, AttributeError):
                continue  # a local variable
            if isinstance(name, str) and (NAME.fullmatch(name) or name in QUANTITIES) and (function := function_of(number)):
                yield name, SAME.get((name, function), "quantity" if function in READERS else function)


def all_pairs() -> dict[str, dict[str, set[str]]]:
    """Return the files by function by name."""
    pairs: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in sorted({path for room in ROOMS for path in ROOT.glob(room)}):
        place = path.relative_to(ROOT)
        names = vars(import_module(".".join(place.with_suffix("").parts)))
        for name, function in pairs_in(path.read_text(encoding="utf-8"), names):
            pairs[name][function].add(str(place))
    return {name: dict(files) for name, files in pairs.items()}


def test_each_name_of_a_number_has_one_function() -> None:
    pairs = all_pairs()
    assert {name: files for name, files in pairs.items() if len(files) > 1} == {}
    own_functions = {name: files for name, files in pairs.items() if name in QUANTITIES and set(files) != {"quantity"}}
    assert own_functions == {}, "a quantity is shown by pages.ui.numbers.quantity"
    assert {"Power at the meter [W]", "Lost [USD a month]", "Error [%]"} <= set(pairs) and len(pairs) > 30


def test_two_functions_of_one_name_are_found() -> None:
    names = {"POWER": "Power at the meter [W]"}
    source = "a = {POWER: quantity(POWER, result) if result else None}; b = {'Power at the meter [W]': 2 * result.watts}"
    assert set(pairs_in(source, names)) == {("Power at the meter [W]", "quantity"), ("Power at the meter [W]", "watts")}
    assert list(pairs_in("a = {'Loss [h]': '%.2f', POWER: ('W', 8), local: number(row)}", names)) == []


def test_each_quantity_says_what_it_counts() -> None:
    assert all(quantity.counts.endswith(".") and callable(quantity.measure) for quantity in QUANTITIES.values())
    titles = [name.split(" [")[0].lower() for name in QUANTITIES]
    assert len(titles) == len(set(titles)), "two names that differ in their unit alone"


def test_pages_do_not_work_a_quantity_out_anew() -> None:
    """The functions behind quantities are called by quantities alone."""
    hidden = re.compile(r"\b(room_watts|meter_watts|running_costs)\(")
    callers = {
        str(path.relative_to(ROOT)) for path in Path(ROOT / "pages").rglob("*.py") if hidden.search(path.read_text("utf-8"))
    }
    assert callers == set()
