"""`list`: what there is to choose from, for people and, with --json, for programs."""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .. import registry
from ..caches import policy
from ..core import catalog
from ..core.constants import Constant
from ..core.figures import exact, figure
from ..core.part_files.tables import Availability
from ..faults.fault import mtbfs, published
from ..paths import written_path
from ..scenario import knobs, presets
from ..scenario.scenario import KNOBS
from ..units import HOUR
from . import output, part_check
from .parser import Subparsers

Entry = dict[str, Any]


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("list", help="what there is to choose from")
    parser.add_argument("what", choices=tuple(LISTS))
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--check", type=written_path, metavar="FILE", help="with devices: say what is wrong with a part's file")
    parser.add_argument("--kind", metavar="KIND", help="of the part to check; by default its folder's name")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Write the list; returns the exit status."""
    if arguments.check:
        return part_check.call(arguments.what, arguments.check, arguments.kind)
    entries, columns = LISTS[arguments.what]
    found = entries()
    text = json.dumps(found, indent=1) + "\n" if arguments.json else _lines(found, columns) + _catalogue(found)
    output.write(output.STANDARD, text)
    return 0


def _variants(kind: str) -> Callable[[], list[Entry]]:
    return lambda: [_variant(kind, name) for name in registry.names(kind)]


def _variant(kind: str, name: str) -> Entry:
    """A variant's title, and the idea that its module states in its first line."""
    idea = (registry.module(kind, name).__doc__ or "").partition("\n")[0]
    found = registry.load(kind, name)
    unsure = " (headline only)" if getattr(found, "confidence", "source") == "headline only" else ""
    return {"name": name, "title": getattr(found, "title", name) + unsure, "help": idea}


def _fields(one: Any, *names: str) -> Entry:
    return {name: getattr(one, name) for name in names}


def _metrics() -> list[Entry]:
    return [{"name": name} | _fields(one, "title", "help") for name, one in registry.every("metrics").items()]


def _faults() -> list[Entry]:
    """Each fault with its number, its kind and what it destroys."""
    return [
        {"name": name, "title": one.title, "help": one.summary}
        | {"id": one.id, "kind": one.kind, "destroys": ", ".join(sorted(one.destroys)) or "nothing"}
        for name, one in sorted(registry.every("faults").items(), key=lambda item: (int(item[1].id[1:]), item[0]))
    ]


def _rates() -> list[Entry]:
    """Each published failure rate, with what it was counted from and the source."""
    files = {name: published(name) for name in registry.rate_names() if name != registry.NO_RATES}
    return [
        {"name": name, "fault": fault, **one, "mtbf_hours": mtbfs(name)[fault] / HOUR, "of": content["source"]}
        for name, content in files.items()
        for fault, one in content["faults"].items()
    ]


def _devices() -> list[Entry]:
    """Each device with the knobs that it reads, and every constant that it hangs on, by the part that a knob chooses."""
    return [
        {
            **_variant("devices", name),
            "knobs": list(kind.knobs),
            "parts": [_part(one, part) for one in kind.kinds for part in catalog.names(one)],
            "constants": _constants(kind.parts()),
        }
        for name, kind in registry.every("devices").items()
    ]


def _constants(parts: Mapping[str, Iterable[Constant]]) -> list[Entry]:
    return [{"part": part, **asdict(constant)} for part, constants in parts.items() for constant in constants]


def _part(kind: str, name: str) -> Entry:
    """Whether a part can be bought, and its form where it says one."""
    form = catalog.form(kind, name)
    available = asdict(catalog.availability(kind, name))
    curve = catalog.latency_points(kind, name)
    more: Entry = {"form": form} if form else {}
    more |= {"latency_under_load": curve._asdict()} if curve else {}
    return {"kind": kind, "name": name, "availability": available} | more


def _parts() -> list[Entry]:
    """Each part of the catalogue of hardware, and whether it can be bought."""
    named = (dict(zip(("kind", "name", "title", "help"), one, strict=True)) for one in catalog.summaries())
    return [{**one, "bought": catalog.availability(one["kind"], one["name"]).mark or "-"} for one in named]


