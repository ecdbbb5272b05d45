"""Users' files are opened by engine/paths.py alone, and their texts read by engine/user_text.py.

`OWN` lists the modules that parse what the program itself has written or ships, with what that is; `OPENED` those that open it.
"""

import ast
from collections.abc import Iterator

from tests.cases import each
from tests.house import files, nodes

READER = "engine/user_text.py"
OWN = {
    "engine/core/catalog.py": "canonical text of a part",
    "engine/core/jit.py": "our sources",
    "engine/core/part_files/carried.py": "canonical text of a part, under its digest",
    "engine/core/process.py": "limits of the system",
    "engine/faults/catalog.py": "shipped faults",
    "engine/faults/fault.py": "shipped rates",
    "engine/insight/rents.py": "shipped rents",
    "engine/measure/machine_limits.py": "limits of the system",
    "engine/measure/numa_nodes.py": "nodes of the system",
    "engine/measure/power.py": "counters of the system",
    "engine/measure/timing.py": "counters of the system",
    "engine/api/table.py": "a frame that pandas has just written",
    "engine/commands/run.py": "a result that we have just written",
    "engine/service/kernels.py": "a stamp of the service",
    "engine/service/progress_file.py": "progress of a worker",
    "engine/service/service.py": "words of the service",
    "engine/service/stopped_runs.py": "a cancelled run of the store",
    "engine/store/metric_columns.py": "rows of the store, under their checksums",
    "engine/store/requests.py": "rows of the store, under their checksums",
    "engine/store/result_rows.py": "rows of the store, under their checksums",
    "engine/store/status.py": "rows of the store, under their checksums",
    "engine/store/trainings.py": "rows of the store, under their checksums",
    "engine/validation/kept_numbers.py": "our cache, under its digest",
    "engine/version.py": "our pyproject.toml",
    "engine/workload/popularity.py": "shipped fits",
    "engine/workload/readers/labels.py": "shipped names of labels",
    "pages/answers/stored_uploads.py": "the record of an upload, which we write",
    "pages/shell/own_parts.py": "canonical text of a part",
    "pages/ui/words.py": "our glossary",
}
DOOR = "engine/paths.py"
OPENED = {
    "engine/commands/output.py": "the null device",
    "engine/measure/here/read_back.py": "shipped trials",
    "engine/measure/here/trials.py": "parts that were read before",
    "engine/service/kernels.py": "a lock",
    "engine/workload/readers/parquet.py": "a file whose first bytes came through the door",
    "engine/core/process.py": "the null device",
    "engine/measure/drive.py": "a file that we have written",
    "engine/measure/here/checkpoint.py": "a file that we have written",
    "engine/service/stopped_runs.py": "a cancelled run of the store",
    "engine/store/database.py": "the store",
    "engine/store/files.py": "the store",
    "engine/store/owner.py": "the store",
    "engine/version.py": "our sources",
    "engine/workload/readers/traces/unpacking.py": "a file that we have unpacked",
    "pages/data_page/uploads.py": "an upload that we have stored",
    "pages/answers/stored_uploads.py": "an upload that we have stored",
    "pages/own_data/ways.py": "an upload that we have stored",
}
OPENERS, WRITING = ("ZipFile", "memory_map", "OSFile", "memmap", "ParquetFile"), frozenset("wax+")
PARSERS = {"json": ("load", "loads", "JSONDecoder"), "tomllib": ("load", "loads")}


def _is_own_echo(node: ast.AST) -> bool:
    """Return whether a call parses what another call in it has just written."""
    match node:
        case ast.Call(func=ast.Attribute(attr="loads"), args=[ast.Call(func=ast.Attribute(attr="dumps"))]):
            return True
    return False


def readings(tree_nodes: tuple[ast.AST, ...] | list[ast.AST]) -> Iterator[int]:
    """Yield the line of each use of a parser of JSON or TOML, of `read_text`, and of the encoding utf-8-sig with files."""
    echoes = {id(node.func) for node in tree_nodes if isinstance(node, ast.Call) and _is_own_echo(node)}
    for node in tree_nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (
                name in PARSERS.get(module, ()) and id(node) not in echoes
            ):
                yield node.lineno
            case ast.ImportFrom(module=str(module), names=names) if {name.name for name in names} & {*PARSERS.get(module, ())}:
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="read_text")):
                yield node.lineno


