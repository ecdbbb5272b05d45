"""The content of the medium as docs/persistence.md states it, byte for byte.

Addresses, digests and flags are computed here from the reference run's arrays alone.
"""

import struct
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LINE, WORD, PAGE = 64, 8, 4096
HEALTH, HANDLED = PAGE - LINE, 48  # addresses of the count of dirty shutdowns, and of the count handled so far
SIGNATURE, MAGIC = b"emberv2\0", int.from_bytes(b"emberlog", "little")
MASK, KEY = 0xA5C35A3C96E169F0, 0x656D626572706F6F
UNDO, REDO, MLP, ROWS_CHECKPOINT, MLP_CHECKPOINT = range(1, 6)
NO_LINES: frozenset[int] = frozenset()


class StatedSlot(NamedTuple):
    """A log slot.

    header: the address of its header line.
    capacity: the payload bytes that fit behind the header.
    """

    header: int
    capacity: int


@dataclass(frozen=True)
class StatedRecord:
    """An intact record on the medium.

    slot: the slot of the record.
    kind: a number from UNDO to MLP_CHECKPOINT.
    batch: the batch at which training resumes.
    stamp: the reader's position, two seeds, and the table's digest.
    payload: the payload bytes.
    """

    slot: StatedSlot
    kind: int
    batch: int
    stamp: tuple[int, int, int, int]
    payload: bytes


