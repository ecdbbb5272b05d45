"""Limits on the structure: the order of rooms, no circles, no crowded folder, no long file, no name used twice."""

import ast
import re
from pathlib import Path

from pages.shell.places import NEW_PLACES, PLACES
from tests import house

LIMITS = house.PLAN["limits"]
OURS = (Path("app.py"), *house.files("engine"), *house.files("pages"), *house.files("benchmarks"), *house.files("scripts"))
PRIVATE = re.compile(
    r"^\s*(?:from|import)\s+(?!\.)\S*(?:\bexternals\b|\._|\b_(?!_))|import_module\(\"[^\"]*(?:externals|\._)", re.M
)
VAGUE = {"utils", "util", "helpers", "helper", "manager", "info", "misc"}
DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def test_no_folder_is_crowded_and_no_public_class_name_stands_twice():
    assert house.crowded() == {}
    assert house.class_names() == house.PLAN["class names twice"]


def test_a_room_imports_only_rooms_below_it_and_nothing_imports_in_a_circle():
    for part in house.ORDER:
        assert house.upward(part) == []
        assert house.circles(house.imports(part)) == house.circles(house.packages(part)) == []


def test_every_room_of_the_pages_stands_in_the_order_and_is_a_package():
    inside = [path for path in house.files("pages") if path.parent != Path("pages")]
    assert {path.parts[1] for path in inside} == {*house.ORDER["pages"]} - {"scripts"}
    assert {path.parent for path in inside} == {path.parent for path in inside if path.name == "__init__.py"}


def test_a_page_script_has_a_name_of_its_own_and_nobody_imports_it():
    folders = {house.module(path.parent / "__init__.py") for path in house.files("pages")}
    assert len(house.scripts()) == len(PLACES) + len(NEW_PLACES)
    assert house.scripts() & folders == set()
    assert [name for name, others in house.imports("pages").items() if others & house.scripts()] == []


def test_a_page_script_calls_the_guard_before_all_that_is_drawn():
    for path in sorted(path for path in house.files("pages") if house.module(path) in house.scripts()):
        calls = [node for node in house.nodes(path) if isinstance(node, ast.Call)]
        first = min(calls, key=lambda node: (node.lineno, node.col_offset))
        assert ast.unparse(first) == "frame.guard()", path


def test_the_address_knows_no_page():
    shared = {"pages.gate", "pages.ui", "pages.answers", "pages.shell"}
    assert [name for name in house.imports("pages")["pages.shell.address"] if ".".join(name.split(".")[:2]) not in shared] == []


def test_no_folders_of_the_pages_import_each_other():
    assert house.circles(house.folders("pages")) == []


def test_the_pages_import_themselves_absolutely():
    ours = (node for path in house.files("pages") for node in house.nodes(path) if isinstance(node, ast.ImportFrom))
    assert [node.module for node in ours if node.level] == []


def test_the_plan_of_tables_is_worked_out_by_one_file_and_handed_down():
    assert [name for name, others in house.imports("engine").items() if "engine.systems.balance" in others] == [
        "engine.systems.capacity"
    ]


def test_the_engine_imports_itself_relatively_and_neither_pages_nor_tests():
    late = "engine/commands/bench.py", "engine/crashcheck/bugs.py"  # find benchmarks and seeded bugs by name, in a checkout
    assert [one for one in house.outward() if not one.startswith(late)] == []


def test_no_private_module_of_a_dependency_is_imported():
    assert PRIVATE.search("from joblib.externals.loky import f") and PRIVATE.search("import numpy._core")
    assert [str(path) for path in OURS if PRIVATE.search(house.text(path))] == []


def test_a_circle_is_found_wherever_it_closes():
    graph = {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("b"), "d": frozenset("a")}
    assert house.circles(graph) == [["b", "c"]]


def test_a_file_fits_on_a_few_screens_and_a_function_on_one():
    long = [path for path in OURS if house.text(path).count("\n") > LIMITS["lines of a file"]]
    functions = ((path, node) for path in OURS for node in house.nodes(path) if isinstance(node, DEFINED[:2]))
    assert long == []
    most = LIMITS["lines of a function"]
    assert [(path, node.name) for path, node in functions if node.end_lineno - node.lineno >= most] == []


def undocumented(tree: ast.Module) -> list[str]:
    """Return the public functions and classes of a file, and their public methods, that lack a docstring."""
    top = [node for node in tree.body if isinstance(node, DEFINED)]
    methods = [node for owner in top if isinstance(owner, ast.ClassDef) for node in owner.body if isinstance(node, DEFINED)]
    return [node.name for node in top + methods if not node.name.startswith("_") and not ast.get_docstring(node)]


def test_a_module_says_what_it_is_and_so_does_every_public_name_of_the_engine():
    assert [path for path in OURS if house.tree(path).body and not ast.get_docstring(house.tree(path))] == []
    assert {path: names for path in house.files("engine") if (names := undocumented(house.tree(path)))} == {}


MOST_WORDS = 15
RIDDLE = re.compile(r"(?:What|Who|Whatever|Whoever|One that|Those that)\b")  # the noun is missing


def first_lines(tree: ast.Module) -> list[str]:
    """Return the first docstring lines of a file and of its public functions, classes and methods."""
    top = [node for node in tree.body if isinstance(node, DEFINED) and not node.name.startswith("_")]
    methods = [node for owner in top if isinstance(owner, ast.ClassDef) for node in owner.body if isinstance(node, DEFINED)]
    public = [tree, *top, *(node for node in methods if not node.name.startswith("_"))]
    return [text.split("\n")[0] for node in public if (text := ast.get_docstring(node))]


def riddling(line: str) -> bool:
    """Return whether a docstring's first line is too long, or begins without a noun; signs and shapes are no words."""
    return sum(any(map(str.isalpha, word)) for word in line.split()) > MOST_WORDS or bool(RIDDLE.match(line))


def test_the_first_line_of_a_public_docstring_of_the_engine_is_short_and_names_its_subject():
    assert {
        path: lines for path in house.files("engine") if (lines := list(filter(riddling, first_lines(house.tree(path)))))
    } == {}


def test_a_long_line_and_a_line_without_a_noun_are_found():
    assert riddling("Those that are left.") and riddling("Whatever is kept.") and riddling("Return " + "words " * MOST_WORDS)
    assert not riddling("Return (2, N) words " + "more " * 12) and not riddling("Whether the words are few.")


def test_nothing_is_called_helpers_or_utils():
    assert [path for path in OURS if VAGUE & {path.stem, *path.parts}] == []


def test_no_cache_without_a_limit_is_asked_by_number():
    # A server's visitors ask with ever other numbers, and each answer would stay until the server ends.
    unlimited = [
        (path, node)
        for path in (*house.files("engine"), *house.files("pages"))
        for node in house.nodes(path)
        if isinstance(node, ast.FunctionDef) and {*map(ast.unparse, node.decorator_list)} & {"cache", "lru_cache(maxsize=None)"}
    ]
    asked_by_number = [(path, node.name) for path, node in unlimited if re.search(r"\b(int|float)\b", ast.unparse(node.args))]
    assert len(unlimited) > 50 and asked_by_number == []
