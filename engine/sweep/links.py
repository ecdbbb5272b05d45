"""Links: a whole scenario or sweep as the text of an address.

A link has a preset, the knobs that differ from it, and the versions of the sender's software:
`/design?preset=NAME&KNOB=VALUE&v=2&model=0.6`. Its other parameters are:

axis=KNOB:V1,V2: an axis of a sweep; once for each axis.
sample=sobol:256; mode=full: how a sweep's points are drawn, and the method that computes them.
where=Step time [ms]<=5: a bound; only=KNOB:V1,V2: the words that a knob may have; once for each bound or knob.
pareto=Step time [ms],Capital cost [USD]: the objectives of a Pareto front.
pins=3,17: pinned points, counted from 1.
metric=AUC; view=pareto: the metric and the view that a page shows.
against=dram; within=10: the baseline of all answers, and the allowed slowdown in percent of the baseline's step time.
require=throughput=1e6; lose=nothing; objective=capital; parts=all; prices=2024; software=hugectr; precision=fp16: a verdict's
questions.
from=NAME: the own preset from which the scenario was made; its values are in the link.
find=WORDS; run=estimate:/search?...: on the page Runs, the words to search for, and each compared request: method and link.
crash=v1:...: the replay line of a crash state of the log protocol.
arithmetic=...: the names of the sender's linear-algebra kernels, in a scenario that trains.
part=...: an own part with its values (`link_parts.py`). lists=...: long lists by table, packed (`packed_lists.py`).

Knobs that had another name or unit when a link was made are opened as today's knobs, and a banner says so.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args
from urllib.parse import parse_qsl, quote

from .. import version
from ..core.arithmetic import arithmetic, other_kernels_note
from ..core.figures import count
from ..core.part_files.known import OwnPart
from ..errors import BadLink
from ..scenario import knobs
from ..scenario.contradictions import CONTRADICTIONS
from ..scenario.keys import Fidelity
from ..scenario.presets import DEFAULT, own_preset_names, preset, root_of
from ..scenario.renamed import implied_settings, reread_notes, todays_choice, todays_knob, todays_text
from ..scenario.scenario import KNOBS, Scenario, declaration, values, with_values
from . import axes as sweep_axes
from . import link_parts, packed_lists
from .questions import REPEATED_PARAMETERS, SINGLE_PARAMETERS, LinkQuestions, Pairs

MOST_CHARACTERS = 8000
MOST_WRITTEN_OUT = MOST_CHARACTERS // 2  # an address bar writes ; and * as three characters each
MOST_RUNS = 8
REFUSES_CONTRADICTIONS = 9  # format from which on a link cannot set two knobs that decide the same
NO_QUESTIONS = LinkQuestions()
BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def compared_runs(questions: LinkQuestions) -> tuple[tuple[Fidelity, str], ...]:
    """Return method and link of each request that the page Runs compares.

    Raises BadLink, BadKnob.
    """
    runs = questions.runs
    if len(runs) > MOST_RUNS or len(set(runs)) < len(runs):
        raise BadLink(f"The link compares {count(len(runs), 'run')} (run=); at most {MOST_RUNS} different runs are possible.")
    return tuple(map(_compared, runs))


def _compared(text: str) -> tuple[Fidelity, str]:
    """Return method and link of a text such as `estimate:/search?...`; raises BadLink or BadKnob."""
    way, _, link = text.partition(":")
    page = link.partition("?")[0]
    if way not in get_args(Fidelity) or not re.fullmatch("/[a-z]+", page):
        raise BadLink(f"The link's run={text[:80]!r} cannot be read; write run=estimate:/search?... or run=full:/search?...")
    pairs = _pairs(link)
    if any(name == "run" for name, _ in pairs):
        raise BadLink(f"The link's run={text[:80]!r} is a comparison itself; name the runs that it compares.")
    open_pairs(pairs)
    return ("full" if way == "full" else "estimate"), link


@dataclass(frozen=True)
class OpenedLink:
    """The content of an opened link.

    preset: the preset's name; that of the own preset from which the link was made, if its file is here.
    scenario: the scenario.
    axes: the axes of a sweep, as texts.
    banner: sentences on differences between the sender's software or parts and this computer's; "" without any.
    crash: the replay line of a crash state; "" without one.
    questions: the questions of a sweep, a verdict or a page.
    parts: the own parts whose values the link carries.
    """

    preset: str
    scenario: Scenario
    axes: tuple[str, ...] = ()
    banner: str = ""
    crash: str = ""
    questions: LinkQuestions = NO_QUESTIONS
    parts: tuple[OwnPart, ...] = ()


def query(
    scenario: Scenario, base: str = DEFAULT, axes: Iterable[str] = (), crash: str = "", questions: LinkQuestions = NO_QUESTIONS
) -> Pairs:
    """Return a link's parameters that reproduce `scenario`, as differences from the preset `base`.

    Of an own preset they are differences from its root, so that the link opens without the preset's file.
    """
    root = root_of(base)
    if root != base:
        base, questions = root, replace(questions, origin=base)
    start = preset(base).scenario
    pairs: Pairs = [("preset", base)]
    if scenario.model.name != start.model.name:
        start = with_values(start, {"model.name": scenario.model.name})
        pairs.append(("model.name", scenario.model.name))
    preset_values = values(start)
    pairs += [
        (path, _setting_text(path, setting)) for path, setting in values(scenario).items() if setting != preset_values[path]
    ]
    spanned = [link_parts.referenced_axis(axis) for axis in axes]
    question_pairs = [(name, link_parts.referenced_axis(text) if name == "only" else text) for name, text in questions.pairs]
    pairs += [("axis", axis) for axis in spanned] + question_pairs
    words = (text for name, text in question_pairs if name == "only")
    pairs += [(link_parts.PARAMETER, part) for part in link_parts.link_parts_of(scenario, (*spanned, *words))]
    pairs += [("crash", crash)] if crash else []
    trained = [("arithmetic", arithmetic())] if scenario.run.training else []
    pairs += [("v", str(version.LINK)), ("model", version.MODEL), *trained]
    return pairs if len(text_of(pairs)) <= MOST_WRITTEN_OUT else packed_lists.pack_lists(pairs)


def _setting_text(path: str, setting: object) -> str:
    """Return a setting as text.

    Of a list the shorter of two: all values, or runs such as 16*600.
    """
    knob, text = KNOBS[path], knobs.write(KNOBS[path], setting)
    if knob.kind in ("ints", "floats") and isinstance(setting, tuple):
        return min(text, knobs.write_runs(knob.kind, setting), key=len)
    return text


def link(
    scenario: Scenario,
    base: str = DEFAULT,
    page: str = "design",
    axes: Iterable[str] = (),
    crash: str = "",
    questions: LinkQuestions = NO_QUESTIONS,
) -> str:
    """Return the path and query of a link to a scenario or a sweep."""
    return f"/{page}?" + text_of(query(scenario, base, axes, crash, questions))


def text_of(pairs: Pairs) -> str:
    """Return parameters as a link's query: the text after the question mark."""
    return "&".join(f"{quote(key)}={quote(text, safe='.;:,*-')}" for key, text in pairs)


