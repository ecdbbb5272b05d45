"""Reads libCacheSim's traces of requests to a cache.

A trace is one table without labels; each request is one lookup.

The format oracleGeneral is mapped from disk. It has 24 bytes per request, little-endian: time, object id, size, and the number of
the next request for the same object. The text format has one id per line, or a table with a column of ids. Both are recognised by
their content.
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
from ....paths import open_regular, short_path
from .. import conversions
from ..blocks import GZIP, Blocks, decoded_head
from ..foreign import foreign_refusal
from ..mapped import count_touched, map_array
from ..mapping import place
from ..samples import Samples, Watch, too_large_refusal, unwatched
from ..sniffing import FirstRows, first_rows

REQUEST = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
NO_NEXT_REQUEST = 2**62  # a next request from this number on, or of -1 or -2, means that the object is never requested again
MAX_REQUESTS = 2**44  # requests of a trace
HEAD = 1 << 16  # first bytes that recognition reads
TRACE_NAME = re.compile(r"oracleGeneral(\.bin)?(\.gz)?$", re.IGNORECASE)
IDS = "obj_id", "object_id", "objid", "objectid", "obj", "object", "oid", "lbn", "lba", "key", "anonymized_key"
TIMES = "time", "timestamp", "ts", "real_time", "clock_time", "vtime"
SIZES = "size", "obj_size", "object_size", "objsize", "len", "length", "value_size", "key_size"
OTHER_COLUMNS = (
    "version op operation op_name type ttl next next_access next_access_vtime ns client client_id tenant tenant_id cost hit "
    "latency response_time host hostname disk volume"
)
KNOWN_COLUMNS = {*IDS, *TIMES, *SIZES, *OTHER_COLUMNS.split()}  # a table with any other column is no trace of requests
TOKEN = re.compile(r"[^\s\"'{}<>\[\]]{1,250}")
SPACES = dict.fromkeys((*range(9, 14), 1))  # characters between cells and lines
ROWS = 1 << 20  # requests that are checked together


@dataclass(frozen=True, slots=True, eq=False)
class RequestTrace:
    """A trace of requests to a cache.

    name: the name of the file.
    format: the name of the format.
    ids: the id of each request's object, spread over 64 bits, (N,).
    """

    name: str
    format: str
    ids: Any

    hashed = True  # ids are no rows' numbers
    tables = 1
    order = "requests in their order"

    @property
    def samples(self) -> int:
        """The number of requests."""
        return len(self.ids)

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return the ids of the requests `low` to `high` - 1."""
        request_ids: Words = np.ascontiguousarray(self.ids[low:high], dtype=np.uint64)
        count_touched((high - low) * abs(self.ids.strides[0]))
        return request_ids

    def bag_lengths(self, table: int) -> Ints | int:
        """Return 1, since each request is for one object."""
        return 1


class IdPlace(NamedTuple):
    """The place of the ids in a text.

    column: the number of the column of ids.
    columns: the number of columns.
    delimiter: the character between cells; "" if each line is one cell.
    header: True if the first line is a header.
    numbers: True if ids are whole numbers.
    """

    column: int
    columns: int
    delimiter: str
    header: bool
    numbers: bool


def is_trace(path: Path) -> bool:
    """Return whether a file is a trace of requests, by its name or content.

    A text with a mapping is a table, not a trace.
    """
    if TRACE_NAME.search(path.name):
        return True
    head, packed, size = _head(path)
    return (not packed and is_oracle_general(head, size)) or (place(path) is None and id_place(head) is not None)


