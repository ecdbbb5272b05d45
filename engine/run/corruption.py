"""Memory corruption: poisoned lines and flipped bits in the medium's bytes."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from ..core.arrays import Bytes, Ints
from ..core.row_sizes import mean_bytes
from ..faults.fault import Strike, random_generator
from ..persistence.crash_media import CrashMedia
from ..persistence.layout import MediumLayout
from ..persistence.logs import LOGS
from ..persistence.media import LINE, WORD
from ..persistence.records import read_record
from ..persistence.recovery import intact_records
from ..scenario.scenario import Scenario
from ..systems.traffic import INDEX_BYTES, table_bytes
from .outage import Outage
from .segment import Flip

Bit = tuple[int, int, int]  # of a table: row, byte, and the byte's bit as a number from 1 to 128
DamagePlace = Literal["logged row", "other row", "row log", "mlp log"]


@dataclass(frozen=True)
class Damage:
    """The place of a lost line or flipped bit, at any table size.

    where: the region of the medium.
    turn: for a log's line, a number that selects the log slot.
    seed, stream: the random stream that selects one of several equal rows.
    flip: True if a bit of a row flips, False if a line is lost.
    """

    where: DamagePlace
    turn: int
    seed: int
    stream: str
    flip: bool = False

    @property
    def rng(self) -> np.random.Generator:
        """The random generator that selects one of several equal rows."""
        return random_generator(self.seed, self.stream)


def damage_of(scenario: Scenario, strike: Strike, outage: Outage) -> Damage:
    """Return the line that a media error takes, at the place that the knob names.

    The place "anywhere" is drawn by the sizes of the full tables and logs. A flipped bit that a row's checksum has noticed is
    in the table.
    """
    recovery, stream = outage.recovery, f"place of {strike.fault} at {strike.at!r}"
    rng = random_generator(scenario.faults.seed, stream)
    sizes = {
        "table": float(table_bytes(scenario)),
        "row log": 2 * recovery.rows * (mean_bytes(recovery.row_bytes) + INDEX_BYTES),
        "mlp log": 3.0 * recovery.mlp_bytes,
    }
    shares = np.array(list(sizes.values())) / sum(sizes.values())
    drawn_place = list(sizes)[int(np.searchsorted(np.cumsum(shares)[:-1], rng.random(), side="right"))]
    knob_place = scenario.faults.media_error_where if "line" in strike.kind.destroys else "table"
    place = drawn_place if knob_place == "anywhere" else knob_place
    if place == "table":
        place = "logged row" if rng.random() < recovery.rows * mean_bytes(recovery.row_bytes) / sizes["table"] else "other row"
    if place == "logged row" and not recovery.rows:
        place = "other row"
    return Damage(place, int(rng.integers(6)), scenario.faults.seed, stream, "bits" in strike.kind.destroys)  # type: ignore[arg-type]


def poison(media: CrashMedia, layout: MediumLayout, damage: Damage, logged: Ints) -> None:
    """Lose the line.

    In a logged row the line lies wholly in the row, if any logged row holds a whole line.
    """
    if damage.where == "row log":
        return media.poison(layout.row_slots[damage.turn % len(layout.row_slots)].payload)
    if damage.where == "mlp log":
        return media.poison(layout.mlp_slots[damage.turn % len(layout.mlp_slots)].payload)
    rows = logged if damage.where == "logged row" else np.setdiff1d(np.arange(layout.num_rows), logged)
    if damage.flip:
        return _flip(media, layout.row(int(damage.rng.choice(rows if len(rows) else [layout.num_rows - 1]))), 1)
    addresses, nbytes = layout.places(rows)
    ends = addresses + nbytes - WORD * layout.row_checksums  # of values
    rows_with_line = rows[-(-addresses // LINE) * LINE + LINE <= ends]
    address = layout.row(
        int(damage.rng.choice(rows_with_line if len(rows_with_line) else rows if len(rows) else [layout.num_rows - 1]))
    )
    media.poison(-(-address // LINE) * LINE if len(rows_with_line) else address)


def flip_log(media: CrashMedia, layout: MediumLayout, log: str, flip: Flip, seed: int) -> None:
    """Flip a bit in the newest row log that holds rows, if there is one."""
    records = [
        record
        for record in intact_records(map(partial(read_record, media), layout.row_slots), (LOGS[log].kind,))
        if record.payload
    ]
    if records:
        newest, rng = records[-1], random_generator(seed, f"bit of {flip.at!r}")
        address = newest.slot.payload + int(rng.integers(len(newest.payload)))
        _flip(media, address, 1 << int(rng.integers(8)))


def _flip(media: CrashMedia, address: int, bit: int) -> None:
    media.durable[address] ^= np.uint8(bit)
    media.volatile[address] ^= np.uint8(bit)


def with_flipped_bits(layout: MediumLayout, table: Bytes, bits: Iterable[Bit]) -> Bytes:
    """Return the table with these bits inverted.

    This is the table as written, if the bits have flipped.
    """
    flipped_table = table.copy() if bits else table
    for row, byte, bit in bits:
        flipped_table.reshape(-1)[layout.value_slice(row)][byte] ^= np.uint8(bit)
    return flipped_table


def keep_flipped(
    media: CrashMedia, layout: MediumLayout, written_table: Bytes, flipped_table: Bytes, bits: Iterable[Bit]
) -> None:
    """Give rows not written since the flip their flipped bits again.

    The table's digest does not change.
    """
    for row in {row for row, _, _ in bits}:
        values, address = layout.value_slice(row), layout.row(row)
        home = slice(address, address + values.stop - values.start)
        if np.array_equal(media.durable[home], written_table.reshape(-1)[values]):
            media.durable[home] = media.volatile[home] = flipped_table.reshape(-1)[values]
