"""The questions that a link asks about its scenario or sweep, as texts."""

import re
from dataclasses import dataclass
from typing import get_args

from ..core.figures import count
from ..errors import BadLink, nearest_hint
from ..registry import variant_names
from ..scenario import knobs
from ..scenario.keys import Fidelity
from ..scenario.own_presets import NAME as PRESET_NAME
from ..scenario.scenario import KNOBS
from . import axes as sweep_axes
from .sweep import sampling

MOST_BOUNDS, MOST_PINS, MOST_WORDS, MOST_PARTS = 20, 8, 200, 2000
MOST_WITHIN = 1000
NUMBER = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?")
# The fields of the questions by their parameter of a link.
SINGLE_PARAMETERS = {
    "sample": "sample",
    "pareto": "pareto",
    "pins": "pins",
    "against": "baseline",
    "within": "slowdown_percent",
    "lose": "lose",
    "objective": "objective",
    "parts": "parts",
    "prices": "prices",
    "software": "software",
    "precision": "precision",
    "mode": "mode",
    "view": "view",
    "metric": "metric",
    "find": "find",
    "from": "origin",
}
REPEATED_PARAMETERS = {
    "where": "bounds",
    "only": "allowed_words",
    "require": "require",
    "run": "runs",
}  # parameters that a link may repeat
VIEW = re.compile("[a-z0-9-]{1,40}")
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class LinkQuestions:
    """The questions of a link, as texts; "" or () for a question that is not asked.

    sample: how a sweep's points are drawn.
    bounds: the bounds that points must keep.
    pareto: the objectives of a Pareto front.
    pins: the pinned points, counted from 1.
    runs: the requests that the page Runs compares.
    baseline: the baseline system of all answers.
    slowdown_percent: the largest allowed slowdown, in percent of the baseline's step time.
    require: the requirements of a verdict on a machine.
    lose: the largest loss by a failure that a verdict allows.
    objective: the quantity that a verdict minimises.
    parts: the parts that a verdict may use.
    prices: the year of a verdict's prices.
    software: the software that a verdict may use.
    precision: the precision of layers that a verdict has.
    allowed_words: for each of some knobs, the words that it may have.
    mode: the method that computes the points.
    view: the view that a page shows.
    metric: the metric that a page shows.
    find: the words that the page Runs searches for.
    origin: the name of the own preset from which the scenario was made.
    """

    sample: str = ""
    bounds: tuple[str, ...] = ()
    pareto: str = ""
    pins: str = ""
    runs: tuple[str, ...] = ()
    baseline: str = ""
    slowdown_percent: str = ""
    require: tuple[str, ...] = ()
    lose: str = ""
    objective: str = ""
    parts: str = ""
    prices: str = ""
    software: str = ""
    precision: str = ""
    allowed_words: tuple[str, ...] = ()
    mode: str = ""
    view: str = ""
    metric: str = ""
    find: str = ""
    origin: str = ""

    @property
    def pairs(self) -> Pairs:
        """The questions as parameters of a link."""
        repeated_pairs = [(name, text) for name, field in REPEATED_PARAMETERS.items() for text in getattr(self, field)]
        return [(name, text) for name, field in SINGLE_PARAMETERS.items() if (text := getattr(self, field))] + repeated_pairs

    @property
    def words(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The knobs with a restricted choice, each with its allowed words as links write them.

        Raises BadKnob or BadLink.
        """
        word_axes = tuple(map(sweep_axes.parse, self.allowed_words))
        bad_text = next((text for text, axis in zip(self.allowed_words, word_axes, strict=True) if axis.span), None)
        if bad_text or len(word_axes) > MOST_BOUNDS or len({axis.path for axis in word_axes}) < len(word_axes):
            raise BadLink(
                f"The link's only={(bad_text or self.allowed_words[0])[:80]!r} cannot be read; "
                f"write only=KNOB:V1,V2 once per knob, for at most {MOST_BOUNDS}."
            )
        return tuple((axis.path, tuple(knobs.write(KNOBS[axis.path], setting) for setting in axis.values)) for axis in word_axes)

    @property
    def pinned_points(self) -> tuple[int, ...]:
        """The indices of the pinned points, from 0; raises BadLink."""
        words = self.pins.split(",") if self.pins else []
        bad_words = [word for word in words if not (word.isascii() and word.isdecimal() and len(word) < 9 and int(word))]
        if bad_words or len(words) > MOST_PINS or len(set(words)) < len(words):
            raise BadLink(
                f"The link's pinned points pins={self.pins[:80]!r} cannot be read; "
                f"write up to {MOST_PINS} different numbers of points, counted from 1: pins=3,17."
            )
        return tuple(int(word) - 1 for word in words)

    def check(self) -> None:
        """Raise BadInput for a question that cannot be read.

        The names of results in bounds and objectives are checked elsewhere, by `answers.linked`.
        """
        if len(self.bounds) > MOST_BOUNDS:
            raise BadLink(f"The link has {count(len(self.bounds), 'bound')} (where=); at most {MOST_BOUNDS} are allowed.")
        if self.sample:
            sampling(self.sample)
        if self.baseline and self.baseline not in variant_names("systems"):
            hint = nearest_hint(self.baseline, variant_names("systems"), "systems")
            raise BadLink(f"The link's baseline against={self.baseline[:80]!r} is not known; {hint}")
        if self.slowdown_percent and not (
            NUMBER.fullmatch(self.slowdown_percent) and float(self.slowdown_percent) <= MOST_WITHIN
        ):
            raise BadLink(
                f"The link's target within={self.slowdown_percent[:20]!r} cannot be read; "
                f"write a percentage from 0 to {MOST_WITHIN}."
            )
        if self.mode and self.mode not in get_args(Fidelity):
            raise BadLink(f"The link's mode={self.mode[:40]!r} is not known; write mode=estimate or mode=full.")
        if len(self.require) > MOST_BOUNDS or max(map(len, (*self.require, self.lose, self.objective)), default=0) > MOST_WORDS:
            raise BadLink(f"The link's requirements (require=) are too many or too long; at most {MOST_BOUNDS} are allowed.")
        if len(self.parts) > MOST_PARTS:
            raise BadLink(
                f"The link names parts (parts=) of {count(len(self.parts), 'character')}; at most {MOST_PARTS} are allowed."
            )
        if len(self.find) > MOST_WORDS:
            raise BadLink(
                f"The link's search text (find=) has {count(len(self.find), 'character')}; at most {MOST_WORDS} are allowed."
            )
        _ = self.pinned_points, self.words  # reading them is their check
        self._check_names()

    def _check_names(self) -> None:
        """Raise BadLink for a view or an own preset that no name can be."""
        if self.view and not VIEW.fullmatch(self.view):
            raise BadLink(f"The link's view={self.view[:80]!r} cannot be read; write a view's name, such as view=heat-map.")
        if self.origin and not PRESET_NAME.fullmatch(self.origin):
            raise BadLink(f"The link's from={self.origin[:80]!r} is not the name of a preset; leave it out.")
