"""The pictures of a finished run: are their numbers the run's own, and does no label lie over another?"""

import re
from html import unescape
from itertools import combinations, pairwise
from json import dumps, loads

import altair
import numpy as np
import pandas as pd
import pytest

from engine.core.arithmetic import total
from engine.results.ledger import JOULES, OUTAGE, SECONDS, TRAINING, ledger_sum
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from pages.full_run import run_books
from pages.graphics import chart, charts, letters, pictures, run_charts
from pages.ui import tables

POWER_LOSS = "faults.power_loss_at_seconds"
RUN_SECONDS = 0.0360  # of 300 batches of the smallest preset under the loop that takes 0.1 ms
YARDSTICKS = ("logistic regression", "model that clicks")
PLACE = re.compile(r"translate\(([-\d.]+),\s*([-\d.]+)\)")
TEXT = re.compile(
    r'text-anchor="(?P<anchor>\w+)" transform="(?P<at>[^"]+)"[^>]*font-size="(?P<size>[\d.]+)px"(?P<rest>[^>]*)>(?P<says>[^<]+)<'
)


def run(**knobs):
    """A full run of 300 batches of the smallest preset, whose loop takes less time than its hardware."""
    own = {"run.batches": 300, "run.evaluations": 12, "machine.framework": "lean"}
    return simulate(with_values(preset("tiny").scenario, {**own, **knobs}))


@pytest.fixture(scope="module")
def struck():
    """A run without a log, which a power loss in its middle sets back to the first batch."""
    return run(**{"system": "dram", POWER_LOSS: (RUN_SECONDS / 2,)})


def frame_of(result):
    """The frame of a run's curves and its breaks."""
    frame = tables.curve(result.training, result.events, tables.power_pace(result))
    return frame, tables.breaks(frame, result.events)


def label_boxes(spec, marks, width, monkeypatch):
    """Return the text, left, top, right, bottom of each label of a chart, as drawn at a width in px."""
    monkeypatch.setattr(pictures, "WIDTH", width)
    return svg_boxes(pictures.svg(chart.add_titles(spec, "Title"), marks))


def svg_boxes(svg):
    """Return text and box of each horizontal text in an SVG; groups are moved as a whole."""
    boxes, moved = [], [(0.0, 0.0)]
    for part in re.findall(r"<g[^>]*?/?>|</g>|<text .*?</text>", svg, re.DOTALL):
        if part.startswith("</g"):
            moved.pop()
        elif part.startswith("<g"):
            dx, dy = map(float, found.groups()) if (found := PLACE.search(part)) else (0.0, 0.0)
            if not part.endswith("/>"):
                moved.append((moved[-1][0] + dx, moved[-1][1] + dy))
        elif (text := TEXT.search(part)) and "rotate" not in text["at"] and 'opacity="0"' not in text["rest"]:
            (dx, dy), size, says = map(float, PLACE.search(text["at"]).groups()), float(text["size"]), unescape(text["says"])
            wide = letters.length(says, size, bold="font-weight" in text["rest"])
            left = moved[-1][0] + dx - {"start": 0.0, "middle": wide / 2, "end": wide}[text["anchor"]]
            base = moved[-1][1] + dy
            boxes.append((says, left, base - 0.72 * size, left + wide, base + 0.05 * size))
    return boxes


def overprints(boxes):
    """Return the pairs of texts that reach into each other by more than a pixel."""
    return [
        (one[0], other[0])
        for one, other in combinations(boxes, 2)
        if min(one[3], other[3]) - max(one[1], other[1]) > 1 and min(one[4], other[4]) - max(one[2], other[2]) > 1
    ]


def with_yardsticks(frame, *aucs):
    """Return a curve's frame with the AUC of each yardstick where the run was evaluated."""
    evaluated = frame["auc"].notna()
    return frame.assign(
        **{name: pd.Series(auc, frame.index).where(evaluated) for name, auc in zip(YARDSTICKS, aucs, strict=True)}
    )


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_no_label_of_a_runs_charts_lies_over_another(share, monkeypatch):
    result = run(**{POWER_LOSS: (share * RUN_SECONDS,)})
    frame, breaks = frame_of(result)
    last, checked = float(frame["auc"].dropna().iloc[-1]), 0
    for aucs in ((last, last + 1e-6), (last - 0.2, last + 0.001), (last - 0.001, last + 0.2)):
        for axis in ("broken", "batch", "joules"):
            marks = run_charts.event_labels(with_yardsticks(frame, *aucs), axis)
            power_marks = run_charts.event_labels(run_books.power_frame(result, frame), axis)
            for width in (360, 900):
                drawn = {
                    "AUC": label_boxes(charts.curve("auc", "AUC", axis, breaks, YARDSTICKS), marks, width, monkeypatch),
                    "loss": label_boxes(charts.curve("loss", "Loss", axis, breaks), marks, width, monkeypatch),
                    "power": label_boxes(run_charts.power(axis, breaks), power_marks, width, monkeypatch),
                }
                for name, boxes in drawn.items():
                    says = [text for text, *_ in boxes]
                    assert "fault: 2.50 min" in says and (name != "AUC" or charts.DASHED_TITLES[YARDSTICKS[1]] in says)
                    assert not overprints(boxes), f"{name} over {axis}, {width} px wide"
                    assert all(left >= -1 and right <= width + 1 for _, left, _, right, _ in boxes), (name, axis, width)
                    checked += len(boxes)
    assert checked > 500


