"""Read trials that `validate --here` wrote: those shipped with the program, or a visitor's."""

import re
from datetime import date
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import BadFile
from ...user_text import decoded, json_content
from ...version import PROGRAM
from .shapes import CPU_ONLY, ModelShape
from .trials import Trial

FIRST_MACHINE_FILE = Path(__file__).with_name("first_machine.json")
SYSTEM = re.compile("[a-z0-9-]{1,40}")
MOST_BYTES, MOST_TRIALS, MOST_LETTERS = 2_000_000, 1000, 300


class TrialRun(NamedTuple):
    """The trials of one run of `validate --here`.

    machine: the machine as text. day: the day. seed: the seed that drew the shapes. trials: the trials that were trained.
    """

    machine: str
    day: str
    seed: int
    trials: tuple[Trial, ...]


@cache
def first_machine() -> TrialRun:
    """Return the trials of the first measured machine, which are shipped with the program."""
    return read_trials(FIRST_MACHINE_FILE.name, FIRST_MACHINE_FILE.read_bytes())


def read_trials(name: str, content: bytes) -> TrialRun:
    """Return the trained trials of a file.

    Raises BadFile for a file other than `validate --here --json` writes.
    """
    if len(content) > MOST_BYTES:
        raise BadFile(f"{name} is larger than any that {PROGRAM} validate --here --json writes.", kind="too large")
    try:
        trial_file = json_content(decoded(content, name), name)
        trials = tuple(_trial(row) for row in trial_file["rows"][:MOST_TRIALS] if row["measured"] is not None)
        machine, day, seed = (
            str(trial_file["machine"])[:MOST_LETTERS],
            str(date.fromisoformat(trial_file["date"])),
            int(trial_file["seed"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadFile(
            f"{name} is not a file that {PROGRAM} validate --here --json FILE writes; upload such a file.", kind="not a trial"
        ) from None
    if not trials:
        raise BadFile(f"{name} has no trained model; run {PROGRAM} validate --here for longer.", kind="nothing trained")
    return TrialRun(machine if machine.isprintable() else "a machine", day, seed, trials)


def _trial(row: dict[str, Any]) -> Trial:
    shape_fields = row["shape"]
    tables, rows, dim, pooling, batch = (int(shape_fields[name]) for name in ("tables", "rows", "dim", "pooling", "batch"))
    bottom, top = (tuple(int(width) for width in shape_fields[name]) for name in ("bottom", "top"))
    optimizer = "adagrad" if shape_fields["optimizer"] == "adagrad" else "sgd"
    shape = ModelShape(tables, rows, dim, pooling, batch, bottom, top, optimizer)
    seconds = [float(row[name]) for name in ("predicted", "by_peaks", "measured")]
    numbers = (tables, rows, dim, pooling, batch, *bottom, *top, *seconds)
    if not (bottom and top and all(isfinite(number) and number > 0 for number in numbers)):
        raise ValueError(row)
    system = str(row.get("system", CPU_ONLY))
    if not SYSTEM.fullmatch(system):
        raise ValueError(row)
    return Trial(shape, seconds[0], seconds[1], "", seconds[2], system)
