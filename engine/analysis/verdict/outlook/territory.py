"""The territory of each family: a map of winners over two axes, coarse first, then finer at its borders.

Every fourth cell is answered first. A cell between known ones of one family is taken to be theirs; between different ones it
is answered itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ....errors import EmberpoolError
from ....scenario.scenario import Scenario
from ....systems.kernels.densest import of_other_tables
from ..candidates import Setting
from ..decide import VerdictQuestion
from ..space import KERNEL
from .axes import AXES
from .shortlist import NOBODY, Settings, Winner, winner

STRIDES = (4, 2, 1)
AT_ONCE = 12  # cells that are answered in one go
USUAL = ("size", "lookups")
Place = tuple[int, int]  # column and row


@dataclass(frozen=True)
class Cell:
    """A cell of a map: the winner, and whether it was answered itself or lies between cells of one family."""

    winner: Winner
    answered: bool


@dataclass(frozen=True, eq=False)
class Territory:
    """A map over two axes by name: its known cells by column and row; equal where the same cells are known."""

    across: str
    up: str
    cells: Mapping[Place, Cell]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Territory) and (self.across, self.up, {*self.cells}) == (other.across, other.up, {*other.cells})

    def __hash__(self) -> int:
        return hash((self.across, self.up, len(self.cells)))

    @property
    def share(self) -> float:
        """Share of all cells that is known, coarse ones counting for those around them."""
        done = sum(all(place in self.cells for place in _places(*self.size, stride)) for stride in STRIDES)
        left = [place for place in _places(*self.size, STRIDES[min(done, len(STRIDES) - 1)]) if place not in self.cells]
        part = 1 - len(left) / len(_places(*self.size, STRIDES[min(done, len(STRIDES) - 1)]))
        return min(1.0, (done + part) / len(STRIDES))

    @property
    def size(self) -> tuple[int, int]:
        """Its columns and rows."""
        return len(AXES[self.across].values), len(AXES[self.up].values)

    @property
    def whole(self) -> bool:
        """Whether every cell is known."""
        columns, rows = self.size
        return len(self.cells) == columns * rows


def further(
    question: VerdictQuestion, settings: Settings, across: str, up: str, known: Territory | None = None, most: int = AT_ONCE
) -> Territory:
    """Return a map with so many more cells answered, and those filled that lie between cells of one family."""
    begun = known or Territory(across, up, {})
    cells, left = dict(begun.cells), most
    for number, stride in enumerate(STRIDES):
        for place in _places(*begun.size, stride):
            if place in cells:
                continue
            near = _around(cells, place, stride) if number else []
            if near and len({cell.winner.family for cell in near}) == 1:
                cells[place] = Cell(near[0].winner, False)
            elif left:
                cells[place], left = Cell(answered(question, settings, across, up, place), True), left - 1
            else:
                return Territory(across, up, cells)
    return Territory(across, up, cells)


def answered(question: VerdictQuestion, settings: Settings, across: str, up: str, place: Place) -> Winner:
    """Return who wins at a place; nobody where no scenario can be there."""
    scenario = question.base
    scaled: tuple[tuple[str, float], ...] = ()
    try:
        for name, index in sorted(zip((across, up), place, strict=True), key=lambda each: each[0] != "lookups"):
            axis = AXES[name]
            scenario, more = axis.at(scenario, axis.values[index])
            scaled += more
        return winner(replace(question, scenario=scenario), _of_other_tables(settings, question.base, scenario), scaled)
    except EmberpoolError:
        return NOBODY


def _of_other_tables(settings: Settings, before: Scenario, now: Scenario) -> Settings:
    """Return settings with kernels for the tables of a scenario, of which there can be fewer than before."""

    def fitted(setting: Setting) -> Setting:
        lists = {knob: of_other_tables(value, before, now) for knob, value in setting if knob == KERNEL and value != "auto"}
        return tuple((knob, lists.get(knob, value)) for knob, value in setting)

    return {system: tuple(map(fitted, some)) for system, some in settings.items()}


def _places(columns: int, rows: int, stride: int) -> list[Place]:
    """Return the places of a grid of a stride, its last column and row always."""
    across, up = (sorted({*range(0, count, stride), count - 1}) for count in (columns, rows))
    return [(column, row) for column in across for row in up]


def _around(cells: Mapping[Place, Cell], place: Place, stride: int) -> list[Cell]:
    """Return the known cells next to a place that lie around it."""
    column, row = place
    near = ((column + x, row + y) for x in (-stride, 0, stride) for y in (-stride, 0, stride) if x or y)
    return [cells[one] for one in near if one in cells]
