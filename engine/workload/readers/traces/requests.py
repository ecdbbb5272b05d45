"""Reads libCacheSim's traces of requests to a cache: one table, one lookup a request, no labels.

Its oracleGeneral is mapped: 24 bytes a request, little-endian: time, object id, size, and the number of the next request for
the same object. Its text is one id a line, or a table with a column of ids. Each is known by what it holds.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....core import figures
from ....core.arrays import Flags, Ints, Words
from ....errors import BadFile
from .. import conversions
from ..blocks import GZIP, Blocks, opened, shown
from ..foreign import looks
from ..mapped import mapped, touched
from ..mapping import place
from ..samples import Samples, Watch, too_large, unwatched
from ..sniffing import FirstRows, first_rows

REQUEST = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
NEVER = 2**62  # from here on, and by -1 or -2, a request says that its object is never asked for again
MOST = 2**44  # requests of a trace
HEAD = 1 << 16  # bytes that are looked at
NAMED = re.compile(r"oracleGeneral(\.bin)?(\.gz)?$", re.IGNORECASE)
IDS = "obj_id", "object_id", "objid", "objectid", "obj", "object", "oid", "lbn", "lba", "key", "anonymized_key"
TIMES = "time", "timestamp", "ts", "real_time", "clock_time", "vtime"
SIZES = "size", "obj_size", "object_size", "objsize", "len", "length", "value_size", "key_size"
OTHERS = (
    "version op operation op_name type ttl next next_access next_access_vtime ns client client_id tenant tenant_id cost hit "
    "latency response_time host hostname disk volume"
)
KNOWN = {*IDS, *TIMES, *SIZES, *OTHERS.split()}  # with any other column it is a table of something else
TOKEN = re.compile(r"[^\s\"'{}<>\[\]]{1,250}")
SPACES = dict.fromkeys((*range(9, 14), 1))  # characters that part cells and lines
ROWS = 1 << 20  # requests that are looked at together


@dataclass(frozen=True, slots=True, eq=False)
class RequestTrace:
    """Requests to a cache: `ids` (N,) are objects' ids, spread over 64 bits."""

    name: str
    format: str
    ids: Any

    hashed = True  # ids are no rows' numbers
    tables = 1
    order = "requests in their order"

    @property
    def samples(self) -> int:
        """How many requests there are."""
        return len(self.ids)

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return the ids of requests `low` to `high`."""
        some: Words = np.ascontiguousarray(self.ids[low:high], dtype=np.uint64)
        touched((high - low) * abs(self.ids.strides[0]))
        return some

    def bag_lengths(self, table: int) -> Ints | int:
        """Return 1: a request asks for one object."""
        return 1


class Text(NamedTuple):
    """Where the ids of a text stand: which of its columns they are, what parts these, and whether ids are whole numbers."""

    column: int
    columns: int
    delimiter: str
    header: bool
    numbers: bool


def is_trace(path: Path) -> bool:
    """Return whether a file is such a trace, by its name or by what it holds; a text with a mapping is a table."""
    if NAMED.search(path.name):
        return True
    head, packed, size = _head(path)
    return (not packed and is_oracle_general(head, size)) or (place(path) is None and text_of(head) is not None)


def read(path: Path, watch: Watch = unwatched) -> RequestTrace:
    """Return a trace of requests; raises BadFile."""
    name = shown(path.name)
    head, packed, size = _head(path)
    if not (NAMED.search(path.name) or is_oracle_general(head, size)) and (text := text_of(head)):
        return RequestTrace(name, "libCacheSim's text", _ids_of_text(path, name, text, watch))
    if packed:
        raise looks(name, "libCacheSim's oracleGeneral in gzip, which cannot be mapped", conversions.GUNZIP)
    if not size or size % REQUEST.itemsize:
        raise BadFile(
            f"{name} has {figures.count(size, 'byte')}, but oracleGeneral has {REQUEST.itemsize} a request; copy it again."
        )
    requests = mapped(path, REQUEST, 0, size // REQUEST.itemsize)
    _check(name, requests, watch)
    return RequestTrace(name, "libCacheSim's oracleGeneral", requests["id"])


def _head(path: Path) -> tuple[bytes, bool, int]:
    """Return a file's first bytes, unpacked if it is gzipped, whether it is, and its size; raises BadFile."""
    with opened(path) as file:
        head, size = file.read(HEAD), path.stat().st_size
    if not head.startswith(GZIP):
        return head, False, size
    try:
        return zlib.decompressobj(31).decompress(head, HEAD), True, size
    except zlib.error:
        return b"", True, size


def is_oracle_general(head: bytes, size: int) -> bool:
    """Return whether a file of this size that begins with `head` has requests in it: their next ones are proof."""
    count = len(head) // REQUEST.itemsize
    if count < 2 or size % REQUEST.itemsize:
        return False
    requests = np.frombuffer(head, REQUEST, count)
    following = requests["next"].astype(np.int64)
    ordered = bool((requests["time"][1:] >= requests["time"][:-1]).all())
    return ordered and bool(_behind(following, 0).all()) and _is_proven(requests["id"], following)


def _behind(following: Any, start: int) -> Flags:
    """Return which next requests, of those from `start` on, are later ones, or will never be."""
    later = (following > start + np.arange(len(following))) & (following < MOST)
    return np.asarray(later | _never(following))


def _never(following: Any) -> Flags:
    return np.asarray((following == -1) | (following == -2) | (following >= NEVER))


