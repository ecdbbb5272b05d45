"""The map of winning families over two axes, computed more densely at borders.

Every fourth cell is computed first. A cell between known cells of one family gets that family; a cell between different families
is computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ....errors import EmberpoolError
from ....scenario.scenario import Scenario
from ....systems.kernels.densest import of_other_tables
from ..candidates import Setting
from ..question import VerdictQuestion
from ..space import KERNEL
from .axes import AXES
from .shortlist import NO_WINNER, Settings, Winner, winner

STRIDES = (4, 2, 1)
CELLS_AT_ONCE = 12  # cells that are answered in one go
DEFAULT_AXES = ("size", "lookups")
Place = tuple[int, int]  # column and row


@dataclass(frozen=True)
class Cell:
    """A cell of a map: its winner, and whether it was computed.

    A cell that was not computed (`answered` is False) has its neighbours' winner.
    """

    winner: Winner
    answered: bool


@dataclass(frozen=True, eq=False)
class Territory:
    """A map over two axes: its known cells by column and row.

    column_axis, row_axis: names of the axes. Maps with the same cells are equal.
    """

    column_axis: str
    row_axis: str
    cells: Mapping[Place, Cell]

    def __eq__(self, other_territory: object) -> bool:
        return isinstance(other_territory, Territory) and (self.column_axis, self.row_axis, {*self.cells}) == (
            other_territory.column_axis,
            other_territory.row_axis,
            {*other_territory.cells},
        )

    def __hash__(self) -> int:
        return hash((self.column_axis, self.row_axis, len(self.cells)))

    @property
    def share(self) -> float:
        """Share of the map that is known, from 0 to 1.

        Each round of cells, from coarse to fine, counts equally.
        """
        num_strides = sum(all(place in self.cells for place in _places(*self.size, stride)) for stride in STRIDES)
        open_places = [
            place for place in _places(*self.size, STRIDES[min(num_strides, len(STRIDES) - 1)]) if place not in self.cells
        ]
        part = 1 - len(open_places) / len(_places(*self.size, STRIDES[min(num_strides, len(STRIDES) - 1)]))
        return min(1.0, (num_strides + part) / len(STRIDES))

    @property
    def size(self) -> tuple[int, int]:
        """Number of columns and of rows."""
        return len(AXES[self.column_axis].values), len(AXES[self.row_axis].values)

    @property
    def is_complete(self) -> bool:
        """Whether every cell is known."""
        columns, rows = self.size
        return len(self.cells) == columns * rows


def extend_territory(
    question: VerdictQuestion,
    settings: Settings,
    column_axis: str,
    row_axis: str,
    territory: Territory | None = None,
    most: int = CELLS_AT_ONCE,
) -> Territory:
    """Return a map with up to `most` more cells computed.

    Cells between cells of one family are filled without computing them.
    """
    start_map = territory or Territory(column_axis, row_axis, {})
    cells, budget = dict(start_map.cells), most
    for number, stride in enumerate(STRIDES):
        for place in _places(*start_map.size, stride):
            if place in cells:
                continue
            neighbours = _neighbours(cells, place, stride) if number else []
            if neighbours and len({cell.winner.family for cell in neighbours}) == 1:
                cells[place] = Cell(neighbours[0].winner, False)
            elif budget:
                cells[place], budget = Cell(cell_winner(question, settings, column_axis, row_axis, place), True), budget - 1
            else:
                return Territory(column_axis, row_axis, cells)
    return Territory(column_axis, row_axis, cells)


def cell_winner(question: VerdictQuestion, settings: Settings, column_axis: str, row_axis: str, place: Place) -> Winner:
    """Return the winner at a cell's place; NO_WINNER if no scenario is possible there."""
    scenario = question.base
    scaled: tuple[tuple[str, float], ...] = ()
    try:
        for name, index in sorted(
            zip((column_axis, row_axis), place, strict=True), key=lambda axis_index: axis_index[0] != "lookups"
        ):
            axis = AXES[name]
            scenario, axis_scaled = axis.scenario_at(scenario, axis.values[index])
            scaled += axis_scaled
        return winner(replace(question, scenario=scenario), _fit_to_tables(settings, question.base, scenario), scaled)
    except EmberpoolError:
        return NO_WINNER


def _fit_to_tables(settings: Settings, old_scenario: Scenario, new_scenario: Scenario) -> Settings:
    """Return settings with kernels for the tables of a scenario, which can be fewer than before."""

    def fitted(setting: Setting) -> Setting:
        lists = {
            knob: of_other_tables(stop, old_scenario, new_scenario) for knob, stop in setting if knob == KERNEL and stop != "auto"
        }
        return tuple((knob, lists.get(knob, stop)) for knob, stop in setting)

    return {stack: tuple(map(fitted, stack_settings)) for stack, stack_settings in settings.items()}


def _places(columns: int, rows: int, stride: int) -> list[Place]:
    """Return the places of a grid of a stride, with the last column and row."""
    column_indices, row_indices = (sorted({*range(0, count, stride), count - 1}) for count in (columns, rows))
    return [(column, row) for column in column_indices for row in row_indices]


def _neighbours(cells: Mapping[Place, Cell], place: Place, stride: int) -> list[Cell]:
    """Return the known cells around a place, at a stride."""
    column, row = place
    adjacent_places = ((column + x, row + y) for x in (-stride, 0, stride) for y in (-stride, 0, stride) if x or y)
    return [cells[adjacent_place] for adjacent_place in adjacent_places if adjacent_place in cells]
