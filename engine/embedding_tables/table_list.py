"""A list of embedding tables as in a spreadsheet, from CSV to knobs and back.

The columns are `Table,Rows,Dim,Lookups,Precision,Optimizer`, in any order; the names that other programs use are read too.
Commas, semicolons or tabs separate cells. All columns except Rows can be left out: the model's knobs then stay. `Features`, the
number of features that share a table, is written if any table has several; `Kind` if any table holds a sequence.
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
from ..scenario.scenario import KNOBS, Scenario, fit_bottom_mlp, per_table, stale_lists, values
from .cells import OPTIMIZER_WORDS, PRECISION_WORDS, known_word, thousands_marks, whole_number

TABLE, ROWS, PLAN, TABLES = "Table", "Rows", "policy.plan", "model.num_tables"
COLUMNS: Mapping[str, str] = {  # the knob of each column that has one, in the order of files
    ROWS: "model.num_embeddings",
    "Dim": "model.embedding_dim",
    "Lookups": "model.pooling",
    "Precision": "model.row_precision",
    "Optimizer": "model.optimizer",
    "Features": "model.features",
    "Kind": "model.feature_kind",
}
FEATURES, KIND = "Features", "Kind"
USUAL = {FEATURES: 1, KIND: "bag"}  # cells of columns that are left out where all tables have them
TITLES = (TABLE, *(title for title in COLUMNS if title not in USUAL))
HEADINGS: Mapping[str, tuple[str, ...]] = {
    TABLE: ("table", "name", "tablename", "embedding", "feature", "featurename"),
    ROWS: ("rows", "row", "numrows", "rowspertable", "numembeddings", "cardinality", "hashsize", "vocabsize", "vocabularysize"),
    "Dim": ("dim", "dimension", "embeddingdim", "embeddingdimension", "width"),
    "Lookups": ("lookups", "pooling", "poolingfactor", "baglength", "lookupspersample", "lookupsasample"),
    "Precision": ("precision", "rowprecision", "datatype", "dtype"),
    "Optimizer": ("optimizer", "optimiser"),
    FEATURES: ("features", "numfeatures", "featuresofatable"),
    KIND: ("kind", "featurekind", "kindoffeatures"),
}
TITLE_BY_HEADING = {heading: title for title, headings in HEADINGS.items() for heading in headings}
RESULTS = ("Size [GB]", "Memory", "Parts", "Hit rate [%]", "Lookups a batch", "Unique rows a batch", "Embedding time [ms]")
WORDS: Mapping[str, Mapping[str, str]] = {"Precision": PRECISION_WORDS, "Optimizer": OPTIMIZER_WORDS, KIND: {}}
DELIMITERS = "\t;,"
MOST_CHARACTERS = 4_000_000
MOST_NAME = 80


class TableList(NamedTuple):
    """A list of tables: their names, and their settings by knob.

    names: the names in order; () if no table has a name. columns: (T,) settings by dotted path of the knob.
    """

    names: tuple[str, ...]
    columns: Mapping[str, tuple[Any, ...]]

    @property
    def tables(self) -> int:
        """The number of tables."""
        return len(self.columns[COLUMNS[ROWS]])

    @property
    def changes(self) -> dict[str, Any]:
        """The knobs, by dotted path, that give a model these tables.

        A knob that is equal for all tables has a single value.
        """
        return {TABLES: self.tables, **{path: _shortest(path, column) for path, column in self.columns.items()}}


class ListRow(NamedTuple):
    """A row of a user's list: its place, and its cells by column title.

    The place is text such as a line number, for messages of errors.
    """

    place: str
    cells: Mapping[str, Any]


def _shortest(path: str, column: tuple[Any, ...]) -> Any:
    are_equal = len({*column}) == 1
    return column if not are_equal else column[0] if KNOBS[path].by_table else column[:1]


def table_list(rows: Sequence[ListRow], titles: Iterable[str]) -> TableList:
    """Return the tables of rows with columns `titles`; raises BadInput that names row and column."""
    max_tables = int(KNOBS[TABLES].high or 0)
    if not 0 < len(rows) <= max_tables:
        raise BadInput(f"The list has {count(len(rows), 'table')}; write 1 to {count(max_tables, 'table')}, each in its own row.")
    names = tuple(_name(row.cells.get(TABLE), number) for number, row in enumerate(rows, 1))
    columns = {COLUMNS[title]: tuple(_column(rows, title)) for title in COLUMNS if title in titles}
    return TableList(names if any(names) else (), columns)


def _name(cell: Any, number: int) -> str:
    """Return the name of a table; "" where the cell has only the table's number."""
    text = "" if _is_empty(cell) else " ".join(str(cell).split())
    text = (
        text[1:] if text[:1] == "'" and text[1:2] in FORMULA and len(text) > 1 else text
    )  # files write a quote before texts that spreadsheets would read as formulas
    return "" if text == str(number) else text[:MOST_NAME]


def _is_empty(cell: Any) -> bool:
    return cell is None or cell != cell or not str(cell).strip()


def _column(rows: Sequence[ListRow], title: str) -> Iterator[Any]:
    knob, setting_by_cell = KNOBS[COLUMNS[title]], dict[Any, Any]()
    marks = thousands_marks(cell for row in rows if isinstance(cell := row.cells.get(title), str))
    for row in rows:
        cell = row.cells.get(title)
        if (type(cell), cell) not in setting_by_cell:
            try:
                setting_by_cell[type(cell), cell] = _cell_setting(knob, title, cell, marks)
            except BadInput as error:
                raise BadInput(f"{row.place}: column {title}: {error}") from None
        yield setting_by_cell[type(cell), cell]


