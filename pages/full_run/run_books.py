"""The finished run in two charts: its ledger, which JSON calls books, and its power over time."""

import pandas as pd
import streamlit as st

from engine.core.arithmetic import total
from engine.core.figures import figure, percent
from engine.insight.knobs.effect import EQUAL_WITHIN
from engine.results.ledger import JOULES, OUTAGE, SECONDS, TRAINING, ledger_sum
from engine.results.result import Result
from pages.graphics import chart, charts, run_charts
from pages.ui import tables

UNITS = {SECONDS: ("Time", "s"), JOULES: ("Energy", "J")}
SAVED = {"quantity": "Quantity", "account": "Account", "amount": "Amount", "unit": "Unit"}
BOOKS = [*SAVED, "row", "label", "drawn", "is_cut"]
POWER = ["elapsed", "running", "broken", "batch", "joules", "phase", "watts", "again", "kind", "what", "part", "number"]
SHORT_SHARE, JOINT_SHARE, LONG_START = 0.42, 0.45, 0.48  # of a broken axis: end of the short part, the break, the long part
MOST_STEPS = 60  # stretches of a run over which its power is averaged


def books_frame(result: Result) -> tuple[pd.DataFrame, float | None]:
    """Return the accounts of a run that are not zero as rows of BOOKS, and where their axis is broken, None if nowhere.

    An amount within rounding of the sum counts as zero.

    `drawn` is the length of a bar as a share of the plot. Outages mostly last much longer than a run. Their bars then go on
    beyond a break, on a scale of their own. Each quantity begins with a row of its sum, whose account is "".
    """
    cells, joint = [], None
    for column, (quantity, unit) in UNITS.items():
        rounding = EQUAL_WITHIN * total(float(row[column]) for row in result.ledger)
        amounts = {row["Account"]: float(row[column]) for row in result.ledger if float(row[column]) > rounding}
        order = [name for name in (*TRAINING, *OUTAGE) if name in amounts]
        knee = max((amounts[name] for name in order if name in TRAINING), default=0.0)
        longest = max(amounts.values(), default=0.0)
        is_broken = longest > tables.MAX_BAR_RATIO * knee > 0
        joint = JOINT_SHARE if is_broken else joint
        whole = total(amounts.values())
        cells.append((quantity, "", whole, unit, f"{unit}|{quantity}", f"{figure(whole, unit)} in all", 0.0, False))
        for name in order:
            amount = amounts[name]
            drawn = _broken_place(amount, knee, longest) if is_broken else amount / longest
            is_cut = is_broken and amount > knee
            cells.append((quantity, name, amount, unit, f"{unit}|{name}", figure(amount, unit), drawn, is_cut))
    return pd.DataFrame(cells, columns=BOOKS), joint


def _broken_place(amount: float, knee: float, longest: float) -> float:
    """Return the length of a bar on an axis that is broken at `knee`, as a share of the plot."""
    if amount <= knee:
        return SHORT_SHARE * amount / knee
    return LONG_START + (1 - LONG_START) * (amount - knee) / (longest - knee)


def books_title(result: Result) -> str:
    """Return the finding of a run's ledger: what outages took, or else what checkpoints and repeated work took."""
    time, joules = (ledger_sum(result.ledger, column, (*TRAINING, *OUTAGE)) for column in UNITS)
    down, down_joules = (ledger_sum(result.ledger, column, OUTAGE) for column in UNITS)
    if down > 0:
        training = f"training {figure(time - down, 's')} and {figure(joules - down_joules, 'J')}"
        return f"Outages took {figure(down, 's')} and {figure(down_joules, 'J')}, {training}"
    useful, useful_joules = (ledger_sum(result.ledger, column, ("useful",)) for column in UNITS)
    return (
        f"{percent(useful / time)} of the run's {figure(time, 's')} and {percent(useful_joules / joules)} of its "
        f"{figure(joules, 'J')} were useful"
    )


def draw_books(result: Result) -> None:
    """Draw the ledger of a run, a bar for each account that is not zero."""
    if not result.ledger or not ledger_sum(result.ledger, SECONDS, TRAINING):
        return
    frame, joint = books_frame(result)
    broken = "; bars with // go on beyond a break of the axis, on another scale" if joint else ""
    numbers = ", ".join(f"{name} {label}" for name, label in frame[["account", "label"]].itertuples(index=False) if name)
    title = books_title(result)
    spec = run_charts.books(tuple(frame["row"]), joint)
    subtitle = f"Time [s] and energy [J] of this run by account{broken}"
    chart.draw(frame, spec, key="books", title=title, subtitle=subtitle, alt=f"{title}. {numbers}.", columns=SAVED)