def test_no_other_module_reads_a_users_text() -> None:
    places = {
        str(path): [*lines]
        for path in (*files("engine"), *files("pages"), *files("emberpool"))
        if str(path) != READER and (lines := [*readings(nodes(path))])
    }
    strange = {path: lines for path, lines in places.items() if path not in OWN}
    assert strange == {}, f"read users' files by {READER}; a file that the program writes or ships belongs into OWN"
    assert set(OWN) - set(places) == set(), "remove these from OWN: they read nothing any more"


def openings(tree_nodes: tuple[ast.AST, ...] | list[ast.AST]) -> Iterator[int]:
    """Yield the line of each call that opens a file by its path for reading."""
    for node in tree_nodes:
        match node:
            case ast.Call(func=ast.Name(id="open"), args=arguments) if not writes(arguments[1:]):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr="open")):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=holder, attr="open"), args=arguments) if not (
                is_archive(holder) or writes(arguments)
            ):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="read_bytes")):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[ast.Name(id=argument), *_]) if (
                name in OPENERS and "path" in argument
            ):
                yield node.lineno


def is_archive(holder: ast.AST) -> bool:
    return isinstance(holder, ast.Name) and holder.id == "archive"


def writes(arguments: list[ast.expr]) -> bool:
    """Return whether the mode among the arguments of an `open` writes."""
    modes = [argument.value for argument in arguments[:1] if isinstance(argument, ast.Constant)]
    return any(isinstance(mode, str) and bool(WRITING & set(mode)) for mode in modes)


def test_no_other_module_opens_a_users_file() -> None:
    places = {
        str(path): [*lines]
        for path in (*files("engine"), *files("pages"), *files("emberpool"))
        if str(path) != DOOR and (lines := [*openings(nodes(path))])
    }
    strange = {path: lines for path, lines in places.items() if path not in OPENED}
    assert strange == {}, f"open users' files by open_regular of {DOOR}; what the program writes or ships belongs into OPENED"
    assert set(OPENED) - set(places) == set(), "remove these from OPENED: they open nothing any more"


@each(
    ("text", "is_opening"),
    [
        ("open(path)", True),
        ("open(path, 'rb')", True),
        ("path.open()", True),
        ("path.open('rb')", True),
        ("path.read_bytes()", True),
        ("zipfile.ZipFile(path)", True),
        ("ZipFile(path)", True),
        ("np.memmap(path)", True),
        ("os.open(path, flags)", True),
        ("path.open('wb')", False),
        ("open(path, 'w')", False),
        ("archive.open(member)", False),
        ("ZipFile(file)", False),
        ("open_regular(path)", False),
    ],
)
def test_an_opening_of_its_own_is_noticed(text: str, is_opening: bool) -> None:
    assert bool([*openings([*ast.walk(ast.parse(text))])]) == is_opening


@each(
    ("text", "is_reading"),
    [
        ("json.loads(text)", True),
        ("json.load(file)", True),
        ("read = json.loads", True),
        ("from json import loads", True),
        ("from tomllib import loads", True),
        ("json.JSONDecoder().raw_decode(text)", True),
        ("path.read_text(encoding='utf-8-sig')", True),
        ("json.loads(json.dumps(content))", False),
        ("json.dumps(content)", False),
        ("json_content(text, name)", False),
    ],
)
def test_a_parser_of_its_own_is_noticed(text: str, is_reading: bool) -> None:
    assert bool([*readings([*ast.walk(ast.parse(text))])]) == is_reading


def test_commands_print_by_output_alone_which_escapes_what_others_wrote() -> None:
    printing = {
        str(path)
        for path in files("engine/commands")
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert printing == {"engine/commands/output.py", "engine/commands/progress_bar.py"}
