"""Links: a whole scenario as text, by a preset and what differs, plus the versions it was made with.

`/design?preset=NAME&KNOB=VALUE&v=2&model=0.6`; a sweep adds `axis=KNOB:V1,V2` once per axis and what it asks:
`sample=sobol:256`, `where=Step time [ms]<=5` once per bound, `only=KNOB:V1,V2` once per list of words,
`pareto=Step time [ms],Capital cost [USD]`, `mode=full`, and `pins=3,17`, its pinned points counted from 1. What a page shows
of it is `metric=AUC` and `view=pareto`. `against=dram` is the baseline and `within=10` the target of every answer, in
percent of the baseline's step time. What Runs looks for is `find=WORDS`, and what it compares is `run=estimate:/search?...`
once per request: how it is computed, and the link that reopens it. A crash state of the log protocol adds its replay line,
`crash=v1:...`. Knobs that had another name or unit when a link was made are opened as those of today, and the banner says so.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args
from urllib.parse import parse_qsl, quote

from .. import version
from ..errors import BadLink, nearest
from ..registry import names
from ..scenario import knobs
from ..scenario.keys import How
from ..scenario.presets import DEFAULT, preset
from ..scenario.renamed import rewritten, translated
from ..scenario.scenario import KNOBS, Scenario, known, values, with_values
from . import axes as sweep_axes
from .sweep import sampling

MOST_CHARACTERS = 8000
MOST_BOUNDS, MOST_PINS, MOST_RUNS, MOST_WORDS = 20, 8, 8, 200
MOST_WITHIN = 1000
NUMBER = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?")
ONE = ("sample", "pareto", "pins", "against", "within", "mode", "view", "metric", "find")
SEVERAL = {"where": "where", "only": "only", "run": "runs"}  # parameters that come once each, by the field that holds them
VIEW = re.compile("[a-z0-9-]{1,40}")
BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Questions:
    """What a sweep is asked, as written: which points, the bounds that they must keep, the objectives of a Pareto front.

    `only` are the words that knobs must have, `mode` is how points are computed, `pins` are the points that were pinned,
    counted from 1; `view` and `metric` are what a page shows. `against` is the system that answers are told against, and
    `within` the percent by which a machine may be slower. `runs` are the requests that Runs compares, and `find` the words
    that it looks for. All are "" or empty where left open.
    """

    sample: str = ""
    where: tuple[str, ...] = ()
    pareto: str = ""
    pins: str = ""
    runs: tuple[str, ...] = ()
    against: str = ""
    within: str = ""
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

    @property
    def compared(self) -> tuple[tuple[How, str], ...]:
        """How each compared request was computed, and the link that reopens it; raises BadLink where that cannot be opened."""
        if len(self.runs) > MOST_RUNS or len(set(self.runs)) < len(self.runs):
            raise BadLink(f"The link compares {len(self.runs)} runs (run=); up to {MOST_RUNS} different ones can be.")
        return tuple(map(_compared, self.runs))

    def check(self) -> None:
        """Refuse what has no form; raises BadInput. Whether bounds and objectives name results is `answers.linked`'s question."""
        if len(self.where) > MOST_BOUNDS:
            raise BadLink(f"The link has {len(self.where)} bounds (where=); at most {MOST_BOUNDS} are allowed.")
        if self.sample:
            sampling(self.sample)
        if self.against and self.against not in names("systems"):
            raise BadLink(
                f"The link's baseline against={self.against[:80]!r} is not known; {nearest(self.against, names('systems'))}"
            )
        if self.within and not (NUMBER.fullmatch(self.within) and float(self.within) <= MOST_WITHIN):
            raise BadLink(
                f"The link's target within={self.within[:20]!r} cannot be read; write a percentage from 0 to {MOST_WITHIN}."
            )
        if self.mode and self.mode not in get_args(How):
            raise BadLink(f"The link's mode={self.mode[:40]!r} is not known; write mode=estimate or mode=full.")
        if self.view and not VIEW.fullmatch(self.view):
            raise BadLink(f"The link's view={self.view[:80]!r} cannot be read; write a view's name, such as view=heat-map.")
        if len(self.find) > MOST_WORDS:
            raise BadLink(f"The link looks for words (find=) of {len(self.find)} characters; at most {MOST_WORDS} are allowed.")
        _ = self.pinned, self.compared, self.words  # reading them is their check


def _compared(text: str) -> tuple[How, str]:
    """Read `estimate:/search?...`; raises BadLink or BadKnob."""
    way, _, link = text.partition(":")
    page = link.partition("?")[0]
    if way not in get_args(How) or not re.fullmatch("/[a-z]+", page):
        raise BadLink(f"The link's run={text[:80]!r} cannot be read; write run=estimate:/search?... or run=full:/search?...")
    pairs = _pairs(link)
    if any(name == "run" for name, _ in pairs):
        raise BadLink(f"The link's run={text[:80]!r} compares others itself; name those instead.")
    open_pairs(pairs)
    return ("full" if way == "full" else "estimate"), link