def link_in_mode(link: str, method: Fidelity) -> str:
    """Return a sweep's link with the method that computed its points.

    Other links are returned unchanged.
    """
    return f"{link}&mode=full" if method == "full" and "&axis=" in link and "&mode=" not in link else link


def open_link(url: str) -> OpenedLink:
    """Return the content of a link or of its query; raises BadLink or BadKnob."""
    return open_pairs(_pairs(url))


def _pairs(url: str) -> Pairs:
    """Return the decoded parameters of a link; raises BadLink."""
    if len(url) > MOST_CHARACTERS:
        raise BadLink(f"The link has {count(len(url), 'character')}; at most {MOST_CHARACTERS} can be opened.")
    text = url.partition("?")[2].partition("#")[0] if "?" in url else url
    if BROKEN_ESCAPE.search(text):
        raise BadLink("The link has a '%' without its two hexadecimal digits; copy it again.")
    try:
        return parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=500)
    except ValueError as error:
        raise BadLink(f"The link's parameters cannot be read ({error}); copy it again.") from error


def open_pairs(pairs: Pairs) -> OpenedLink:
    """Return the content of a link's decoded parameters; raises BadLink or BadKnob.

    Every parameter is used: an unknown parameter is refused, and a changed value is named in the banner.
    """
    parameters: dict[str, str] = {}
    axes: list[str] = []
    lists_by_name: dict[str, list[str]] = {name: [] for name in REPEATED_PARAMETERS}
    renamed: dict[str, str] = {}
    format_ = _link_version(next((text for name, text in pairs if name == "v"), str(version.LINK)))
    pairs, parts = link_parts.accept_parts(packed_lists.unpack_lists(pairs))
    systems = _systems(pairs)
    for name, raw_text in pairs:
        if "\ufffd" in name + raw_text or not (name + raw_text).isprintable():
            raise BadLink(f"The link's parameter {name[:80]!r} has characters that cannot be printed; copy the link again.")
        key, new_text = _today_parameter(name, raw_text, format_, systems)
        if (key, new_text) != (name, raw_text):
            renamed[f"{name}={raw_text}"] = f"{key}={new_text}"
        if key == "axis":
            sweep_axes.parse(new_text)
            axes.append(new_text)
        elif key in lists_by_name:
            lists_by_name[key].append(new_text)
        elif key in parameters:
            raise BadLink(f"The link gives {key!r} twice ({parameters[key]!r} and {new_text!r}); remove one of them.")
        else:
            parameters[key] = new_text
    parameters.pop("v", None)
    base = preset(start := parameters.get("preset", DEFAULT)).scenario
    for path, text, cause in implied_settings(format_, start, parameters, axes, values(base).__getitem__, systems):
        parameters[path] = text
        renamed[cause] = f"{path}={text}"
    if format_ < REFUSES_CONTRADICTIONS:
        axes = _leave_out_unused(parameters, axes, base, renamed)
    set_paths = {*parameters, *(sweep_axes.split_axis(axis)[0] for axis in axes)}
    version_note = _banner(parameters.pop("model", version.MODEL), renamed, parameters.pop("arithmetic", ""), set_paths)
    banner = " ".join(filter(None, (version_note, link_parts.banner(parts))))
    name, crash = parameters.pop("preset", DEFAULT), parameters.pop("crash", "")
    single_texts = {field: parameters.pop(name, "") for name, field in SINGLE_PARAMETERS.items()}
    list_texts = {REPEATED_PARAMETERS[name]: tuple(texts) for name, texts in lists_by_name.items()}
    questions = LinkQuestions(**single_texts, **list_texts)  # type: ignore[arg-type]
    questions.check()
    compared_runs(questions)  # reading them is their check
    name = questions.origin if questions.origin in own_preset_names() else name
    changes = {path: knobs.parse(declaration(path), text) for path, text in parameters.items()}
    return OpenedLink(name, with_values(base, changes), tuple(axes), banner, crash, questions, parts)


