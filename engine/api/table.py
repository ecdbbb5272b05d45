"""The table of a script's results: a frame with units, CSV, links and a chart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from ..core.arithmetic import total
from ..core.figures import count, figure
from ..errors import BadInput, nearest_hint
from ..results.csv_table import csv_text
from ..results.result import Result
from ..scenario import knobs
from ..scenario.keys import Fidelity
from ..scenario.knobs import shorten
from ..scenario.scenario import KNOBS, values
from ..sweep.links import link
from .bases import FRAME_KEY, row_attrs
from .charts import chart
from .knob_values import short_text

if TYPE_CHECKING:
    from pandas import DataFrame

STEP = "Step time [ms]"
SHOWN_ROWS, MOST_SHOWN = 20, 60  # a notebook shows SHOWN rows of a table with more than MOST_SHOWN
VEGA_LITE = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True, eq=False)
class Table(Sequence[Result]):
    """Results of several points, in the order of the points.

    results: the results.
    fidelity: "estimate" or "full".
    varied: the paths of the knobs that differ.
    set_knobs: the other knobs that were set, with their settings.
    """

    results: tuple[Result, ...]
    fidelity: Fidelity
    varied: tuple[str, ...] = ()
    set_knobs: tuple[tuple[str, Any], ...] = ()

    @property
    def how(self) -> Fidelity:
        """The fidelity, under its name of release 1.0."""
        return self.fidelity

    @property
    def around(self) -> tuple[tuple[str, Any], ...]:
        """The other knobs that were set, under their name of release 1.0."""
        return self.set_knobs

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, index: int | slice) -> Result | tuple[Result, ...]:
        """Return a point's result."""
        if not (isinstance(index, slice) or hasattr(index, "__index__")):
            raise BadInput(
                f"table[{short_text(index)}]: the index of a table is a point's number; take columns from table.frame."
            )
        return self.results[index]

    @cached_property
    def frame(self) -> DataFrame:
        """A data frame with a row for each point: varied knobs, applicable metrics, outcome.

        Column names contain the units.
        """
        from pandas import DataFrame

        applies = dict.fromkeys(
            name for result in self for name, metric_value in result.results.items() if metric_value is not None
        )
        rows = [
            {KNOBS[path].title: _plain_cell(path, values(result.scenario)[path]) for path in self.varied}
            | {name: result.results.get(name) for name in applies}
            | {"Outcome": result.outcome}
            for result in self
        ]
        frame = DataFrame(rows)
        frame.attrs[FRAME_KEY] = row_attrs(self[0].scenario, self.varied, dict(self.set_knobs))
        return frame

    @property
    def csv(self) -> str:
        """The table as the explorer's CSV file: each knob, metric, key, version and constant."""
        return csv_text(self.results, self.fidelity)

    @property
    def links(self) -> tuple[str, ...]:
        """The link of each point, to append to the explorer's address."""
        return tuple(link(result.scenario) for result in self)

    def spec(self, y: str = STEP, x: str = "") -> dict[str, Any]:
        """Return a Vega-Lite specification of the chart of metric `y` over the varied knob `x`.

        By default `x` is the first varied knob. The first of the other varied knobs is the colour.
        Raises BadInput for a name that is no column.
        """
        columns = self.frame.columns
        titles = [KNOBS[path].title for path in self.varied]
        x_title = x or (titles[0] if titles else "Outcome")
        for name in (x_title, y):
            if not isinstance(name, str):
                raise BadInput(f"{name!r} is not a column; a chart shows one column, named by a text such as {STEP!r}.")
            if name not in columns:
                raise BadInput(f"{name!r} is not a column; {nearest_hint(name, tuple(columns))}")
        other_titles = [title for title in titles if title != x_title]
        numeric = self.frame[x_title].dtype.kind in "if"
        chart_frame = self.frame[list(dict.fromkeys((x_title, y, *other_titles)))]
        by_ratio = any(definition.log for definition in KNOBS.values() if definition.title == x_title)
        encoding = {"x": _channel(x_title, numeric) | ({"scale": {"type": "log"}} if by_ratio and numeric else {})}
        encoding |= {"y": _channel(y, True)}
        encoding |= {"color": _channel(other_titles[0], False)} if other_titles else {}
        return {
            "$schema": VEGA_LITE,
            "data": {"values": json.loads(chart_frame.to_json(orient="records"))},
            "mark": {"type": "line", "point": True} if numeric else {"type": "bar"},
            "encoding": encoding,
        }

    def chart(self, y: str = STEP, x: str = "") -> Any:
        """Return the chart of `spec` as an `altair.Chart`, which a notebook shows without a network.

        Altair is imported when this method is called.
        """
        return chart(self.spec(y, x))

    def __repr__(self) -> str:
        """Return a line on the points, the varied knobs, and the step times."""
        kind = "full run" if self.fidelity == "full" else "estimate"
        steps = [step for result in self if (step := result.results.get(STEP)) is not None]
        phrases = [count(len(self), kind)]
        phrases += [f"varying {', '.join(KNOBS[path].title for path in self.varied)}"] if self.varied else []
        phrases += [f"{STEP} {figure(min(steps))} to {figure(max(steps))}"] if steps else []
        ran_count = total(result.ran for result in self)
        phrases += (
            []
            if ran_count == len(self)
            else [
                (f"{count(ran_count)} ran; the first that did not: {next(result.outcome for result in self if not result.ran)}")
            ]
        )
        return shorten(f"Table({'; '.join(phrases)})")

    def _repr_html_(self) -> str:
        """Return the frame as HTML.

        A long one is cut to its first rows and its last.
        """
        rows = SHOWN_ROWS if len(self) > MOST_SHOWN else None
        return str(self.frame.to_html(max_rows=rows, show_dimensions=rows is not None))


def _plain_cell(path: str, setting: Any) -> Any:
    if isinstance(setting, tuple) and KNOBS[path].by_table:
        return knobs.write(KNOBS[path], setting)
    return ", ".join(map(str, setting)) if isinstance(setting, tuple) else setting


def _channel(name: str, numeric: bool) -> dict[str, Any]:
    """Return the encoding of a column, its name escaped.

    Vega-Lite reads points and brackets in names.
    """
    field = "".join("\\" + letter if letter in ".[]'\"" else letter for letter in name)
    return {"field": field, "type": "quantitative" if numeric else "nominal", "title": name} | ({} if numeric else {"sort": None})