def _protections() -> list[Entry]:
    """Each protection with what comes back of each loss, and the constants that its plan hangs on."""
    return [
        {**_variant("protections", name), "keeps": dict(one.keeps), "constants": _constants({"": one.constants})}
        for name, one in registry.every("protections").items()
    ]


def _caches() -> list[Entry]:
    """Each cache policy with the systems that can have it."""
    return [one._asdict() | {"systems": ", ".join(policy.systems_with(name))} for name, one in sorted(policy.POLICIES.items())]


def _presets() -> list[Entry]:
    return [_fields(presets.preset(name), "name", "title", "description", "paper") for name in presets.preset_names()]


def _knobs() -> list[Entry]:
    return [
        _fields(knob, "path", "label", "unit", "kind", "low", "high")
        | {"choices": list(knob.allowed)}
        | _fields(knob, "default", "acts", "help")
        for knob in KNOBS.values()
    ]


def _lines(entries: Sequence[Entry], columns: Sequence[str]) -> str:
    rows = [[_cell(entry, column) for column in columns] for entry in entries]
    widths = [max((len(row[index]) for row in rows), default=0) for index in range(len(columns))]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)


def _catalogue(entries: Sequence[Entry]) -> str:
    """Below the devices, their constants: value, range, how sure, and the source; below each what other sources say."""
    parts = [(entry["name"], part) for entry in entries for part in entry.get("parts", ())]
    marks = [f"{name:19} {said}" for name, part in parts for said in (_bought(part), _under_load(part)) if said]
    rows = [row for entry in entries for one in entry.get("constants", ()) for row in _sources(entry["name"], one)]
    rows = [*marks, *[""] * bool(marks), *rows]
    return "\n" + "\n".join(rows) + "\n" if rows else ""


def _bought(part: Entry) -> str:
    """Return which part cannot be bought, since when, and who says so; "" of others."""
    available = Availability(**part["availability"])
    return f"{part['name']:19} {available.mark}: {available.source}" if available.mark else ""


def _under_load(part: Entry) -> str:
    """Return the latencies under load that a part's file has, "" where it has none."""
    if not (curve := part.get("latency_under_load")):
        return ""
    points = ", ".join(
        f"{exact(round(latency))} at {exact(round(100 * load))} %"
        for load, latency in zip(curve["loads"], curve["latencies"], strict=True)
    )
    return f"{part['name']:19} latency under load {points} [ns], {curve['confidence']}: {curve['source']}"


def _sources(device: str, one: Entry) -> Iterator[str]:
    yield _line(device, one["part"], f"{one['name']} of {one['year']}" if one["year"] else one["name"], one)
    for choice, other in one["others"]:
        yield _line(device, one["part"], f"  machine.{one['switch']}={choice}", other)
    for year, price in one["years"]:
        yield _line(device, one["part"], f"  machine.prices={year}", price)


def _line(device: str, part: str, name: str, one: Entry) -> str:
    extent = f"{exact(one['low'])} to {exact(one['high'])}, {one['confidence']}: {one['source']}"
    return f"{device:19} {part:15} {name:44} {one['value']:>10g} {one['unit']:12} {extent}"


def _cell(entry: Entry, column: str) -> str:
    value = entry[column]
    if column == "mtbf_hours":
        return figure(value, "h")
    return knobs.write(KNOBS[entry["path"]], value) if column == "default" else str(value)


LISTS: dict[str, tuple[Callable[[], list[Entry]], tuple[str, ...]]] = {
    "systems": (_variants("systems"), ("name", "title", "help")),
    "devices": (_devices, ("name", "title", "help")),
    "parts": (_parts, ("kind", "name", "bought", "title", "help")),
    "faults": (_faults, ("id", "name", "title", "destroys", "help")),
    "rates": (_rates, ("name", "fault", "mtbf_hours", "source", "of")),
    "caches": (_caches, ("name", "title", "systems", "help")),
    "protections": (_protections, ("name", "title", "help")),
    "plans": (_variants("plans"), ("name", "title", "help")),
    "metrics": (_metrics, ("name", "title", "help")),
    "presets": (_presets, ("name", "title", "description")),
    "knobs": (_knobs, ("path", "default", "unit", "help")),
}
