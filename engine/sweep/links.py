"""Links: a whole scenario as text, by a preset and what differs, plus the versions it was made with.

`/design?preset=NAME&KNOB=VALUE&v=2&model=0.6`; a sweep adds `axis=KNOB:V1,V2` once per axis and what it asks:
`sample=sobol:256`, `where=Step time [ms]<=5` once per bound, `only=KNOB:V1,V2` once per list of words,
`pareto=Step time [ms],Capital cost [USD]`, `mode=full`, and `pins=3,17`, its pinned points counted from 1. What a page shows
of it is `metric=AUC` and `view=pareto`. `against=dram` is the baseline and `within=10` the target of every answer, in
percent of the baseline's step time. A verdict asks `require=throughput=1e6` once per requirement, `lose=nothing`,
`objective=capital`, `parts=all` and `prices=2024`. What Runs looks for is `find=WORDS`, and what it compares is
`run=estimate:/search?...` once per request: how it is computed, and the link that reopens it. A crash state of the log
protocol adds its replay line, `crash=v1:...`, and one that trains with which kernels, `arithmetic=`. Parts of one's own travel
with their values, `part=...` once each (`link_parts.py`), and where lists of tables would fill the link, these in `lists=...`
(`packed_lists.py`). Knobs that had another name or unit when a link was made are opened as those of today, and the banner
says so.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args
from urllib.parse import parse_qsl, quote

from .. import version
from ..core.arithmetic import arithmetic, elsewhere
from ..core.part_files.known import OwnPart
from ..errors import BadLink
from ..scenario import knobs
from ..scenario.keys import How
from ..scenario.presets import DEFAULT, preset
from ..scenario.renamed import chosen, meant, rewritten, translated
from ..scenario.scenario import KNOBS, Scenario, known, values, with_values
from . import axes as sweep_axes
from . import link_parts, packed_lists
from .questions import ONE, SEVERAL, Pairs, Questions

MOST_CHARACTERS = 8000
MOST_WRITTEN_OUT = MOST_CHARACTERS // 2  # the address bar writes ; and * in three characters each
MOST_RUNS = 8
NOTHING_ASKED = Questions()
BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def compared(questions: Questions) -> tuple[tuple[How, str], ...]:
    """Return how each request that Runs compares was computed, and the link that reopens it; raises BadLink, BadKnob."""
    runs = questions.runs
    if len(runs) > MOST_RUNS or len(set(runs)) < len(runs):
        raise BadLink(f"The link compares {len(runs)} runs (run=); up to {MOST_RUNS} different ones can be.")
    return tuple(map(_compared, runs))


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
    """What a link says: preset, scenario, a sweep's axes and questions, a banner where versions differ, a crash state.

    `parts` are those of one's own whose values it carries.
    """

    preset: str
    scenario: Scenario
    axes: tuple[str, ...] = ()
    banner: str = ""
    crash: str = ""
    questions: Questions = NOTHING_ASKED
    parts: tuple[OwnPart, ...] = ()


def query(
    scenario: Scenario, base: str = DEFAULT, axes: Iterable[str] = (), crash: str = "", questions: Questions = NOTHING_ASKED
) -> Pairs:
    """Return the parameters that reproduce `scenario`, as differences from preset `base`."""
    start = preset(base).scenario
    pairs: Pairs = [("preset", base)]
    if scenario.model.name != start.model.name:
        start = with_values(start, {"model.name": scenario.model.name})
        pairs.append(("model.name", scenario.model.name))
    before = values(start)
    pairs += [(path, _written(path, value)) for path, value in values(scenario).items() if value != before[path]]
    spanned = [link_parts.settled(axis) for axis in axes]
    asked = [(name, link_parts.settled(text) if name == "only" else text) for name, text in questions.pairs]
    pairs += [("axis", axis) for axis in spanned] + asked
    words = (text for name, text in asked if name == "only")
    pairs += [(link_parts.PARAMETER, part) for part in link_parts.carried(scenario, (*spanned, *words))]
    pairs += [("crash", crash)] if crash else []
    trained = [("arithmetic", arithmetic())] if scenario.run.training else []
    pairs += [("v", str(version.LINK)), ("model", version.MODEL), *trained]
    return pairs if len(text_of(pairs)) <= MOST_WRITTEN_OUT else packed_lists.packed(pairs)


def _written(path: str, value: object) -> str:
    """Write a knob's value, of a list the shorter of its two texts: each value apart, or equal neighbours as 16*600."""
    knob, text = KNOBS[path], knobs.write(KNOBS[path], value)
    if knob.kind in ("ints", "floats") and isinstance(value, tuple):
        return min(text, knobs.runs(knob.kind, value), key=len)
    return text