@dataclass(frozen=True)
class Opened:
    """What a link says: preset, scenario, a sweep's axes and questions, a banner where versions differ, a crash state."""

    preset: str
    scenario: Scenario
    axes: tuple[str, ...] = ()
    banner: str = ""
    crash: str = ""
    questions: Questions = Questions()


def query(
    scenario: Scenario, base: str = DEFAULT, axes: Iterable[str] = (), crash: str = "", questions: Questions = Questions()
) -> Pairs:
    """Return the parameters that reproduce `scenario`, as differences from preset `base`."""
    start = preset(base).scenario
    pairs: Pairs = [("preset", base)]
    if scenario.model.name != start.model.name:
        start = with_values(start, {"model.name": scenario.model.name})
        pairs.append(("model.name", scenario.model.name))
    before = values(start)
    pairs += [(path, knobs.write(KNOBS[path], value)) for path, value in values(scenario).items() if value != before[path]]
    pairs += [("axis", axis) for axis in axes] + questions.pairs
    pairs += [("crash", crash)] if crash else []
    return [*pairs, ("v", str(version.LINK)), ("model", version.MODEL)]


def link(
    scenario: Scenario,
    base: str = DEFAULT,
    page: str = "design",
    axes: Iterable[str] = (),
    crash: str = "",
    questions: Questions = Questions(),
) -> str:
    """Return the link's path and query, to be put behind a host."""
    parts = (f"{quote(key)}={quote(value, safe='.;:,-')}" for key, value in query(scenario, base, axes, crash, questions))
    return f"/{page}?" + "&".join(parts)


def in_mode(link: str, how: How) -> str:
    """Return the link of a sweep so that it opens as its points were computed; any other link as it is."""
    return f"{link}&mode=full" if how == "full" and "&axis=" in link and "&mode=" not in link else link


def read(url: str) -> Opened:
    """Open a whole link, or the part behind its question mark; raises BadLink or BadKnob."""
    return open_pairs(_pairs(url))


def _pairs(url: str) -> Pairs:
    """Decode the parameters of a link; raises BadLink."""
    if len(url) > MOST_CHARACTERS:
        raise BadLink(f"The link has {len(url)} characters; at most {MOST_CHARACTERS} can be opened.")
    text = url.partition("?")[2].partition("#")[0] if "?" in url else url
    if BROKEN_ESCAPE.search(text):
        raise BadLink("The link has a '%' without its two hexadecimal digits; copy it again.")
    try:
        return parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=500)
    except ValueError as error:
        raise BadLink(f"The link's parameters cannot be read ({error}); copy it again.") from error


def open_pairs(pairs: Pairs) -> Opened:
    """Open decoded parameters; nothing is ever dropped or replaced silently."""
    seen: dict[str, str] = {}
    axes: list[str] = []
    several: dict[str, list[str]] = {name: [] for name in SEVERAL}
    renamed: dict[str, str] = {}
    for name, written in pairs:
        if "\ufffd" in name + written or not (name + written).isprintable():
            raise BadLink(f"The link's parameter {name[:80]!r} has characters that are no printable text; copy it again.")
        key, value = _today(name, written)
        if (key, value) != (name, written):
            renamed[f"{name}={written}"] = f"{key}={value}"
        if key == "axis":
            sweep_axes.parse(value)
            axes.append(value)
        elif key in several:
            several[key].append(value)
        elif key in seen:
            raise BadLink(f"The link gives {key!r} twice ({seen[key]!r} and {value!r}); keep one.")
        else:
            seen[key] = value
    _check_link_version(seen.pop("v", str(version.LINK)))
    banner = _banner(seen.pop("model", version.MODEL), renamed)
    name, crash = seen.pop("preset", DEFAULT), seen.pop("crash", "")
    one = {name: seen.pop(name, "") for name in ONE}
    questions = Questions(**one, **{SEVERAL[name]: tuple(held) for name, held in several.items()})  # type: ignore[arg-type]
    questions.check()
    changes = {path: knobs.parse(known(path), text) for path, text in seen.items()}
    return Opened(name, with_values(preset(name).scenario, changes), tuple(axes), banner, crash, questions)


def _check_link_version(text: str) -> None:
    if text not in {str(number) for number in range(1, version.LINK + 1)}:
        raise BadLink(
            f"The link has format v={text[:20]!r}; this Emberpool opens v=1 to v={version.LINK}; update it to open the link."
        )


def _today(name: str, text: str) -> tuple[str, str]:
    """Return a parameter as it is written today: a knob, an axis or a bound of one, or an objective."""
    if name in ("axis", "where", "only"):
        return name, rewritten(text)
    if name == "pareto":
        return name, ",".join(rewritten(part) for part in text.split(","))
    return translated(name, text)


def _banner(text: str, renamed: Mapping[str, str]) -> str:
    told = " ".join(f"Its {old[:80]} is {new[:80]} now." for old, new in renamed.items())
    if text == version.MODEL:
        return told
    return (
        f"This link was made with model version {text[:20]!r}; this is {version.MODEL}. {told or 'The knobs are the same.'} "
        "Results may differ: CHANGELOG.md lists what changed."
    )