def power_frame(result: Result, frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows of POWER: a run's watts in up to MOST_STEPS stretches, in each outage, and its events.

    `frame` is that of `tables.curve`. A stretch has the machine's static power, and the energy of an average batch for each of
    its batches. An outage has its mean power.
    """
    static_watts, batch_joules = tables.power_pace(result)
    trained = frame[frame["loss"].notna()]
    events = frame[frame["kind"].notna()]
    stretch_rows = max(len(trained) // MOST_STEPS, 1)
    rows = []
    for part, group in trained.groupby("part"):
        begin = _begin(events, int(part), frame)
        ends = pd.concat([begin, group.iloc[stretch_rows - 1 :: stretch_rows], group.iloc[-1:]]).drop_duplicates("elapsed")
        # A row in a thinned curve stands for the batches up to it.
        batches, seconds = ends["batch"].diff(), ends["elapsed"].diff()
        watts = static_watts + batch_joules * batches / seconds
        # The batch that a fault cut short is drawn at the power of those before it.
        stretches = pd.concat([ends.assign(watts=watts.bfill()), _stop(events, int(part))])
        rows.append(
            stretches.assign(watts=stretches["watts"].ffill(), phase=f"training {part}", kind=None, what=None, number=None)
        )
    down = ledger_sum(result.ledger, SECONDS, OUTAGE)
    for number, (first, last) in enumerate(tables.outages(result.events)):
        mean = ledger_sum(result.ledger, JOULES, OUTAGE) / down
        ends = events[events["elapsed"].isin((first, last))].drop_duplicates("elapsed")
        rows.append(ends.assign(watts=mean, phase=f"outage {number}", kind=None, what=None, number=None, again=False))
    return pd.concat([*rows, events.assign(watts=None, phase=None)], ignore_index=True)[POWER]


def _begin(events: pd.DataFrame, part: int, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the row at which training began after `part` outages; the batch before the first is -1."""
    if part == 0:
        zero = {name: 0.0 for name in ("elapsed", "running", "broken", "joules")}
        return pd.DataFrame([{**zero, "batch": -1, "part": 0, "again": False}], columns=frame.columns)
    recovery = events[(events["kind"] == tables.OUTAGE_ENDS[0]) & (events["part"] == part)].head(1)
    return recovery.assign(batch=recovery["batch"] - 1)


def _stop(events: pd.DataFrame, part: int) -> pd.DataFrame:
    """Return the row of the fault that stopped training after `part` outages, none if it ran to its end."""
    return events[(events["kind"] == tables.FAULT_EVENTS[0]) & (events["part"] == part)].head(1)


def power_title(result: Result) -> str:
    """Return the finding of a run's power: its mean in training, and in outages."""
    time, joules = (ledger_sum(result.ledger, column, TRAINING) for column in UNITS)
    down, down_joules = (ledger_sum(result.ledger, column, OUTAGE) for column in UNITS)
    trains = f"The machine draws {figure(joules / time, 'W')} while it trains"
    return f"{trains}, {figure(down_joules / down, 'W')} in outages" if down else f"{trains}, on average"


def draw_power(result: Result, frame: pd.DataFrame, x_field: str, breaks: tuple[charts.Break, ...]) -> None:
    """Draw the power of a run over the axis of its curves."""
    if not result.ledger or not result.training:
        return
    marks = run_charts.event_labels(power_frame(result, frame), x_field)
    subtitle = (
        f"Power [W] over {charts.CURVE_AXES[x_field]}: static power, and for each batch the run's mean dynamic energy; mean of "
        f"{'some batches, and of outages' if breaks else 'some batches'}"
    )
    columns = {"elapsed": "Elapsed [s]", "batch": "Batch", "watts": "Power [W]", "phase": "Phase", "kind": "Event"}
    chart.draw(
        marks, run_charts.power(x_field, breaks), key="power", title=power_title(result), subtitle=subtitle, columns=columns
    )


def draw(result: Result, frame: pd.DataFrame, x_field: str, breaks: tuple[charts.Break, ...]) -> None:
    """Draw the ledger and the power of a run beside each other."""
    books_column, power_column = st.columns(2)
    with books_column:
        draw_books(result)
    with power_column:
        draw_power(result, frame, x_field, breaks)
