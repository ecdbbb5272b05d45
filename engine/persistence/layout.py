"""The layout of the medium: superblock, table rows, two row-log slots, three MLP-log slots."""

from dataclasses import dataclass
from functools import cached_property

from .media import LINE, WORD

DATA = 4096  # the table starts on a page of its own
ROW_SLOTS = 2  # the log being written and the one kept until it is complete
MLP_SLOTS = 3  # a log may start while the one before it still waits for its flag
ROW_ID = 8  # bytes of a row number in a row log


@dataclass(frozen=True, slots=True)
class Slot:
    """Room for one log record: a header line, which is its flag, and `capacity` bytes of payload."""

    header: int
    capacity: int

    @property
    def payload(self) -> int:
        """Address of the first payload byte."""
        return self.header + LINE

    @property
    def stop(self) -> int:
        """First address behind the slot, on a line border."""
        return _round(self.payload + self.capacity, LINE)


@dataclass(frozen=True)
class MediumLayout:
    """The map of one medium, for a table of `num_rows` rows; sizes in bytes, optimizer state included.

    `max_log_rows` is the largest number of rows that one batch touches. Rows start on word borders, so that no atomic word
    ever holds pieces of two rows. With `row_checksums` one word follows the values of each row, at home and in the logs.
    """

    num_rows: int
    row_bytes: int
    mlp_bytes: int
    max_log_rows: int
    row_checksums: bool = False

    @cached_property
    def stored_bytes(self) -> int:
        """Bytes of a row as it is stored: its values and, if rows have one, their checksum."""
        return self.row_bytes + (WORD if self.row_checksums else 0)

    @cached_property
    def row_stride(self) -> int:
        """Distance between the first bytes of two neighbouring rows."""
        return _round(self.stored_bytes, WORD)

    @cached_property
    def entry_bytes(self) -> int:
        """Bytes that one row takes in a row log: its number and its values."""
        return ROW_ID + self.stored_bytes

    @cached_property
    def row_slots(self) -> tuple[Slot, ...]:
        """Slots of the embedding log."""
        start = _round(DATA + self.num_rows * self.row_stride, LINE)
        return _slots(start, self.max_log_rows * self.entry_bytes, ROW_SLOTS)

    @cached_property
    def mlp_slots(self) -> tuple[Slot, ...]:
        """Slots of the MLP log."""
        return _slots(self.row_slots[-1].stop, self.mlp_bytes, MLP_SLOTS)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Every slot of the log region."""
        return self.row_slots + self.mlp_slots

    @property
    def nbytes(self) -> int:
        """Size of the medium that the layout needs."""
        return self.mlp_slots[-1].stop

    def row(self, row: int) -> int:
        """Return the address of a table row."""
        return DATA + row * self.row_stride


def _slots(start: int, capacity: int, count: int) -> tuple[Slot, ...]:
    size = Slot(0, capacity).stop
    return tuple(Slot(start + index * size, capacity) for index in range(count))


def _round(nbytes: int, unit: int) -> int:
    return -(-nbytes // unit) * unit