def link(
    scenario: Scenario,
    base: str = DEFAULT,
    page: str = "design",
    axes: Iterable[str] = (),
    crash: str = "",
    questions: Questions = NOTHING_ASKED,
) -> str:
    """Return the link's path and query, to be put behind a host."""
    return f"/{page}?" + text_of(query(scenario, base, axes, crash, questions))


def text_of(pairs: Pairs) -> str:
    """Return parameters as the part of a link behind its question mark."""
    return "&".join(f"{quote(key)}={quote(value, safe='.;:,*-')}" for key, value in pairs)


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
    format_ = _link_version(next((text for name, text in pairs if name == "v"), str(version.LINK)))
    pairs, parts = link_parts.taken(packed_lists.unpacked(pairs))
    systems = _systems(pairs)
    for name, written in pairs:
        if "\ufffd" in name + written or not (name + written).isprintable():
            raise BadLink(f"The link's parameter {name[:80]!r} has characters that are no printable text; copy it again.")
        key, value = _today(name, written, format_, systems)
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
    seen.pop("v", None)
    base = preset(start := seen.get("preset", DEFAULT)).scenario
    for path, text, why in meant(format_, start, seen, axes, values(base).__getitem__, systems):
        seen[path] = text
        renamed[why] = f"{path}={text}"
    told = _banner(seen.pop("model", version.MODEL), renamed, seen.pop("arithmetic", ""))
    banner = " ".join(filter(None, (told, link_parts.banner(parts))))
    name, crash = seen.pop("preset", DEFAULT), seen.pop("crash", "")
    one = {name: seen.pop(name, "") for name in ONE}
    questions = Questions(**one, **{SEVERAL[name]: tuple(held) for name, held in several.items()})  # type: ignore[arg-type]
    questions.check()
    compared(questions)  # reading them is their check
    changes = {path: knobs.parse(known(path), text) for path, text in seen.items()}
    return Opened(name, with_values(base, changes), tuple(axes), banner, crash, questions, parts)


def _link_version(text: str) -> int:
    if text not in {str(number) for number in range(1, version.LINK + 1)}:
        raise BadLink(
            f"The link has format v={text[:20]!r}; this Emberpool opens v=1 to v={version.LINK}; update it to open the link."
        )
    return int(text)


def _systems(pairs: Pairs) -> frozenset[str]:
    """Return the training systems of a link: those of an axis, the one that it names, or its preset's; raises BadKnob."""
    axes = (sweep_axes.halves(text) for name, text in pairs if name == "axis")
    swept = [words.split(",") for path, _, words in axes if path == "system"]
    named = [text for name, text in pairs if name == "system"]
    if swept or named:
        return frozenset((*named, *(system for several in swept for system in several)))
    return frozenset((preset(next((text for name, text in pairs if name == "preset"), DEFAULT)).scenario.system,))


def _today(name: str, text: str, format_: int, systems: frozenset[str]) -> tuple[str, str]:
    """Return a parameter as it is written today: a knob, an axis or a bound of one, or an objective."""
    if name in ("axis", "only"):
        path, head, words = sweep_axes.halves(text)
        text = head + chosen(format_, path, words)
    if name in ("axis", "where", "only"):
        return name, rewritten(text, systems)
    if name == "pareto":
        return name, ",".join(rewritten(part, systems) for part in text.split(","))
    return translated(name, chosen(format_, name, text), systems)


def _banner(text: str, renamed: Mapping[str, str], made: str) -> str:
    if not re.fullmatch(r"[\w.-]{0,80}", made, re.ASCII):
        raise BadLink(f"The link's arithmetic={made[:80]!r} names no kernels; leave it out.")
    told = " ".join(f"Its {old[:80]} is {new[:80]} now." for old, new in renamed.items())
    other = elsewhere(made)
    if text == version.MODEL:
        return " ".join(filter(None, (told, *other)))
    return (
        f"This link was made with model version {text[:20]!r}; this is {version.MODEL}. {told or 'The knobs are the same.'} "
        "Results may differ: CHANGELOG.md lists what changed."
    )
