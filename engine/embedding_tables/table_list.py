"""A list of embedding tables as a spreadsheet has it: a row a table, from CSV to knobs of a model and back.

`Table,Rows,Dim,Lookups,Precision,Optimizer`, in any order and by the names that others give them; between cells stand commas,
semicolons or tabs. All columns but Rows can be left out: what they say stays as the model has it. `Features`, how many share
a table, is written where any table has several.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.figures import count
from ..errors import BadInput, BadKnob
from ..results.csv_table import FORMULA, rows_text
from ..scenario import knobs
from ..scenario.groups import Model
from ..scenario.scenario import KNOBS, Scenario, mended, per_table, stale_lists, values
from .cells import OPTIMIZER_WORDS, PRECISION_WORDS, known_word, thousands_marks, whole_number

TABLE, ROWS, PLAN, TABLES = "Table", "Rows", "policy.plan", "model.num_tables"
COLUMNS: Mapping[str, str] = {  # the knob of each column that has one, in the order of files
    ROWS: "model.num_embeddings",
    "Dim": "model.embedding_dim",
    "Lookups": "model.pooling",
    "Precision": "model.row_precision",
    "Optimizer": "model.optimizer",
    "Features": "model.features",
}
FEATURES = "Features"
TITLES = (TABLE, *(title for title in COLUMNS if title != FEATURES))
HEADINGS: Mapping[str, tuple[str, ...]] = {
    TABLE: ("table", "name", "tablename", "embedding", "feature", "featurename"),
    ROWS: ("rows", "row", "numrows", "rowspertable", "numembeddings", "cardinality", "hashsize", "vocabsize", "vocabularysize"),
    "Dim": ("dim", "dimension", "embeddingdim", "embeddingdimension", "width"),
    "Lookups": ("lookups", "pooling", "poolingfactor", "baglength", "lookupspersample", "lookupsasample"),
    "Precision": ("precision", "rowprecision", "datatype", "dtype"),
    "Optimizer": ("optimizer", "optimiser"),
    FEATURES: ("features", "numfeatures", "featuresofatable"),
}
MEANT = {heading: title for title, headings in HEADINGS.items() for heading in headings}
RESULTS = ("Size [GB]", "Memory", "Parts", "Hit rate [%]", "Lookups a batch", "Unique rows a batch", "Embedding time [ms]")
WORDS = {"Precision": PRECISION_WORDS, "Optimizer": OPTIMIZER_WORDS}
DELIMITERS = "\t;,"
MOST_CHARACTERS = 4_000_000
MOST_NAME = 80


class TableList(NamedTuple):
    """Tables in order: their names, () where none has one, and by knob the value of each, (T,)."""

    names: tuple[str, ...]
    columns: Mapping[str, tuple[Any, ...]]

    @property
    def tables(self) -> int:
        """The number of tables."""
        return len(self.columns[COLUMNS[ROWS]])

    @property
    def changes(self) -> dict[str, Any]:
        """The knobs that give a model these tables: one value where all tables have the same."""
        return {TABLES: self.tables, **{path: _shortest(path, column) for path, column in self.columns.items()}}


class WrittenRow(NamedTuple):
    """A row of a list as somebody wrote it: where, as an error begins, and its cells by the titles of columns."""

    place: str
    cells: Mapping[str, Any]


def _shortest(path: str, column: tuple[Any, ...]) -> Any:
    alike = len({*column}) == 1
    return column if not alike else column[0] if KNOBS[path].by_table else column[:1]


def table_list(rows: Sequence[WrittenRow], titles: Iterable[str]) -> TableList:
    """Return the tables that rows list in columns of some `titles`; raises BadInput that names the row and the column."""
    most = int(KNOBS[TABLES].high or 0)
    if not 0 < len(rows) <= most:
        raise BadInput(f"The list has {count(len(rows), 'table')}; write 1 to {count(most)} of them, each in a row of its own.")
    names = tuple(_name(row.cells.get(TABLE), number) for number, row in enumerate(rows, 1))
    columns = {COLUMNS[title]: tuple(_column(rows, title)) for title in COLUMNS if title in titles}
    return TableList(names if any(names) else (), columns)


def _name(cell: Any, number: int) -> str:
    """Return the name of a table; "" for its number, which it has without a name too."""
    text = "" if _is_empty(cell) else " ".join(str(cell).split())
    text = text[1:] if text[:1] == "'" and text[1:2] in FORMULA and len(text) > 1 else text  # as files disarm formulas
    return "" if text == str(number) else text[:MOST_NAME]


def _is_empty(cell: Any) -> bool:
    return cell is None or cell != cell or not str(cell).strip()


def _column(rows: Sequence[WrittenRow], title: str) -> Iterator[Any]:
    knob, known = KNOBS[COLUMNS[title]], dict[Any, Any]()
    marks = thousands_marks(cell for row in rows if isinstance(cell := row.cells.get(title), str))
    for row in rows:
        cell = row.cells.get(title)
        if (type(cell), cell) not in known:
            try:
                known[type(cell), cell] = _value(knob, title, cell, marks)
            except BadInput as error:
                raise BadInput(f"{row.place}: column {title}: {error}") from None
        yield known[type(cell), cell]


def _value(knob: knobs.Knob, title: str, cell: Any, marks: frozenset[str]) -> Any:
    if _is_empty(cell):
        raise BadInput(f"the cell is empty; write {' or '.join(knob.allowed) or 'a whole number'}.")
    value = known_word(cell, WORDS[title]) if title in WORDS else whole_number(cell, marks)
    checked = knobs.check(knob, value)
    return checked[0] if isinstance(checked, tuple) else checked


def parse(text: str, name: str = "") -> TableList:
    """Read a list of tables as CSV text, of a file called `name`; raises BadInput that names line and column."""
    if len(text) > MOST_CHARACTERS:
        raise BadInput(f"{name or 'The list'} has {count(len(text))} characters; at most {count(MOST_CHARACTERS)} are read.")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise BadInput(f"{name or 'The list'} is empty; begin with the line {','.join(TITLES)}, then write a table a line.")
    delimiter = max(DELIMITERS, key=lambda mark: sum(_meant(cell) != "" for cell in lines[first].split(mark)))
    (place, heading), *rows = _parted(lines, delimiter, name)
    titles = _titles(place, heading)
    return table_list([_row(where, titles, cells) for where, cells in rows], titles)


def _parted(lines: Sequence[str], delimiter: str, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield place and cells of each line that is not blank; no row goes on over a line's end, so that none can be lost."""
    table = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    for number in range(1, len(lines) + 1):
        place = f"{name}:{number}" if name else f"Line {number}"
        try:
            cells, ended = next(table), table.line_num
        except csv.Error:
            cells, ended = [], 0
        if ended != number:
            raise BadInput(
                f"{place}: its quotation marks do not pair up; remove them, or write one that belongs to a name twice, "
                "between two that enclose the cell."
            )
        if any(cell.strip() for cell in cells):
            yield place, cells