def _leave_out_unused(parameters: dict[str, str], axes: Sequence[str], base: Scenario, renamed: dict[str, str]) -> list[str]:
    """Leave out an older link's knobs without effect, because another knob decides; return the other axes.

    `renamed` gets an entry for each, which the banner names.
    """
    base_values, other_axes = values(base), list(axes)
    for unused, deciding, _ in CONTRADICTIONS:
        cause, usual = f"without effect beside {deciding},", KNOBS[unused].default
        swept = [words.split(",") for path, _, words in map(sweep_axes.split_axis, other_axes) if path == deciding]
        text = parameters.get(deciding)
        setting = base_values[deciding] if text is None else knobs.parse(KNOBS[deciding], text)
        if setting == KNOBS[deciding].default and (not swept or knobs.AUTO in swept[0]):
            continue
        unused_text = parameters.pop(unused, None) or _setting_text(unused, base_values[unused])
        if base_values[unused] != usual:
            parameters[unused] = _setting_text(unused, usual)
        if unused_text != _setting_text(unused, usual):
            renamed[f"{unused}={unused_text[:9]}, {cause}"] = f"{unused}={_setting_text(unused, usual)}"
        if any(sweep_axes.split_axis(axis)[0] == unused for axis in other_axes):
            renamed[f"axis {unused}, {cause}"] = "left out"
            other_axes = [axis for axis in other_axes if sweep_axes.split_axis(axis)[0] != unused]
    return other_axes


def _link_version(text: str) -> int:
    if text not in {str(number) for number in range(1, version.LINK + 1)}:
        raise BadLink(
            f"The link has the format v={text[:20]!r}, but this Emberpool opens v=1 to v={version.LINK}; update Emberpool to "
            "open the link."
        )
    return int(text)


def _systems(pairs: Pairs) -> frozenset[str]:
    """Return the training systems of a link; raises BadKnob.

    They are those of an axis, of the knob, or of the preset.
    """
    axes = (sweep_axes.split_axis(text) for name, text in pairs if name == "axis")
    swept = [words.split(",") for path, _, words in axes if path == "system"]
    named_systems = [text for name, text in pairs if name == "system"]
    if swept or named_systems:
        return frozenset((*named_systems, *(system for axis_systems in swept for system in axis_systems)))
    return frozenset((preset(next((text for name, text in pairs if name == "preset"), DEFAULT)).scenario.system,))


def _today_parameter(name: str, text: str, format_: int, systems: frozenset[str]) -> tuple[str, str]:
    """Return a parameter of an older link as written today.

    It is a knob, an axis, a bound or an objective.
    """
    if name in ("axis", "only"):
        path, head, words = sweep_axes.split_axis(text)
        text = head + todays_choice(format_, path, words)
    if name in ("axis", "where", "only"):
        return name, todays_text(text, systems)
    if name == "pareto":
        return name, ",".join(todays_text(part, systems) for part in text.split(","))
    return todays_knob(name, todays_choice(format_, name, text), systems)


def _banner(text: str, renamed: Mapping[str, str], link_arithmetic: str, paths: Collection[str]) -> str:
    if not re.fullmatch(r"[\w.-]{0,80}", link_arithmetic, re.ASCII):
        raise BadLink(f"The link's arithmetic={link_arithmetic[:80]!r} is not the name of known kernels; leave it out.")
    renames_text = " ".join(f"Its {old_text[:80]} is {new_text[:80]} now." for old_text, new_text in renamed.items())
    arithmetic_notes = other_kernels_note(link_arithmetic)
    if text == version.MODEL:
        return " ".join(filter(None, (renames_text, *arithmetic_notes)))
    knobs_text = " ".join(filter(None, (renames_text, *reread_notes(text, paths)))) or "The knobs are the same."
    return (
        f"This link was made with model version {text[:20]!r}; this is {version.MODEL}. "
        f"{knobs_text} Results may differ: CHANGELOG.md lists what changed."
    )
