"""The territory of each family: a map of winners over two axes, coarse first, then finer at its borders.

Every fourth cell is answered first. A cell between known ones of one family is taken to be theirs; between different ones it
is answered itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....errors import EmberpoolError
from ..decide import VerdictQuestion
from .axes import AXES
from .shortlist import NOBODY, Settings, Winner, winner

STRIDES = (4, 2, 1)
Place = tuple[int, int]  # column and row


@dataclass(frozen=True)
class Cell:
    """A cell of a map: the winner, and whether it was answered itself or lies between cells of one family."""

    winner: Winner
    answered: bool


@dataclass(frozen=True)
class Territory:
    """A map over two axes by name: its known cells by column and row, and which share of all cells is known."""

    across: str
    up: str
    cells: dict[Place, Cell]
    share: float

    @property
    def whole(self) -> bool:
        """Whether every cell is known."""
        return len(self.cells) == len(AXES[self.across].values) * len(AXES[self.up].values)


def territory(question: VerdictQuestion, settings: Settings, across: str = "size", up: str = "lookups") -> Iterator[Territory]:
    """Yield a map as it grows, the last of them whole."""
    columns, rows = len(AXES[across].values), len(AXES[up].values)
    cells: dict[Place, Cell] = {}
    for number, stride in enumerate(STRIDES):
        for place in _places(columns, rows, stride):
            if place not in cells:
                near = _around(cells, place, stride, columns, rows) if number else []
                alike = len({cell.winner.family for cell in near}) == 1 and bool(near)
                found = near[0].winner if alike else answered(question, settings, across, up, place)
                cells[place] = Cell(found, not alike)
        yield Territory(across, up, dict(cells), (number + 1) / len(STRIDES))


def answered(question: VerdictQuestion, settings: Settings, across: str, up: str, place: Place) -> Winner:
    """Return who wins at a place; nobody where no scenario can be there."""
    scenario = question.base
    scaled: tuple[tuple[str, float], ...] = ()
    try:
        for name, index in sorted(zip((across, up), place, strict=True), key=lambda each: each[0] != "lookups"):
            axis = AXES[name]
            scenario, more = axis.at(scenario, axis.values[index])
            scaled += more
        return winner(replace(question, scenario=scenario), settings, scaled)
    except EmberpoolError:
        return NOBODY


def _places(columns: int, rows: int, stride: int) -> list[Place]:
    """Return the places of a grid of a stride, its last column and row always."""
    across, up = (sorted({*range(0, count, stride), count - 1}) for count in (columns, rows))
    return [(column, row) for column in across for row in up]


def _around(cells: dict[Place, Cell], place: Place, stride: int, columns: int, rows: int) -> list[Cell]:
    """Return the known cells next to a place that lie around it."""
    column, row = place
    near = ((column + x, row + y) for x in (-stride, 0, stride) for y in (-stride, 0, stride) if x or y)
    return [cells[one] for one in near if one in cells]
