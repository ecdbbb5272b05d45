"""A link is a whole scenario: a preset and what differs, plus the versions it was made with.

`/explore?preset=NAME&KNOB=VALUE&v=1&model=0.1`; a sweep adds `axis=KNOB:V1,V2` once per axis, a crash state of the log
protocol its replay line, `crash=v1:...`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

from engine import axes as sweep
from engine import knobs, version
from engine.crashcheck.view import view
from engine.errors import BadInput, BadLink
from engine.presets import DEFAULT, preset
from engine.scenario import KNOBS, Scenario, known, values, with_values

MOST_CHARACTERS = 8000
BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Opened:
    """What a link says: preset, scenario, sweep axes, a banner where versions differ, and the crash state to look at."""

    preset: str
    scenario: Scenario
    axes: tuple[str, ...] = ()
    banner: str = ""
    crash: str = ""


def query(scenario: Scenario, base: str = DEFAULT, axes: Iterable[str] = (), crash: str = "") -> Pairs:
    """Return the parameters that reproduce `scenario`, as differences from preset `base`."""
    start = preset(base).scenario
    pairs: Pairs = [("preset", base)]
    if scenario.model.name != start.model.name:
        start = with_values(start, {"model.name": scenario.model.name})
        pairs.append(("model.name", scenario.model.name))
    before = values(start)
    pairs += [(path, knobs.write(KNOBS[path], value)) for path, value in values(scenario).items() if value != before[path]]
    pairs += [("axis", axis) for axis in axes]
    pairs += [("crash", crash)] if crash else []
    return [*pairs, ("v", str(version.LINK)), ("model", version.MODEL)]


def link(scenario: Scenario, base: str = DEFAULT, page: str = "explore", axes: Iterable[str] = (), crash: str = "") -> str:
    """Return the link's path and query, to be put behind a host."""
    parts = (f"{quote(key)}={quote(value, safe='.;:,-')}" for key, value in query(scenario, base, axes, crash))
    return f"/{page}?" + "&".join(parts)


def read(url: str) -> Opened:
    """Open a whole link, or the part behind its question mark; raises BadLink or BadKnob."""
    if len(url) > MOST_CHARACTERS:
        raise BadLink(f"The link has {len(url)} characters; at most {MOST_CHARACTERS} can be opened.")
    text = url.partition("?")[2].partition("#")[0] if "?" in url else url
    if BROKEN_ESCAPE.search(text):
        raise BadLink("The link has a '%' without its two hexadecimal digits; copy it again.")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=500)
    except ValueError as error:
        raise BadLink(f"The link's parameters cannot be read ({error}); copy it again.") from error
    return open_pairs(pairs)


def open_pairs(pairs: Pairs) -> Opened:
    """Open decoded parameters; nothing is ever dropped or replaced silently."""
    seen: dict[str, str] = {}
    axes = []
    for key, value in pairs:
        if "\ufffd" in key + value or not (key + value).isprintable():
            raise BadLink(f"The link's parameter {key[:80]!r} has characters that are no printable text; copy it again.")
        if key == "axis":
            sweep.parse(value)
            axes.append(value)
        elif key in seen:
            raise BadLink(f"The link gives {key!r} twice ({seen[key]!r} and {value!r}); keep one.")
        else:
            seen[key] = value
    _check_link_version(seen.pop("v", str(version.LINK)))
    banner = _banner(seen.pop("model", version.MODEL))
    name, crash = seen.pop("preset", DEFAULT), seen.pop("crash", "")
    if crash:
        view(crash)
    changes = {path: knobs.parse(known(path), text) for path, text in seen.items()}
    return Opened(name, with_values(preset(name).scenario, changes), tuple(axes), banner, crash)


def _check_link_version(text: str) -> None:
    if text not in {str(number) for number in range(1, version.LINK + 1)}:
        raise BadLink(
            f"The link has format v={text[:20]!r}; this Emberpool opens v=1 to v={version.LINK}; update it to open the link."
        )


def _banner(text: str) -> str:
    if text == version.MODEL:
        return ""
    return (
        f"This link was made with model version {text[:20]!r}; this is {version.MODEL}. The knobs are the same, "
        "results may differ: CHANGELOG.md lists what changed."
    )


def opened_or_error(pairs: Pairs) -> Opened | BadInput:
    """Open decoded parameters, or return the error whose sentence a page shows instead."""
    try:
        return open_pairs(pairs)
    except BadInput as error:
        return error
