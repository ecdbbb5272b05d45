"""Questions: what a link asks of its scenario, as written: points and bounds of a sweep, baseline and target, what is shown."""

import re
from dataclasses import dataclass
from typing import get_args

from ..errors import BadLink, nearest
from ..registry import names
from ..scenario import knobs
from ..scenario.keys import How
from ..scenario.scenario import KNOBS
from . import axes as sweep_axes
from .sweep import sampling

MOST_BOUNDS, MOST_PINS, MOST_WORDS, MOST_PARTS = 20, 8, 200, 2000
MOST_WITHIN = 1000
NUMBER = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?")
ONE = ("sample", "pareto", "pins", "against", "within", "lose", "objective", "parts", "prices", "mode", "view", "metric", "find")
SEVERAL = {
    "where": "where",
    "only": "only",
    "require": "require",
    "run": "runs",
}  # parameters that come once each, by the field that holds them
VIEW = re.compile("[a-z0-9-]{1,40}")
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Questions:
    """What a sweep is asked, as written: which points, the bounds that they must keep, the objectives of a Pareto front.

    `only` are the words that knobs must have, `mode` is how points are computed, `pins` are the points that were pinned,
    counted from 1; `view` and `metric` are what a page shows. `against` is the system that answers are told against, and
    `within` the percent by which a machine may be slower. A verdict is asked what to `require` of a machine, what a failure
    may `lose`, which `objective` is to be least, of which `parts`, at the `prices` of which year. `runs` are the requests
    that Runs compares, and `find` the words that it looks for. All are "" or empty where left open.
    """

    sample: str = ""
    where: tuple[str, ...] = ()
    pareto: str = ""
    pins: str = ""
    runs: tuple[str, ...] = ()
    against: str = ""
    within: str = ""
    require: tuple[str, ...] = ()
    lose: str = ""
    objective: str = ""
    parts: str = ""
    prices: str = ""
    only: tuple[str, ...] = ()
    mode: str = ""
    view: str = ""
    metric: str = ""
    find: str = ""

    @property
    def pairs(self) -> Pairs:
        """The parameters that say so."""
        several = [(name, value) for name, field in SEVERAL.items() for value in getattr(self, field)]
        return [(name, value) for name in ONE if (value := getattr(self, name))] + several

    @property
    def words(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The knobs that must have one of some words, as links write them; raises BadKnob or BadLink."""
        listed = tuple(map(sweep_axes.parse, self.only))
        wrong = next((text for text, axis in zip(self.only, listed, strict=True) if axis.span), None)
        if wrong or len(listed) > MOST_BOUNDS or len({axis.path for axis in listed}) < len(listed):
            raise BadLink(
                f"The link's only={(wrong or self.only[0])[:80]!r} cannot be read; "
                f"write only=KNOB:V1,V2 once per knob, for at most {MOST_BOUNDS}."
            )
        return tuple((axis.path, tuple(knobs.write(KNOBS[axis.path], value) for value in axis.values)) for axis in listed)

    @property
    def pinned(self) -> tuple[int, ...]:
        """The pinned points, counted from 0; raises BadLink."""
        words = self.pins.split(",") if self.pins else []
        wrong = [word for word in words if not (word.isascii() and word.isdecimal() and len(word) < 9 and int(word))]
        if wrong or len(words) > MOST_PINS or len(set(words)) < len(words):
            raise BadLink(
                f"The link's pinned points pins={self.pins[:80]!r} cannot be read; "
                f"write up to {MOST_PINS} different numbers of points, counted from 1: pins=3,17."
            )
        return tuple(int(word) - 1 for word in words)

    def check(self) -> None:
        """Refuse what has no form; raises BadInput. Whether bounds and objectives name results is `answers.linked`'s question."""
        if len(self.where) > MOST_BOUNDS:
            raise BadLink(f"The link has {len(self.where)} bounds (where=); at most {MOST_BOUNDS} are allowed.")
        if self.sample:
            sampling(self.sample)
        if self.against and self.against not in names("systems"):
            hint = nearest(self.against, names("systems"), "systems")
            raise BadLink(f"The link's baseline against={self.against[:80]!r} is not known; {hint}")
        if self.within and not (NUMBER.fullmatch(self.within) and float(self.within) <= MOST_WITHIN):
            raise BadLink(
                f"The link's target within={self.within[:20]!r} cannot be read; write a percentage from 0 to {MOST_WITHIN}."
            )
        if self.mode and self.mode not in get_args(How):
            raise BadLink(f"The link's mode={self.mode[:40]!r} is not known; write mode=estimate or mode=full.")
        if self.view and not VIEW.fullmatch(self.view):
            raise BadLink(f"The link's view={self.view[:80]!r} cannot be read; write a view's name, such as view=heat-map.")
        if len(self.require) > MOST_BOUNDS or max(map(len, (*self.require, self.lose, self.objective)), default=0) > MOST_WORDS:
            raise BadLink(f"The link's requirements (require=) are too many or too long; at most {MOST_BOUNDS} are allowed.")
        if len(self.parts) > MOST_PARTS:
            raise BadLink(f"The link names parts (parts=) of {len(self.parts)} characters; at most {MOST_PARTS} are allowed.")
        if len(self.find) > MOST_WORDS:
            raise BadLink(f"The link looks for words (find=) of {len(self.find)} characters; at most {MOST_WORDS} are allowed.")
        _ = self.pinned, self.words  # reading them is their check
