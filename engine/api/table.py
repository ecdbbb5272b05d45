"""What a script gets: results in the order of their points, as a frame with units, as CSV, as links, as a chart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from ..core.figures import count, figure
from ..errors import BadInput, nearest
from ..results.csv_table import csv_text
from ..results.result import Result
from ..scenario import knobs
from ..scenario.keys import How
from ..scenario.knobs import brief
from ..scenario.scenario import KNOBS, values
from ..sweep.links import link
from .bases import ATTRS, row_attrs
from .charts import chart
from .knob_values import shown

if TYPE_CHECKING:
    from pandas import DataFrame

STEP = "Step time [ms]"
SHOWN, MOST_SHOWN = 20, 60  # rows of a notebook's table that has more than the second
VEGA_LITE = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True, eq=False)
class Table(Sequence[Result]):
    """Results in the order of their points; `varied` are the paths of the knobs that differ, `around` the knobs set beside."""

    results: tuple[Result, ...]
    how: How
    varied: tuple[str, ...] = ()
    around: tuple[tuple[str, Any], ...] = ()

    def __len__(self) -> int:
        """Return how many points there are."""
        return len(self.results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, index: int | slice) -> Result | tuple[Result, ...]:
        """Return a point's result."""
        if not (isinstance(index, slice) or hasattr(index, "__index__")):
            raise BadInput(f"table[{shown(index)}]: a table is indexed by a point's number; a column is of table.frame.")
        return self.results[index]

    @cached_property
    def frame(self) -> DataFrame:
        """A row a point: what varies, every metric that applies to any point, and the outcome; units in the names."""
        from pandas import DataFrame

        applies = dict.fromkeys(name for one in self for name, value in one.results.items() if value is not None)
        rows = [
            {KNOBS[path].title: _plain(path, values(one.scenario)[path]) for path in self.varied}
            | {name: one.results.get(name) for name in applies}
            | {"Outcome": one.outcome}
            for one in self
        ]
        frame = DataFrame(rows)
        frame.attrs[ATTRS] = row_attrs(self[0].scenario, self.varied, dict(self.around))
        return frame

    @property
    def csv(self) -> str:
        """The table as the explorer downloads it: every knob, metric, key, version and constant."""
        return csv_text(self.results, self.how)

    @property
    def links(self) -> tuple[str, ...]:
        """The link of each point, to be put behind the explorer's address."""
        return tuple(link(one.scenario) for one in self)

    def spec(self, y: str = STEP, x: str = "") -> dict[str, Any]:
        """Return a Vega-Lite specification of a metric over a varied knob, by default the first; the second is the colour.

        Raises BadInput for what is no column.
        """
        columns = self.frame.columns
        titles = [KNOBS[path].title for path in self.varied]
        across = x or (titles[0] if titles else "Outcome")
        for name in (across, y):
            if not isinstance(name, str):
                raise BadInput(f"{name!r} is no column; a chart shows one, named by a text such as {STEP!r}.")
            if name not in columns:
                raise BadInput(f"{name!r} is no column; {nearest(name, tuple(columns))}")
        others = [title for title in titles if title != across]
        numeric = self.frame[across].dtype.kind in "if"
        shown = self.frame[list(dict.fromkeys((across, y, *others)))]
        by_ratio = any(one.log for one in KNOBS.values() if one.title == across)
        encoding = {"x": _channel(across, numeric) | ({"scale": {"type": "log"}} if by_ratio and numeric else {})}
        encoding |= {"y": _channel(y, True)}
        encoding |= {"color": _channel(others[0], False)} if others else {}
        return {
            "$schema": VEGA_LITE,
            "data": {"values": json.loads(shown.to_json(orient="records"))},
            "mark": {"type": "line", "point": True} if numeric else {"type": "bar"},
            "encoding": encoding,
        }

    def chart(self, y: str = STEP, x: str = "") -> Any:
        """Return the same as an `altair.Chart`, which a notebook shows without a network; Altair is imported only here."""
        return chart(self.spec(y, x))

    def __repr__(self) -> str:
        """Return a line: how many points, what varies, the range of step times, how many ran."""
        kind = "full run" if self.how == "full" else "estimate"
        steps = [step for one in self if (step := one.results.get(STEP)) is not None]
        said = [count(len(self), kind)]
        said += [f"varying {', '.join(KNOBS[path].title for path in self.varied)}"] if self.varied else []
        said += [f"{STEP} {figure(min(steps))} to {figure(max(steps))}"] if steps else []
        ran = sum(one.ran for one in self)
        said += (
            [] if ran == len(self) else [f"{count(ran)} ran; the first other: {next(one.outcome for one in self if not one.ran)}"]
        )
        return brief(f"Table({'; '.join(said)})")

    def _repr_html_(self) -> str:
        """Return the frame as HTML; of a long one the first rows and the last."""
        rows = SHOWN if len(self) > MOST_SHOWN else None
        return str(self.frame.to_html(max_rows=rows, show_dimensions=rows is not None))


def _plain(path: str, value: Any) -> Any:
    if isinstance(value, tuple) and KNOBS[path].by_table:
        return knobs.write(KNOBS[path], value)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def _channel(name: str, numeric: bool) -> dict[str, Any]:
    """Return an encoding; Vega-Lite reads points and brackets of a field's name unless they are escaped."""
    field = "".join("\\" + letter if letter in ".[]'\"" else letter for letter in name)
    return {"field": field, "type": "quantitative" if numeric else "nominal", "title": name} | ({} if numeric else {"sort": None})