def read_requests(path: Path, watch: Watch = unwatched) -> RequestTrace:
    """Return the trace of requests in a file; raises BadFile."""
    name = short_path(path.name)
    head, packed, size = _head(path)
    if not (TRACE_NAME.search(path.name) or is_oracle_general(head, size)) and (text := id_place(head)):
        return RequestTrace(name, "libCacheSim's text", _ids_of_text(path, name, text, watch))
    if packed:
        raise foreign_refusal(name, "libCacheSim's oracleGeneral in gzip, which cannot be mapped", conversions.GUNZIP)
    if not size or size % REQUEST.itemsize:
        raise BadFile(
            f"{name} has {figures.count(size, 'byte')}, which is not a multiple of the "
            f"{figures.count(REQUEST.itemsize, 'byte')} of an "
            "oracleGeneral request; copy it again."
        )
    requests = map_array(path, REQUEST, 0, size // REQUEST.itemsize)
    _check(name, requests, watch)
    return RequestTrace(name, "libCacheSim's oracleGeneral", requests["id"])


def _head(path: Path) -> tuple[bytes, bool, int]:
    """Return a file's first bytes, unpacked if gzipped, whether it is gzipped, and its size.

    Raises BadFile.
    """
    with open_regular(path) as file:
        head, size = file.read(HEAD), path.stat().st_size
    if not head.startswith(GZIP):
        return head, False, size
    try:
        return zlib.decompressobj(31).decompress(head, HEAD), True, size
    except zlib.error:
        return b"", True, size


def is_oracle_general(head: bytes, size: int) -> bool:
    """Return whether a file has the format oracleGeneral.

    `head` are its first bytes, `size` its size. The numbers of next requests must fit together.
    """
    count = len(head) // REQUEST.itemsize
    if count < 2 or size % REQUEST.itemsize:
        return False
    requests = np.frombuffer(head, REQUEST, count)
    following = requests["next"].astype(np.int64)
    ordered = bool((requests["time"][1:] >= requests["time"][:-1]).all())
    return ordered and bool(_is_later(following, 0).all()) and _is_proven(requests["id"], following)


def _is_later(following: Any, start: int) -> Flags:
    """Return flags of next requests, from request `start` on, that are later or never come."""
    is_later_request = (following > start + np.arange(len(following))) & (following < MAX_REQUESTS)
    return np.asarray(is_later_request | _is_last(following))


def _is_last(following: Any) -> Flags:
    return np.asarray((following == -1) | (following == -2) | (following >= NO_NEXT_REQUEST))


def _is_proven(ids: Any, following: Ints) -> bool:
    """Return whether all next requests among these are for the same object, numbered from 0 or 1.

    At least one next request must be among these, unless none of the requests has a next one.
    """
    if not ((following > 0) & (following < len(ids))).any():
        return bool(_is_last(following).all())
    for base in (0, 1):
        places = np.flatnonzero((following > 0) & (following - base < len(ids)))
        if np.array_equal(ids[places], ids[following[places] - base]):
            return True
    return False


def _check(name: str, requests: Any, watch: Watch) -> None:
    """Raise BadFile with the first request whose next request is no later request."""
    for low in range(0, len(requests), ROWS):
        part = requests[low : low + ROWS]
        is_later = _is_later(part["next"], low)
        count_touched(part.nbytes)
        if not is_later.all():
            row = low + int(is_later.argmin())
            following = int(requests["next"][row])
            follows = f"has number {figures.in_groups(following)} for the next request of its object, which does not come later"
            raise BadFile(
                f"{name}: request {figures.count(row + 1)} {follows}; the file is damaged or not an oracleGeneral trace, which "
                "has time, id, size and next request in 24 bytes each."
            )
        watch(low / len(requests), f"checking {name}")


def id_place(head: bytes) -> IdPlace | None:
    """Return the place of the ids in a text, or None if it has none.

    `head` are the first bytes of the text. A text without such a place is no trace.
    """
    try:
        text = decoded_head(head, len(head) < HEAD).removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None
    rows = first_rows(head, len(head) < HEAD)
    if not rows.rows or text.lstrip()[:1] in ("{", "[", "<") or not text.translate(SPACES).isprintable():
        return None
    column = (0 if _is_one_id(rows) else None) if rows.width == 1 else _column(rows)
    if column is None or rows.even_share < 1:
        return None
    numbers = all(_is_number(row[column]) for row in rows.rows)
    return IdPlace(column, rows.width, rows.delimiter, bool(rows.header), numbers)


def _is_one_id(rows: FirstRows) -> bool:
    """Return whether lines of one cell are ids.

    Ids are whole numbers, perhaps below a name, or words with repeats.
    """
    ids = [row[0] for row in rows.rows]
    if all(map(_is_number, ids)):
        return not rows.header or _plain_name(rows.header[0]).endswith("id") or _plain_name(rows.header[0]) in IDS
    return not rows.header and len(set(ids)) < len(ids) and all(TOKEN.fullmatch(word) and "::" not in word for word in ids)


def _plain_name(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower())


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.isdigit() and len(cell) <= 20 and int(cell) < 2**64


def _is_signed_number(cell: str) -> bool:
    return cell.removeprefix("-").isdecimal() and len(cell) <= 20 and -(2**63) <= int(cell) < 2**63


def _column(rows: FirstRows) -> int | None:
    """Return the number of the column of ids, or None.

    The header names a column of ids, a time and a size; without a header the numbers of next requests are proof.
    """
    names = [_plain_name(name) for name in rows.header]
    if not {*names}.isdisjoint(TIMES) and not {*names}.isdisjoint(SIZES) and {*names} <= KNOWN_COLUMNS:
        return next((names.index(name) for name in IDS if name in names), None)
    return 1 if not names and rows.width == 4 and _is_converted(rows.rows) else None


def _is_converted(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are time, id, size and next request, as libCacheSim's converter writes rows."""
    if not all(_is_signed_number(cell) for row in rows for cell in (row[0], row[2], row[3])):
        return False
    times, following = (np.array([int(row[column]) for row in rows], dtype=np.int64) for column in (0, 3))
    ordered, is_later = bool((np.diff(times) >= 0).all()), bool(_is_later(following, 0).all())
    return ordered and is_later and _is_proven(np.array([row[1] for row in rows]), following)


def _ids_of_text(path: Path, name: str, text: IdPlace, watch: Watch) -> Any:
    """Return the ids of a text: whole numbers unchanged, other ids by their hash.

    The ids are in memory, or beyond a bound mapped.
    """
    samples = Samples([np.zeros(0, np.uint64)])
    with open_regular(path) as file:
        blocks = Blocks(name, file, path.stat().st_size, watch=watch)
        try:
            for number, block in enumerate(blocks):
                skipped = number == 0 and text.header
                rows = block.partition(b"\n")[2] if skipped else block
                if rows.strip():
                    samples.add(_tokens(name, rows, blocks.line + skipped, text))
            return samples.finish(watch)[0]
        except MemoryError as error:
            raise too_large_refusal(name) from error


def _tokens(name: str, rows: bytes, line: int, text: IdPlace) -> Words:
    """Return the ids of a block of lines that begins at `line`.

    Raises BadFile with the line of a bad id.
    """
    import pyarrow  # late: Arrow takes a third of a second
    from pyarrow import csv

    from ..ids import id_tokens

    names = [str(column) for column in range(text.columns)]
    id_type = pyarrow.uint64() if text.numbers else pyarrow.string()
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(rows),
            csv.ReadOptions(use_threads=False, block_size=len(rows) + 1, column_names=names),
            csv.ParseOptions(delimiter=text.delimiter or "\x1f", quote_char=False),
            csv.ConvertOptions(
                column_types={names[text.column]: id_type}, include_columns=[names[text.column]], strings_can_be_null=False
            ),
        )
    except pyarrow.ArrowInvalid as error:
        raise _no_request(name, rows, line, text) from error
    column = table[0].combine_chunks()
    return id_tokens(column, lambda row: f"{name}: request {row + 1}")


def _no_request(name: str, rows: bytes, line: int, text: IdPlace) -> BadFile:
    """Return the refusal of the first line without an id, or with another number of columns."""
    for number, row in enumerate(rows.decode("utf-8", "replace").split("\n"), line):
        cells = row.rstrip("\r").split(text.delimiter) if text.columns > 1 else [row.strip()]
        if row.strip() and len(cells) != text.columns:
            return BadFile(
                f"{name}:{number}: the line has {figures.count(len(cells), 'column')}, but {text.columns} are "
                "expected; correct it."
            )
        if row.strip() and text.numbers and not _is_number(cells[text.column].strip()):
            return BadFile(
                f"{name}:{number}: the id {cells[text.column][:40]!r} is not a whole number, as the ids before it are; correct "
                "it."
            )
    return BadFile(f"{name}:{line}: the text has no ids of requests; correct it.")