def _meant(heading: str) -> str:
    """Return the title of the column that a heading names; "" for none."""
    if heading.strip().strip('"') in RESULTS:
        return RESULTS[0]
    return MEANT.get(re.sub(r"\[.*?\]|\(.*?\)|[^a-z0-9]", "", heading.lower()), "")


def _titles(place: str, heading: Sequence[str]) -> list[str]:
    """Return the title of each column by its heading; those of results are RESULTS[0], which is not read."""
    cells = [cell.strip() for cell in heading]
    while not cells[-1]:
        cells.pop()
    titles = [_meant(cell) for cell in cells]
    if not any(titles):
        raise BadInput(f"{place}: no column is named; begin with a line such as {','.join(TITLES)}.")
    if "" in titles:
        strange = cells[titles.index("")]
        raise BadInput(f"{place}: the heading {strange[:40]!r} is none of {', '.join(TITLES)}; rename or remove that column.")
    if twice := next((title for title in HEADINGS if titles.count(title) > 1), ""):
        raise BadInput(f"{place}: two columns are {twice}; keep one.")
    if ROWS not in titles:
        raise BadInput(f"{place}: there is no column {ROWS}; name it {ROWS} or num_embeddings.")
    return titles


def _row(place: str, titles: Sequence[str], cells: Sequence[str]) -> WrittenRow:
    if any(cell.strip() for cell in cells[len(titles) :]):
        raise BadInput(
            f"{place}: the row has {count(len(cells), 'cell')}, the heading {count(len(titles))}; "
            "write numbers without commas, or in quotation marks."
        )
    return WrittenRow(place, dict(zip(titles, cells, strict=False)))


def text_of(model: Model, names: Sequence[str] = ()) -> str:
    """Write a model's tables as CSV, a line each, by name or number; `parse` reads the same tables back."""
    called = (name or str(number) for number, name in enumerate(names or ("",) * model.num_tables, 1))
    columns = columns_of(model)
    return rows_text((TABLE, *columns), zip(called, *columns.values(), strict=True))


def columns_of(model: Model) -> dict[str, tuple[Any, ...]]:
    """Return the columns of a model's list but the names, (T,) each, by title; without Features where each table has one."""
    found = {title: per_table(model, path.partition(".")[2]) for title, path in COLUMNS.items()}
    return {title: column for title, column in found.items() if title != FEATURES or {*column} != {1}}


def fitted(base: Scenario, changes: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return changes that replace a model's tables with what has to follow, and sentences that say so; raises BadKnob.

    Lists with a value for each table of before go: they speak of other tables. A bottom MLP that fitted goes on to fit.
    """
    tables, own = changes[TABLES], values(base)
    others = [path for path in COLUMNS.values() if isinstance(own[path], tuple) and len(own[path]) not in (1, tables)]
    for title, path in COLUMNS.items():
        if path in others and path not in changes and title != FEATURES:
            raise BadKnob(f"The list has {count(tables, 'table')} but no column {title}, and {path} has {len(own[path])} values.")
    stale = stale_lists(base, tables)
    stale |= {path: 1 for path in others if path == COLUMNS[FEATURES] and path not in changes}
    stale |= {PLAN: ""} if own[PLAN].count(";") not in (0, tables - 1) else {}
    whole, said = mended(base, {**stale, **changes})
    notes = (f"{path} had a value for each of other tables, and is as it was without them now." for path in stale)
    return whole, (*notes, *([said] if said else []))