class StatedMedium:
    """The stated addresses and contents of a reference run's medium.

    spans: pairs (number of rows, bytes of a row), in the order of the rows.
    mixed: True if rows differ in size.
    mlp_bytes: the bytes of the MLP.
    batches: the numbers of the rows that each batch changes.
    checked: True if each row's checksum follows its values.
    """

    def __init__(
        self, spans: Sequence[tuple[int, int]], mixed: bool, mlp_bytes: int, batches: Sequence[NDArray[Any]], checked: bool
    ) -> None:
        self.spans, self.checked = tuple(spans), checked
        sizes = np.repeat([nbytes for _, nbytes in spans], [rows for rows, _ in spans])
        self.stored_bytes = sizes + WORD * checked
        strides = -(-self.stored_bytes // WORD) * WORD
        self.row_starts = PAGE + np.cumsum(strides) - strides
        self.table_stop = PAGE + int(strides.sum())
        most_rows = max([1, *map(len, batches)])
        entries = max(int((self.stored_bytes[rows] + WORD).sum()) for rows in batches)
        capacity = entries if mixed else most_rows * (WORD + int(self.stored_bytes[0]))
        slots = tuple(_slots(-(-self.table_stop // LINE) * LINE, [capacity] * 2 + [mlp_bytes] * 3))
        self.row_slots, self.mlp_slots = slots[:2], slots[2:]
        self.nbytes = _stop(slots[-1])
        size_word = int(spans[0][1])
        if mixed:
            size_words = np.array([*spans, (capacity, 0)], "<u8").tobytes()
            size_word = int.from_bytes(blake2b(size_words, digest_size=8).digest(), "little") | 1 << 63
        self.superblock = SIGNATURE + struct.pack("<5Q", len(sizes), size_word, mlp_bytes, most_rows, checked)

    def table(self, values: NDArray[np.uint8]) -> tuple[bytes, int]:
        """Return (bytes of the table's region, the table's digest).

        `values` are all rows' bytes, row after row.
        """
        region, digest, start, word = bytearray(), 0, 0, 0
        for rows, nbytes in self.spans:
            part, words = values[start : start + rows * nbytes].reshape(rows, nbytes), -(-nbytes // WORD)
            sums = row_sums(part, word)
            stored = np.zeros((rows, -(-(nbytes + WORD * self.checked) // WORD) * WORD), np.uint8)
            stored[:, :nbytes] = part
            if self.checked:
                stored[:, nbytes : nbytes + WORD] = sums.astype("<u8").view(np.uint8).reshape(rows, WORD)
            region += stored.tobytes()
            digest += int(sums.sum(dtype=np.uint64))
            start, word = start + rows * nbytes, word + rows * words
        return bytes(region), digest % 2**64

    def values(self, region: bytes) -> NDArray[np.uint8]:
        """Return all rows' values, row after row, from the bytes of the table's region."""
        stored, parts, start = np.frombuffer(region, np.uint8), [], 0
        for rows, nbytes in self.spans:
            stride = -(-(nbytes + WORD * self.checked) // WORD) * WORD
            part = stored[start : start + rows * stride].reshape(rows, stride)
            parts.append(part[:, :nbytes].reshape(-1))
            start += rows * stride
        return np.concatenate(parts)

    def stored_row(self, region: bytes, row: int) -> bytes:
        """Return a row's stored bytes from the bytes of the table's region."""
        start = int(self.row_starts[row]) - PAGE
        return region[start : start + int(self.stored_bytes[row])]

    def same_rows(self, region: bytes, other_region: bytes) -> bool:
        """Return whether two images of the table's region have the same stored rows.

        The bytes between the rows do not matter.
        """
        rows = range(len(self.stored_bytes)) if region != other_region else ()
        return all(self.stored_row(region, row) == self.stored_row(other_region, row) for row in rows)

    def record(self, image: bytes | bytearray, slot: StatedSlot, lost: Container[int] = NO_LINES) -> StatedRecord | None:
        """Return the record in a slot, or None without an intact one.

        `lost` are the numbers of lost lines.
        """
        header = image[slot.header : slot.header + LINE]
        if slot.header // LINE in lost:
            return None
        *masked_fields, check = struct.unpack("<8Q", header)
        magic, batch, kind_and_size, *stamp = (word ^ MASK for word in masked_fields)
        kind, nbytes, start = kind_and_size >> 56, kind_and_size % 2**56, slot.header + LINE
        if magic != MAGIC or not UNDO <= kind <= MLP_CHECKPOINT or nbytes > slot.capacity:
            return None
        payload = bytes(image[start : start + nbytes])
        is_lost = any(line in lost for line in range(start // LINE, -(-(start + nbytes) // LINE)))
        if is_lost or check_word(payload, bytes(header[:56])) != check:
            return None
        return StatedRecord(slot, kind, batch, (stamp[0], stamp[1], stamp[2], stamp[3]), payload)

    def records(self, image: bytes | bytearray, lost: Container[int] = NO_LINES) -> tuple[list[StatedRecord], list[StatedSlot]]:
        """Return (the intact records, the damaged slots).

        A damaged slot has a complete or lost flag, but no intact record.
        """
        records, damaged = [], []
        for slot in self.row_slots + self.mlp_slots:
            if record := self.record(image, slot, lost):
                records.append(record)
            elif slot.header // LINE in lost or all(struct.unpack_from("<8Q", image, slot.header)):
                damaged.append(slot)
        return records, damaged

    def logged_rows(self, payload: bytes) -> list[tuple[int, bytes]]:
        """Return pairs (row, stored bytes) of a row log's payload.

        The list is empty if the sizes do not fit.
        """
        rows, nbytes = list[int](), 0
        while nbytes < len(payload):
            row = int.from_bytes(payload[WORD * len(rows) : WORD * (len(rows) + 1)], "little")
            if row >= len(self.stored_bytes):
                return []
            rows.append(row)
            nbytes += WORD + int(self.stored_bytes[row])
        ends = WORD * len(rows) + np.cumsum([0, *(int(self.stored_bytes[row]) for row in rows)])
        return [(row, payload[ends[n] : ends[n + 1]]) for n, row in enumerate(rows)] if nbytes == len(payload) else []

    def rows_payload(self, region: bytes, rows: NDArray[Any]) -> bytes:
        """Return the payload of a row log: all row numbers, then the rows' stored bytes."""
        return rows.astype("<i8").tobytes() + b"".join(self.stored_row(region, row) for row in rows.tolist())


def flag(kind: int, batch: int, stamp: tuple[int, int, int, int], payload: bytes) -> bytes:
    """Return the header line of a record."""
    fields = struct.pack("<7Q", *(word ^ MASK for word in (MAGIC, batch, kind << 56 | len(payload), *stamp)))
    return fields + struct.pack("<Q", check_word(payload, fields))


def check_word(payload: bytes, fields: bytes) -> int:
    """Return the checksum of a record.

    It is 64-bit BLAKE2b over the payload and the seven fields before.
    """
    return int.from_bytes(blake2b(payload + fields, digest_size=8).digest(), "little")


def row_sums(values: NDArray[np.uint8], first_word: int) -> NDArray[np.uint64]:
    """Return each row's checksum, (rows,), of neighbouring rows' values, (rows, bytes of each).

    `first_word` is the number of their first word among all words of the table.
    """
    rows, nbytes = values.shape
    words = -(-nbytes // WORD)
    padded_values = np.zeros((rows, words * WORD), np.uint8)
    padded_values[:, :nbytes] = values
    places = np.arange(rows * words, dtype=np.uint64) + np.uint64((KEY + first_word) % 2**64)
    sums: NDArray[np.uint64] = _mixed(padded_values.view("<u8") + _mixed(places).reshape(rows, words)).sum(1, dtype=np.uint64)
    return sums


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each word after the finaliser of SplitMix64 (Steele et al., OOPSLA 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _slots(start: int, capacities: Sequence[int]) -> Iterator[StatedSlot]:
    for capacity in capacities:
        yield (slot := StatedSlot(start, capacity))
        start = _stop(slot)


def _stop(slot: StatedSlot) -> int:
    return slot.header + LINE + -(-slot.capacity // LINE) * LINE
