"""Recognition of a table without a mapping, by its header or its first rows.

A table that is not recognised is refused, with a guessed mapping to copy.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...core.figures import count
from ...errors import BadFile, UndescribedTable
from ...version import PROGRAM
from . import conversions as ways
from . import criteo, foreign, published
from .blocks import decoded_head
from .conversions import Conversion
from .layouts import AVAZU, EVENTS, KUAIRAND, MOVIELENS, TAOBAO, TAOBAO_ADS, TEXTS, YAMBDA, Layout
from .mapping_text import has_label, mapping_text
from .sniffing import FirstRows, first_rows

HEAD = 1 << 16  # first bytes of a file that recognition reads
TITLES = {
    AVAZU: "Avazu's click-through data",
    TAOBAO: "Taobao's UserBehavior.csv",
    TAOBAO_ADS: "Taobao's raw_sample.csv",
    MOVIELENS: "MovieLens' ratings.csv",
    KUAIRAND: "KuaiRand's log_standard.csv",
}
MIN_EVEN_SHARE = 0.6  # least share of a table's first lines that have the commonest number of columns


def text_layout(name: str, head: bytes, packed: bool = False, is_criteo: bool = False) -> Layout:
    """Return the layout of a text, by its first bytes `head`.

    packed: True if the file is gzipped.
    is_criteo: True if the file's mapping names Criteo's format.

    Raises BadFile for a text that needs a mapping.
    """
    head = head[:HEAD]
    first_line = head.partition(b"\n")[0].decode("utf-8", "replace").lstrip("\ufeff").rstrip("\r")
    rows = first_rows(head, len(head) < HEAD)
    if is_criteo or not rows.width:  # an empty text is refused as it is read
        return criteo.criteo_layout(name, rows)
    foreign.check_text(name, head.decode("utf-8", "replace"), packed)
    if criteo.is_unlabelled(rows):
        raise criteo.unlabelled_refusal(name, rows)
    if criteo.is_headed(rows.header) or (criteo.is_sampled(rows) and rows.delimiter == "\t"):
        return criteo.criteo_layout(name, rows)
    if known_layout := _published_layout(rows):
        return known_layout
    _check_plain(name, head, first_line, rows, packed)
    published.check_published(name, rows, packed)
    raise _uneven(name, rows, packed) or _unmapped(name, rows)


def _published_layout(rows: FirstRows) -> Layout | None:
    """Return the layout of a published table, with any delimiter; None for other tables."""
    for layout in TEXTS:
        if not layout.columns and set(layout.read_columns) <= set(rows.header):
            return replace(layout, delimiter=rows.delimiter)
    first_row = rows.rows[0] if rows.rows and not rows.header else ()
    if len(first_row) == 5 and first_row[3] in EVENTS and all(first_row[column].isdigit() for column in (0, 1, 2, 4)):
        return replace(TAOBAO, delimiter=rows.delimiter)
    return None


def _check_plain(name: str, head: bytes, first_line: str, rows: FirstRows, packed: bool) -> None:
    """Raise BadFile for bytes that are no text, and for a text without columns."""
    try:
        decoded_head(head, len(head) < HEAD)
    except UnicodeDecodeError as error:
        line = 1 + head.count(b"\n", 0, error.start)
        raise foreign.encoding_refusal(f"{name}:{line}", name, head, error, packed) from error
    _check_lines(name, head, rows, packed)
    length_fault = f"is longer than {count(HEAD)} bytes" if b"\n" not in head and len(head) == HEAD else ""
    if b"\0" in head:
        line = 1 + head.count(b"\n", 0, head.index(b"\0"))
        nul_fault = f"has NUL bytes, which are no text, and {length_fault}" if length_fault else "has a NUL byte"
        raise BadFile(f"{name}:{line}: the line {nul_fault}; data files are plain text, Parquet or arrays.")
    if length_fault and rows.width > 1:
        raise BadFile(f"{name}:1: the line {length_fault}; write one sample per line.")
    if rows.width < 2:
        fault = "starts neither a tab-separated sample nor a CSV header"
        raise BadFile(
            f"{name}:1: {first_line[:40]!r} {fault}; write one sample per line, with columns separated by tabs or commas."
        )


def _check_lines(name: str, head: bytes, rows: FirstRows, packed: bool) -> None:
    """Raise BadFile for a first line without cells, and for one line of numbers, which is a trace rather than a sample."""
    if rows.rows and not rows.header and not any(rows.rows[0]):
        raise foreign.blank_refusal(name, packed)
    cells = [cell for cell in (rows.rows[0] if rows.rows else ()) if cell]
    if b"\n" not in head.strip() and len(cells) > 1 and all(cell.isdecimal() for cell in cells[:-1]):
        conversion = _unpacked(ways.ONE_LINE, packed)
        fault = f"{name} has one line, of {count(len(cells), 'number')}" + (" or more" if len(head) == HEAD else "")
        raise BadFile(f"{fault}; {conversion.words}", remedy=conversion.remedy(name))


def _unmapped(name: str, rows: FirstRows) -> UndescribedTable:
    """Return the refusal of a table without a mapping, with a guessed mapping to copy."""
    near_layout = next((layout for layout in TEXTS if _is_near(layout, rows)), None)
    kind = "in CSV" if rows.delimiter == "," else f'separated by "{_delimiter_text(rows.delimiter)}"'
    title = TITLES[near_layout] if near_layout else f"a table {kind}"
    missing_text = (
        f" but lacks {', '.join(column for column in near_layout.read_columns if column not in rows.header)[:60]}"
        if near_layout
        else ""
    )
    columns_text = (
        f"its {count(rows.width, 'column is', 'columns are')} {foreign.column_list(rows.header)}"
        if rows.header
        else f"it has {count(rows.width, 'column')}"
    )
    if not any(column and rows.columns.count(column) == 1 for column in rows.columns):
        raise BadFile(f"{name}:1: no column name in the header is unique; give each column a name of its own.")
    mapping = mapping_text(rows.columns, rows.delimiter, not rows.header, rows.rows, rows.quotes, notes=rows.unread_columns)
    if not rows.header and criteo.is_sampled(rows):
        mapping = 'format = "criteo"\n'
    return _guessed(name, f"{title}{missing_text if rows.header else ' without a header'}; {columns_text}", mapping)


def _uneven(name: str, rows: FirstRows, packed: bool) -> BadFile | None:
    """Return the refusal of rows and header with unlike numbers of columns, or None."""
    if rows.delimiter == " " and rows.even_share < 1 and rows.aligned:
        return foreign.foreign_refusal(name, "a table in columns of blanks", _unpacked(ways.BLANKS, packed))
    if rows.even_share <= MIN_EVEN_SHARE:
        return BadFile(
            f"{name} is not a table: its first lines have different numbers of columns; write one sample per line, as CSV."
        )
    if rows.header and rows.rows and len(rows.header) != len(rows.rows[0]):
        rows_text = f"those below have {len(rows.rows[0])}"
        if len(rows.header) == 1:
            conversion = _unpacked(ways.COMMENTS if rows.header[0].startswith("#") else ways.TITLE, packed)
            return BadFile(
                f"{name}:1: the line has 1 column, but {rows_text}; {conversion.words}", remedy=conversion.remedy(name)
            )
        line_text = f"{name}:1: the line has {count(len(rows.header), 'column')}, but {rows_text}"
        return BadFile(f"{line_text}; correct the header, or remove the lines above it.")
    return None


def _unpacked(conversion: Conversion, packed: bool) -> Conversion:
    """Return a conversion; for a gzipped file, which its command cannot read, that is gunzip."""
    return ways.GUNZIP if packed else conversion


def _is_near(layout: Layout, rows: FirstRows) -> bool:
    """Return whether a header has most of the columns of a published table."""
    return not layout.columns and 2 * len(set(layout.read_columns) & set(rows.header)) > len(layout.read_columns)


def _guessed(name: str, likeness: str, mapping: str, columns: Sequence[str] = ()) -> UndescribedTable:
    """Return the refusal of a table that looks like a `likeness`, with a guessed mapping."""
    unneeded = f"`{PROGRAM} workload fit` and `{PROGRAM} workload count` need no label"
    no_label = "" if has_label(mapping) else f" No column is clearly a label; {unneeded}."
    return UndescribedTable(
        f"{name} looks like {likeness}.{no_label} Save these lines as {name}.toml, and correct wrong guesses:",
        remedy=mapping,
        columns=columns,
    )


def _delimiter_text(delimiter: str) -> str:
    return {"\t": "\\t"}.get(delimiter, delimiter if delimiter.isprintable() else f"\\x{ord(delimiter):02x}")


def parquet_layout(path: Path, name: str, columns: tuple[str, ...]) -> Layout:
    """Return the layout of a Parquet file by its columns.

    Raises BadFile for a file that needs a mapping.
    """
    if {"uid", "item_id", "timestamp", "is_organic"} <= set(columns):
        if "played_ratio_pct" not in columns:
            raise BadFile(
                f"{name} looks like a file of Yambda, but has no column played_ratio_pct, from which labels are computed; give "
                "listens.parquet or multi_event.parquet."
            )
        events = ("event_type", "listen") if "event_type" in columns else ()
        return replace(YAMBDA, row_filter=events)
    likeness = f"a Parquet file; its {count(len(columns), 'column is', 'columns are')} {foreign.column_list(columns)}"
    raise _guessed(name, likeness, _parquet_mapping(path, name))


def _parquet_mapping(path: Path, name: str) -> str:
    """Return a mapping guessed from a Parquet file's first rows.

    Raises BadFile where no column has ids.
    """
    from . import parquet  # late: Arrow takes a third of a second
    from .first_cells import mapping_of_types

    first_block = next(parquet.rows_of(path, name), None)
    first_columns = {} if first_block is None else dict(first_block.columns)
    mapping = mapping_of_types(first_columns)
    if not first_columns:
        raise BadFile(f"{name} has no records; give a file with records.")
    if not mapping:
        kinds = ", ".join(f"{column} of {cells.type}"[:60] for column, cells in list(first_columns.items())[:3])
        raise BadFile(f"{name} has no column of ids ({kinds}); write columns of whole numbers, texts, or lists of them.")
    return mapping


def unmapped_arrays_refusal(name: str, shapes: str, mapping: str, columns: Sequence[str]) -> UndescribedTable:
    """Return the refusal of an archive of arrays without a mapping.

    The refusal has a guessed mapping.
    """
    return _guessed(name, f"an archive of arrays: {shapes}", mapping, columns)
