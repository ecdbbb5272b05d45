"""A requirement: the limits that a machine must keep; and the possible objectives.

Limits are on speed, budget, delivery, and the loss by a failure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, Literal, NamedTuple, get_args

from ...core.figures import exact
from ...errors import BadInput, nearest_hint
from ...registry import variant_names
from ...units import DAY, MS

Objective = Literal["cost", "month", "capital", "energy", "time"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


class ObjectiveWords(NamedTuple):
    """Words for an objective.

    amount: the quantity. better: what a machine with less of it is.
    """

    amount: str
    better: str


WORDS: Mapping[str, ObjectiveWords] = {
    "cost": ObjectiveWords("cost a sample", "cheaper"),
    "month": ObjectiveWords("cost a month", "cheaper"),
    "capital": ObjectiveWords("price", "cheaper"),
    "energy": ObjectiveWords("energy a sample", "more frugal"),
    "time": ObjectiveWords("time a sample", "faster"),
}

LIMITS = ("throughput", "step-ms", "as", "days", "budget", "weeks")
NO_LOSS = "nothing"
MAX_AMOUNT = 1e18


@dataclass(frozen=True)
class Requirement:
    """The limits that a machine must keep; None where there is no limit.

    throughput: minimal samples/s.
    step_ms: maximal ms of a batch.
    as_fast_as: name of the system that the machine must be as fast as.
    days: maximal days of training for `samples`.
    samples: samples that must count within `days`.
    budget: maximal USD.
    weeks: maximal weeks until the machine is delivered.
    lost_batches: maximal batches that a failure may lose.
    lost_minutes: maximal minutes that a failure may lose.
    """

    throughput: float | None = None
    step_ms: float | None = None
    as_fast_as: str | None = None
    days: float | None = None
    samples: float | None = None
    budget: float | None = None
    weeks: float | None = None
    lost_batches: float | None = None
    lost_minutes: float | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The requirement as arguments of --require."""
        pairs = {
            "throughput": self.throughput,
            "step-ms": self.step_ms,
            "as": self.as_fast_as,
            "days": None if self.days is None else f"{_shortest_text(self.days)}:{_shortest_text(self.samples or 0.0)}",
            "budget": self.budget,
            "weeks": self.weeks,
        }
        return tuple(
            f"{name}={limit if isinstance(limit, str) else _shortest_text(limit)}"
            for name, limit in pairs.items()
            if limit is not None
        )

    @property
    def loss_text(self) -> str:
        """The largest loss by a failure as an argument of --lose; "" without a limit."""
        if self.lost_batches is not None:
            return NO_LOSS if self.lost_batches == 0 else f"batches={_shortest_text(self.lost_batches)}"
        return "" if self.lost_minutes is None else f"minutes={_shortest_text(self.lost_minutes)}"

    @property
    def is_of_speed(self) -> bool:
        """Whether a throughput, a time of a batch or a date is asked for."""
        return (self.throughput, self.step_ms, self.days) != (None,) * 3

    def min_throughput(self, batch_size: int) -> float:
        """Return the least samples/s, without faults, that meet the requirement; 0 for no limit."""
        by_step = 0.0 if self.step_ms is None else batch_size / (self.step_ms * MS)
        return max(self.throughput or 0.0, by_step)

    @property
    def min_useful_throughput(self) -> float:
        """The least samples/s, with faults, that must count at the end; 0 for no limit."""
        return 0.0 if self.days is None or self.samples is None else self.samples / (self.days * DAY)


def read_requirement(texts: Sequence[str], lose: str = "") -> Requirement:
    """Read the arguments of --require and --lose.

    Raises BadInput with a sentence on how to write them.
    """
    requirement = Requirement()
    seen_names: set[str] = set()
    for text in texts:
        name, equals, amount_text = text.partition("=")
        if name not in LIMITS or not equals:
            hint = nearest_hint(name, LIMITS, "requirements")
            raise BadInput(f"require={text[:60]!r} is not a requirement; write NAME=VALUE, such as throughput=1e6. {hint}")
        if name in seen_names:
            raise BadInput(f"require={name} is given twice; give it once.")
        seen_names.add(name)
        requirement = replace(requirement, **_limit(name, amount_text))
    return replace(requirement, **_loss(lose)) if lose else requirement


def _limit(name: str, amount_text: str) -> dict[str, Any]:
    if name == "as":
        if amount_text not in variant_names("systems"):
            raise BadInput(
                f"require=as={amount_text[:60]!r} is not a system; "
                f"{nearest_hint(amount_text, variant_names('systems'), 'systems')}"
            )
        return {"as_fast_as": amount_text}
    if name == "days":
        days, colon, samples = amount_text.partition(":")
        if not colon:
            raise BadInput(
                f"require=days={amount_text[:60]!r} lacks the number of samples; write days=D:SAMPLES, such as days=7:1e12."
            )
        return {"days": _amount("days", days), "samples": _amount("days", samples)}
    field = {"throughput": "throughput", "step-ms": "step_ms"}.get(name, name)
    return {field: _amount(name, amount_text)}


def _loss(text: str) -> dict[str, Any]:
    name, _, amount_text = text.partition("=")
    if text == NO_LOSS:
        return {"lost_batches": 0.0}
    if name not in ("batches", "minutes") or not amount_text:
        raise BadInput(f"lose={text[:60]!r} cannot be read; write lose=nothing, lose=batches=N or lose=minutes=N.")
    return {f"lost_{name}": _amount(f"lose {name}", amount_text, minimum=0.0)}


def _amount(name: str, text: str, minimum: float = 1e-12) -> float:
    try:
        number = float(text) if text.isascii() and "_" not in text else inf
    except ValueError:
        number = inf
    if not (isfinite(number) and minimum <= number <= MAX_AMOUNT):
        raise BadInput(
            f"{name}={text[:40]!r} is not possible; write a number above 0 and up to {exact(MAX_AMOUNT)}, such as 1e6."
        )
    return number


def _shortest_text(number: float) -> str:
    """Return the shortest text of a number that can be read back exactly."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)
