"""A requirement: what a machine must reach, what a failure may cost at most, and what is to be least."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, Literal, get_args

from ...core.figures import exact
from ...errors import BadInput, nearest
from ...registry import names
from ...units import DAY, MS

Objective = Literal["cost", "capital", "energy", "time"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
LIMITS = ("throughput", "step-ms", "as", "days", "budget")
NOTHING = "nothing"
MOST = 1e18


@dataclass(frozen=True)
class Requirement:
    """What is asked of a machine; None where nothing is.

    throughput: samples/s at least. step: ms of a batch at most. like: the system that it is to be as fast as.
    days, samples: so many samples that count in so many days. budget: USD at most.
    lost_batches, lost_minutes: the most that one failure may lose.
    """

    throughput: float | None = None
    step_ms: float | None = None
    like: str | None = None
    days: float | None = None
    samples: float | None = None
    budget: float | None = None
    lost_batches: float | None = None
    lost_minutes: float | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The requirement as it is written behind --require."""
        pairs = {
            "throughput": self.throughput,
            "step-ms": self.step_ms,
            "as": self.like,
            "days": None if self.days is None else f"{_short(self.days)}:{_short(self.samples or 0.0)}",
            "budget": self.budget,
        }
        return tuple(f"{name}={one if isinstance(one, str) else _short(one)}" for name, one in pairs.items() if one is not None)

    @property
    def lose(self) -> str:
        """The most that a failure may lose as it is written behind --lose, "" where nothing is said of it."""
        if self.lost_batches is not None:
            return NOTHING if self.lost_batches == 0 else f"batches={_short(self.lost_batches)}"
        return "" if self.lost_minutes is None else f"minutes={_short(self.lost_minutes)}"

    def least_throughput(self, batch_size: int) -> float:
        """Return the samples/s that a machine must train at least, faults aside; 0 where nothing is asked."""
        by_step = 0.0 if self.step_ms is None else batch_size / (self.step_ms * MS)
        return max(self.throughput or 0.0, by_step)

    @property
    def least_kept(self) -> float:
        """The samples/s that must count at the end, faults included; 0 where nothing is asked."""
        return 0.0 if self.days is None or self.samples is None else self.samples / (self.days * DAY)


def required(texts: Sequence[str], lose: str = "") -> Requirement:
    """Read what stands behind --require and --lose; raises BadInput with the sentence that says how to write it."""
    found = Requirement()
    seen: set[str] = set()
    for text in texts:
        name, equals, given = text.partition("=")
        if name not in LIMITS or not equals:
            hint = nearest(name, LIMITS, "requirements")
            raise BadInput(f"require={text[:60]!r} is no requirement; write NAME=VALUE, such as throughput=1e6. {hint}")
        if name in seen:
            raise BadInput(f"require={name} is given twice; give it once.")
        seen.add(name)
        found = replace(found, **_limit(name, given))
    return replace(found, **_loss(lose)) if lose else found


def _limit(name: str, given: str) -> dict[str, Any]:
    if name == "as":
        if given not in names("systems"):
            raise BadInput(f"require=as={given[:60]!r} names no system; {nearest(given, names('systems'), 'systems')}")
        return {"like": given}
    if name == "days":
        days, colon, samples = given.partition(":")
        if not colon:
            raise BadInput(f"require=days={given[:60]!r} lacks the samples; write days=D:SAMPLES, such as days=7:1e12.")
        return {"days": _amount("days", days), "samples": _amount("days", samples)}
    field = {"throughput": "throughput", "step-ms": "step_ms", "budget": "budget"}[name]
    return {field: _amount(name, given)}


def _loss(text: str) -> dict[str, Any]:
    name, _, given = text.partition("=")
    if text == NOTHING:
        return {"lost_batches": 0.0}
    if name not in ("batches", "minutes") or not given:
        raise BadInput(f"lose={text[:60]!r} cannot be read; write lose=nothing, lose=batches=N or lose=minutes=N.")
    return {f"lost_{name}": _amount(f"lose {name}", given, least=0.0)}


def _amount(name: str, text: str, least: float = 1e-12) -> float:
    try:
        number = float(text) if text.isascii() and "_" not in text else inf
    except ValueError:
        number = inf
    if not (isfinite(number) and least <= number <= MOST):
        raise BadInput(f"{name}={text[:40]!r} is no amount; write a number above 0 and up to {exact(MOST)}, such as 1e6.")
    return number


def _short(number: float) -> str:
    """Return a number as short as it can be read back from."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)