def _cell_setting(knob: knobs.Knob, title: str, cell: Any, marks: frozenset[str]) -> Any:
    if _is_empty(cell):
        raise BadInput(f"the cell is empty; write {' or '.join(knob.allowed) or 'a whole number'}.")
    setting = known_word(cell, WORDS[title]) if title in WORDS else whole_number(cell, marks)
    checked = knobs.check(knob, setting)
    return checked[0] if isinstance(checked, tuple) else checked


def parse(text: str, name: str = "") -> TableList:
    """Return the tables of a CSV text of the file `name`.

    Raises BadInput that names line and column.
    """
    if len(text) > MOST_CHARACTERS:
        raise BadInput(f"{name or 'The list'} has {count(len(text), 'character')}; at most {count(MOST_CHARACTERS)} are read.")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    heading_line = next((number for number, line in enumerate(lines) if line.strip()), None)
    if heading_line is None:
        raise BadInput(f"{name or 'The list'} is empty; begin with the line {','.join(TITLES)}, then write one table per line.")
    delimiter = max(DELIMITERS, key=lambda mark: sum(_meant(cell) != "" for cell in lines[heading_line].split(mark)))
    (place, heading), *rows = _parted(lines, delimiter, name)
    titles = _titles(place, heading)
    return table_list([_row(row_place, titles, cells) for row_place, cells in rows], titles)


def _parted(lines: Sequence[str], delimiter: str, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield place and cells of each line that is not blank.

    Raises BadInput for rows of several lines.
    """
    table = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    for number in range(1, len(lines) + 1):
        place = f"{name}:{number}" if name else f"Line {number}"
        try:
            cells, end_line = next(table), table.line_num
        except csv.Error:
            cells, end_line = [], 0
        if end_line != number:
            raise BadInput(
                f"{place}: a quotation mark has no partner; remove it, or, if it belongs to a name, write it twice and put the "
                "cell in quotation marks."
            )
        if any(cell.strip() for cell in cells):
            yield place, cells


def _meant(heading: str) -> str:
    """Return the title of the column that a heading names; "" for none."""
    if heading.strip().strip('"') in RESULTS:
        return RESULTS[0]
    return TITLE_BY_HEADING.get(re.sub(r"\[.*?\]|\(.*?\)|[^a-z0-9]", "", heading.lower()), "")


def _titles(place: str, heading: Sequence[str]) -> list[str]:
    """Return the title of each column by its heading.

    Result columns, which are not read, are RESULTS[0].
    """
    cells = [cell.strip() for cell in heading]
    while not cells[-1]:
        cells.pop()
    titles = [_meant(cell) for cell in cells]
    if not any(titles):
        raise BadInput(f"{place}: no column is named; begin with a line such as {','.join(TITLES)}.")
    if "" in titles:
        strange = cells[titles.index("")]
        raise BadInput(f"{place}: the heading {strange[:40]!r} is not one of {', '.join(TITLES)}; rename or remove that column.")
    if twice := next((title for title in HEADINGS if titles.count(title) > 1), ""):
        raise BadInput(f"{place}: two columns have the heading {twice}; remove one of them.")
    if ROWS not in titles:
        raise BadInput(f"{place}: there is no column {ROWS}; name it {ROWS} or num_embeddings.")
    return titles


def _row(place: str, titles: Sequence[str], cells: Sequence[str]) -> ListRow:
    if any(cell.strip() for cell in cells[len(titles) :]):
        raise BadInput(
            f"{place}: the row has {count(len(cells), 'cell')}, the heading {count(len(titles))}; "
            "write numbers without commas, or in quotation marks."
        )
    return ListRow(place, dict(zip(titles, cells, strict=False)))


def text_of(model: Model, names: Sequence[str] = ()) -> str:
    """Return a model's tables as CSV text, a line for each table.

    names: the tables' names; without names, tables are numbered. `parse` reads the same tables back.
    """
    called = (name or str(number) for number, name in enumerate(names or ("",) * model.num_tables, 1))
    columns = columns_of(model)
    return rows_text((TABLE, *columns), zip(called, *columns.values(), strict=True))


def columns_of(model: Model) -> dict[str, tuple[Any, ...]]:
    """Return a model's tables as columns of (T,) values by title, without names.

    Features is left out where each table has one feature, Kind where all tables have bags.
    """
    columns = {title: per_table(model, path.partition(".")[2]) for title, path in COLUMNS.items()}
    return {title: column for title, column in columns.items() if {*column} != {USUAL.get(title)}}


def replaced_tables(base: Scenario, changes: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the knob changes that replace a model's tables, and sentences on side effects.

    Raises BadKnob. Knobs with a value for each of the earlier tables are reset. A bottom MLP whose last width was the old dim
    gets the new dim.
    """
    tables, base_values = changes[TABLES], values(base)
    list_paths = [
        path for path in COLUMNS.values() if isinstance(base_values[path], tuple) and len(base_values[path]) not in (1, tables)
    ]
    for title, path in COLUMNS.items():
        if path in list_paths and path not in changes and title != FEATURES:
            raise BadKnob(
                f"The list has {count(tables, 'table')} but no column {title}, while {path} has "
                f"{count(len(base_values[path]), 'value')}; add the column."
            )
    stale = stale_lists(base, tables)
    stale |= {path: 1 for path in list_paths if path == COLUMNS[FEATURES] and path not in changes}
    stale |= {PLAN: ""} if base_values[PLAN].count(";") not in (0, tables - 1) else {}
    mended_changes, note = fit_bottom_mlp(base, {**stale, **changes})
    notes = (f"{path} had a value for each of other tables, and is as it was without them now." for path in stale)
    return mended_changes, (*notes, *([note] if note else []))