def test_labels_that_lie_over_each_other_are_found():
    svg = '<g transform="translate(5,5)">{}</g>'.format(
        "".join(
            f'<text text-anchor="start" transform="translate({x},20)" font-size="11px">{says}</text>'
            for x, says in ((0, "1 fault"), (20, "model"), (200, "apart"))
        )
    )
    assert overprints(svg_boxes(svg)) == [("1 fault", "model")]


def test_many_faults_have_labels_only_where_there_is_room():
    result = run(**{POWER_LOSS: tuple(0.002 + n * 150.002 for n in range(12))})
    frame, _ = frame_of(result)
    labels = run_charts.event_labels(frame, "broken").dropna(subset=["says"])
    assert 2 <= len(labels) < 12 == frame["number"].max() and labels.iloc[0]["says"] == "fault 1: 2.50 min"


def test_the_bars_of_the_books_are_those_of_the_json_and_zero_accounts_are_left_out(struck):
    frame, joint = run_books.books_frame(struck)
    books = {row["Account"]: row for row in loads(dumps(struck.as_json()))["books"]}
    for quantity, column in (("Time", SECONDS), ("Energy", JOULES)):
        drawn = frame[(frame["quantity"] == quantity) & (frame["account"] != "")].set_index("account")
        assert dict(drawn["amount"]) == pytest.approx(
            {name: row[column] for name, row in books.items() if row[column] > 0}, rel=1e-9
        )
        (whole,) = frame[(frame["quantity"] == quantity) & (frame["account"] == "")]["amount"]
        assert whole == pytest.approx(total(drawn["amount"]), rel=1e-9)
        assert drawn.sort_values("amount")["drawn"].is_monotonic_increasing and drawn["drawn"].max() == 1
        assert set(drawn[drawn["is_cut"]].index) == {"detect", "restart"} and (drawn["drawn"] > joint).eq(drawn["is_cut"]).all()
    assert run_books.books_title(struck).startswith("Outages took 2.50 min and ")
    altair.LayerChart.from_dict({**run_charts.books(tuple(frame["row"]), joint), "data": {"values": []}}).to_dict()


def test_books_without_an_outage_have_one_scale_and_say_what_was_useful():
    calm = run()
    frame, joint = run_books.books_frame(calm)
    assert joint is None and not frame["is_cut"].any() and "100 % of the run's 36.0 ms" in run_books.books_title(calm)
    bars = frame[frame["account"] != ""]
    assert list(bars["drawn"]) == pytest.approx(
        [row.amount / bars[bars["unit"] == row.unit]["amount"].max() for row in bars.itertuples()]
    )


@pytest.mark.parametrize("batches", [300, 4500])
def test_the_area_under_the_power_is_the_energy_of_the_run(batches):
    """Of 4,500 batches two in three have no row of their own."""
    result = run(**{"run.batches": batches, POWER_LOSS: (RUN_SECONDS / 2,)})
    frame, _ = frame_of(result)
    watts = run_books.power_frame(result, frame).dropna(subset=["watts"])
    joules = {
        phase: np.sum(group["watts"].to_numpy()[1:].astype(float) * np.diff(group["elapsed"].astype(float)))
        for phase, group in watts.groupby("phase")
    }
    training = sum(amount for phase, amount in joules.items() if phase.startswith("training"))
    assert training == pytest.approx(ledger_sum(result.ledger, JOULES, TRAINING), rel=2e-3)
    assert joules["outage 0"] == pytest.approx(ledger_sum(result.ledger, JOULES, OUTAGE), rel=1e-6)


def test_exactly_the_batches_that_a_fault_undid_are_marked_as_trained_again(struck):
    frame, _ = frame_of(struck)
    trained = frame[frame["loss"].notna()]
    newest = trained["batch"].cummax().shift(fill_value=-1)
    repeated = set(trained[trained["batch"] <= newest].index)
    marked = set(trained[trained["again"]].index)
    assert repeated and repeated <= marked and len(marked - repeated) <= 1, "the newest batch had begun and not ended"
    assert len(marked) == struck.results["Lost batches"]
    assert not run_charts.event_labels(frame_of(run())[0], "elapsed")["again"].any()
    assert all(first <= last for first, last in pairwise(trained["elapsed"]))
