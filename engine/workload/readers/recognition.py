"""What a table is that no mapping describes: known by its header or first rows, or refused with a mapping to copy."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...core.figures import count
from ...errors import BadFile, Undescribed
from ...version import PROGRAM
from . import conversions as ways
from . import criteo, foreign, published
from .conversions import Conversion
from .layouts import AVAZU, EVENTS, MOVIELENS, TAOBAO, TAOBAO_ADS, TEXTS, YAMBDA, Layout
from .mapping_text import has_label, mapping_text
from .sniffing import FirstRows, first_rows

HEAD = 1 << 16  # bytes that are looked at
TITLES = {
    AVAZU: "Avazu's click-through data",
    TAOBAO: "Taobao's UserBehavior.csv",
    TAOBAO_ADS: "Taobao's raw_sample.csv",
    MOVIELENS: "MovieLens' ratings.csv",
}
LEAST_EVEN = 0.6  # of the first lines of a table have as many columns as most


def text_layout(name: str, head: bytes, packed: bool = False, is_criteo: bool = False) -> Layout:
    """Return the layout of a text that begins with `head`; raises BadFile for one that needs a mapping.

    `packed` says that the file is gzipped, `is_criteo` that its mapping calls it Criteo's.
    """
    head = head[:HEAD]
    first = head.partition(b"\n")[0].decode("utf-8", "replace").lstrip("\ufeff").rstrip("\r")
    rows = first_rows(head, len(head) < HEAD)
    if is_criteo or not rows.width:  # an empty text is refused as it is read
        return criteo.layout(name, rows)
    foreign.check_text(name, head.decode("utf-8", "replace"), packed)
    if criteo.is_unlabelled(rows):
        raise criteo.unlabelled(name, rows)
    if criteo.is_headed(rows.header) or (criteo.is_sampled(rows) and rows.delimiter == "\t"):
        return criteo.layout(name, rows)
    if known := _known(rows):
        return known
    _check_plain(name, head, first, rows, packed)
    published.check(name, rows, packed)
    raise _uneven(name, rows, packed) or _unmapped(name, rows)


def _known(rows: FirstRows) -> Layout | None:
    """Return the layout of a published table, whatever parts its columns."""
    for layout in TEXTS:
        if not layout.columns and set(layout.wanted) <= set(rows.header):
            return replace(layout, delimiter=rows.delimiter)
    first = rows.rows[0] if rows.rows and not rows.header else ()
    if len(first) == 5 and first[3] in EVENTS and all(first[column].isdigit() for column in (0, 1, 2, 4)):
        return replace(TAOBAO, delimiter=rows.delimiter)
    return None


def _check_plain(name: str, head: bytes, first: str, rows: FirstRows, packed: bool) -> None:
    """Raise BadFile for what is no text, or has no columns."""
    try:
        head[: -3 if len(head) >= HEAD else None].decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + head.count(b"\n", 0, error.start)
        raise foreign.not_utf8(f"{name}:{line}", name, head, error, packed) from error
    long = f"is longer than {count(HEAD)} bytes" if b"\n" not in head and len(head) == HEAD else ""
    if b"\0" in head:
        line = 1 + head.count(b"\n", 0, head.index(b"\0"))
        also = f"has NUL bytes, which are no text, and {long}" if long else "has a NUL byte"
        raise BadFile(f"{name}:{line}: the line {also}; data files are plain text, Parquet or arrays.")
    if long and rows.width > 1:
        raise BadFile(f"{name}:1: the line {long}; write one sample per line.")
    if rows.width < 2:
        what = "starts neither a tab-separated sample nor a CSV header"
        raise BadFile(f"{name}:1: {first[:40]!r} {what}; write a sample a line, its columns parted by tabs or commas.")


def _unmapped(name: str, rows: FirstRows) -> Undescribed:
    """Return the refusal of a table whose columns nobody has described, with a mapping to copy."""
    near = next((layout for layout in TEXTS if _is_near(layout, rows)), None)
    kind = "in CSV" if rows.delimiter == "," else f'separated by "{_written(rows.delimiter)}"'
    what = TITLES[near] if near else f"a table {kind}"
    lacks = f" but lacks {', '.join(each for each in near.wanted if each not in rows.header)[:60]}" if near else ""
    there = f"its {rows.width} columns are {foreign.named(rows.header)}" if rows.header else f"it has {rows.width} columns"
    if not any(column and rows.columns.count(column) == 1 for column in rows.columns):
        raise BadFile(f"{name}:1: the header names no column once; give each column a name of its own.")
    mapping = mapping_text(rows.columns, rows.delimiter, not rows.header, rows.rows, rows.quotes)
    if not rows.header and criteo.is_sampled(rows):
        mapping = 'format = "criteo"\n'
    return _guessed(name, f"{what}{lacks if rows.header else ' without a header'}; {there}", mapping)


def _uneven(name: str, rows: FirstRows, packed: bool) -> BadFile | None:
    """Return the refusal of rows that have unlike numbers of columns, or another one than the header, None where they do not."""
    if rows.delimiter == " " and rows.even < 1 and rows.aligned:
        return foreign.looks(name, "a table in columns of blanks", _unpacked(ways.BLANKS, packed))
    if rows.even <= LEAST_EVEN:
        return BadFile(f"{name} is no table: its first lines have unlike numbers of columns; write a sample a line, in CSV.")
    if rows.header and rows.rows and len(rows.header) != len(rows.rows[0]):
        below = f"those below have {len(rows.rows[0])}"
        if len(rows.header) == 1:
            way = _unpacked(ways.COMMENTS if rows.header[0].startswith("#") else ways.TITLE, packed)
            return BadFile(f"{name}:1: the line has 1 column, but {below}; {way.words}", remedy=way.remedy(name))
        what = f"{name}:1: the line has {len(rows.header)} columns, but {below}"
        return BadFile(f"{what}; mend the header, or take away what stands above it.")
    return None


def _unpacked(way: Conversion, packed: bool) -> Conversion:
    """Return how to unpack a gzipped file, which no other command could read, or the way itself."""
    return ways.GUNZIP if packed else way


def _is_near(layout: Layout, rows: FirstRows) -> bool:
    """Return whether a header has most of the columns of a published table."""
    return not layout.columns and 2 * len(set(layout.wanted) & set(rows.header)) > len(layout.wanted)


def _guessed(name: str, what: str, mapping: str, columns: Sequence[str] = ()) -> Undescribed:
    """Return the refusal of a table by what it looks like, with the guess of its mapping."""
    unneeded = f"`{PROGRAM} workload fit` and `{PROGRAM} workload count` need none"
    no_label = "" if has_label(mapping) else f" No column is plainly a label; {unneeded}."
    return Undescribed(
        f"{name} looks like {what}.{no_label} Save these lines as {name}.toml, and mend what they guess wrong:",
        remedy=mapping,
        columns=columns,
    )


def _written(delimiter: str) -> str:
    return {"\t": "\\t"}.get(delimiter, delimiter if delimiter.isprintable() else f"\\x{ord(delimiter):02x}")


def parquet_layout(path: Path, name: str, columns: tuple[str, ...]) -> Layout:
    """Return the layout of a Parquet file by its columns; raises BadFile for one that needs a mapping."""
    if {"uid", "item_id", "timestamp", "is_organic"} <= set(columns):
        if "played_ratio_pct" not in columns:
            raise BadFile(
                f"{name} looks like a file of Yambda, but without played_ratio_pct, from which its labels follow; "
                "give listens.parquet or multi_event.parquet."
            )
        events = ("event_type", "listen") if "event_type" in columns else ()
        return replace(YAMBDA, where=events)
    what = f"a Parquet file; its {len(columns)} columns are {foreign.named(columns)}"
    raise _guessed(name, what, _parquet_mapping(path, name))


def _parquet_mapping(path: Path, name: str) -> str:
    """Return a mapping that is guessed from the first rows of a Parquet file; raises BadFile where no column has ids."""
    from . import parquet  # late: Arrow takes a third of a second
    from .first_cells import mapping_of_types

    first = next(parquet.rows_of(path, name), None)
    held = {} if first is None else dict(first.columns)
    mapping = mapping_of_types(held)
    if not held:
        raise BadFile(f"{name} has no records; give a file that has some.")
    if not mapping:
        kinds = ", ".join(f"{column} of {cells.type}"[:60] for column, cells in list(held.items())[:3])
        raise BadFile(f"{name} has no column of ids ({kinds}); write columns of whole numbers, texts, or lists of them.")
    return mapping


def arrays_unmapped(name: str, shapes: str, mapping: str, columns: Sequence[str]) -> Undescribed:
    """Return the refusal of arrays whose meaning nobody has described."""
    return _guessed(name, f"an archive of arrays: {shapes}", mapping, columns)