def _is_proven(ids: Any, following: Ints) -> bool:
    """Return whether all next requests among these are for the same object, numbered from 0 or, as usual, from 1.

    There must be one at least, unless none of the requests has a next one.
    """
    if not ((following > 0) & (following < len(ids))).any():
        return bool(_never(following).all())
    for base in (0, 1):
        places = np.flatnonzero((following > 0) & (following - base < len(ids)))
        if np.array_equal(ids[places], ids[following[places] - base]):
            return True
    return False


def _check(name: str, requests: Any, watch: Watch) -> None:
    """Raise BadFile with the first request whose next one cannot be."""
    for low in range(0, len(requests), ROWS):
        part = requests[low : low + ROWS]
        behind = _behind(part["next"], low)
        touched(part.nbytes)
        if not behind.all():
            row = low + int(behind.argmin())
            following = int(requests["next"][row])
            follows = f"request {figures.count(row + 1)} has number {figures.count(following)} for its object's next one"
            where = f"{name}: {follows}, which is not behind it"
            raise BadFile(f"{where}; the file is damaged, or no oracleGeneral: time, id, size, next request in 24 bytes each.")
        watch(low / len(requests), f"checking {name}")


def text_of(head: bytes) -> Text | None:
    """Return where the ids stand in a text that begins so, None for one that is no trace of requests."""
    try:
        text = head[: -3 if len(head) >= HEAD else None].decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    rows = first_rows(head, len(head) < HEAD)
    if not rows.rows or text.lstrip()[:1] in ("{", "[", "<") or not text.translate(SPACES).isprintable():
        return None
    column = (0 if _is_one_id(rows) else None) if rows.width == 1 else _column(rows)
    if column is None or rows.even < 1:
        return None
    numbers = all(_is_number(row[column]) for row in rows.rows)
    return Text(column, rows.width, rows.delimiter, bool(rows.header), numbers)


def _is_one_id(rows: FirstRows) -> bool:
    """Return whether lines of one cell are ids: whole numbers, perhaps below a name, or words that come back."""
    ids = [row[0] for row in rows.rows]
    if all(map(_is_number, ids)):
        return not rows.header or _plain(rows.header[0]).endswith("id") or _plain(rows.header[0]) in IDS
    return not rows.header and len(set(ids)) < len(ids) and all(TOKEN.fullmatch(word) and "::" not in word for word in ids)


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower())


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.isdigit() and len(cell) <= 20 and int(cell) < 2**64


def _column(rows: FirstRows) -> int | None:
    """Return the column of ids: named so beside a time and a size, or without a header proven by the numbers of next requests."""
    names = [_plain(name) for name in rows.header]
    if not {*names}.isdisjoint(TIMES) and not {*names}.isdisjoint(SIZES) and {*names} <= KNOWN:
        return next((names.index(name) for name in IDS if name in names), None)
    return 1 if not names and rows.width == 4 and _is_converted(rows.rows) else None


def _is_converted(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are time, id, size and next request, as libCacheSim's converter writes them."""
    if not all(cell.removeprefix("-").isdecimal() and len(cell) < 20 for row in rows for cell in (row[0], row[2], row[3])):
        return False
    times, following = (np.array([int(row[column]) for row in rows], dtype=np.int64) for column in (0, 3))
    ordered, behind = bool((np.diff(times) >= 0).all()), bool(_behind(following, 0).all())
    return ordered and behind and _is_proven(np.array([row[1] for row in rows]), following)


def _ids_of_text(path: Path, name: str, text: Text, watch: Watch) -> Any:
    """Return the ids of a text: whole numbers as they are, others by their hash; in memory, or beyond a bound mapped."""
    held = Samples([np.zeros(0, np.uint64)])
    with opened(path) as file:
        blocks = Blocks(name, file, path.stat().st_size, watch=watch)
        try:
            for number, block in enumerate(blocks):
                skipped = number == 0 and text.header
                rows = block.partition(b"\n")[2] if skipped else block
                if rows.strip():
                    held.add(_tokens(name, rows, blocks.line + skipped, text))
            return held.whole(watch)[0]
        except MemoryError as error:
            raise too_large(name) from error


def _tokens(name: str, rows: bytes, line: int, text: Text) -> Words:
    """Return the ids of a block of lines that begins at `line`; raises BadFile with the line of what is none."""
    import pyarrow  # late: Arrow takes a third of a second
    from pyarrow import csv

    from ..ids import tokens

    names = [str(column) for column in range(text.columns)]
    wanted = pyarrow.uint64() if text.numbers else pyarrow.string()
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(rows),
            csv.ReadOptions(use_threads=False, block_size=len(rows) + 1, column_names=names),
            csv.ParseOptions(delimiter=text.delimiter or "\x1f", quote_char=False),
            csv.ConvertOptions(
                column_types={names[text.column]: wanted}, include_columns=[names[text.column]], strings_can_be_null=False
            ),
        )
    except pyarrow.ArrowInvalid as error:
        raise _no_request(name, rows, line, text) from error
    column = table[0].combine_chunks()
    return tokens(column, lambda row: f"{name}: request {row + 1}")


def _no_request(name: str, rows: bytes, line: int, text: Text) -> BadFile:
    """Return the refusal of the first line that has no id, or other columns than those before it."""
    for number, row in enumerate(rows.decode("utf-8", "replace").split("\n"), line):
        cells = row.rstrip("\r").split(text.delimiter) if text.columns > 1 else [row.strip()]
        if row.strip() and len(cells) != text.columns:
            return BadFile(f"{name}:{number}: the line has {len(cells)} columns, but {text.columns} are expected; mend it.")
        if row.strip() and text.numbers and not _is_number(cells[text.column].strip()):
            return BadFile(f"{name}:{number}: the id {cells[text.column][:40]!r} is no whole number, as those before; mend it.")
    return BadFile(f"{name}:{line}: the text has no ids of requests; mend it.")
