"""`list`: systems, devices, knobs and other choices, for people and, with --json, for programs."""

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
from ..faults.fault import published_mtbfs, published_rates
from ..paths import user_path
from ..scenario import knobs, presets
from ..scenario.scenario import KNOBS
from ..units import HOUR
from . import output, part_check
from .parser import Subparsers

ListRow = dict[str, Any]


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("list", help="what there is to choose from")
    parser.add_argument("what", choices=tuple(LISTS))
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--check", type=user_path, metavar="FILE", help="with devices: say what is wrong with a part's file")
    parser.add_argument("--kind", metavar="KIND", help="with --check: the kind of the part; by default the name of its folder")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Write the list; returns the exit status."""
    if arguments.check:
        return part_check.call(arguments.what, arguments.check, arguments.kind)
    entries, columns = LISTS[arguments.what]
    list_rows = entries()
    if arguments.json:
        output.write(output.STANDARD, json.dumps(list_rows, indent=1) + "\n")
    else:
        output.write_for_people(_lines(list_rows, columns) + _catalogue(list_rows))
    return 0


def _variants(kind: str) -> Callable[[], list[ListRow]]:
    return lambda: [_variant(kind, name) for name in registry.variant_names(kind)]


def _variant(kind: str, name: str) -> ListRow:
    """Return a variant's title, and the idea that the first line of its module states."""
    idea = (registry.variant_module(kind, name).__doc__ or "").partition("\n")[0]
    variant = registry.load_variant(kind, name)
    unsure = " (headline only)" if getattr(variant, "confidence", "source") == "headline only" else ""
    return {"name": name, "title": getattr(variant, "title", name) + unsure, "help": idea}


def _fields(owner: Any, *names: str) -> ListRow:
    return {name: getattr(owner, name) for name in names}


def _metrics() -> list[ListRow]:
    return [{"name": name} | _fields(metric, "title", "help") for name, metric in registry.all_variants("metrics").items()]


def _faults() -> list[ListRow]:
    """Return each fault with its number, its kind and the media that it destroys."""
    return [
        {"name": name, "title": fault.title, "help": fault.summary}
        | {"id": fault.id, "kind": fault.kind, "destroys": ", ".join(sorted(fault.destroys)) or "nothing"}
        for name, fault in sorted(registry.all_variants("faults").items(), key=lambda pair: (int(pair[1].id[1:]), pair[0]))
    ]


def _rates() -> list[ListRow]:
    """Return each published failure rate, with the counts that it was computed from and the source."""
    files = {name: published_rates(name) for name in registry.rate_names() if name != registry.NO_RATES}
    return [
        {"name": name, "fault": fault, **rate, "mtbf_hours": published_mtbfs(name)[fault] / HOUR, "of": content["source"]}
        for name, content in files.items()
        for fault, rate in content["faults"].items()
    ]


def _devices() -> list[ListRow]:
    """Return each device with the knobs that it reads, and its constants, by the part that a knob chooses."""
    return [
        {
            **_variant("devices", name),
            "knobs": list(kind.knobs),
            "parts": [_part(part_kind, part) for part_kind in kind.kinds for part in catalog.part_names_of(part_kind)],
            "constants": _constants(kind.parts()),
        }
        for name, kind in registry.all_variants("devices").items()
    ]


def _constants(parts: Mapping[str, Iterable[Constant]]) -> list[ListRow]:
    return [
        {"part": part, **asdict(constant, dict_factory=_constant_row)}
        for part, constants in parts.items()
        for constant in constants
    ]


def _constant_row(fields: list[tuple[str, Any]]) -> ListRow:
    """Return the fields of a constant by their names in the listing, which are those of a part's file."""
    return {"others" if name == "other_sources" else name: field for name, field in fields}


def _part(kind: str, name: str) -> ListRow:
    """Return a part's availability, its form, and its latencies under load, where its file has them."""
    form = catalog.form(kind, name)
    available = asdict(catalog.availability(kind, name))
    curve = catalog.latency_points(kind, name)
    details: ListRow = {"form": form} if form else {}
    details |= {"latency_under_load": curve._asdict()} if curve else {}
    return {"kind": kind, "name": name, "availability": available} | details


def _parts() -> list[ListRow]:
    """Return each part of the catalogue of hardware, and whether it can be bought."""
    summaries = (dict(zip(("kind", "name", "title", "help"), summary, strict=True)) for summary in catalog.summaries())
    return [{**summary, "bought": catalog.availability(summary["kind"], summary["name"]).mark or "-"} for summary in summaries]


def _protections() -> list[ListRow]:
    """Return each protection with the state that it keeps after each loss, and the constants of its plan."""
    return [
        {
            **_variant("protections", name),
            "keeps": dict(protection.fidelity_by_loss),
            "constants": _constants({"": protection.constants}),
        }
        for name, protection in registry.all_variants("protections").items()
    ]


def _caches() -> list[ListRow]:
    """Return each cache policy with the systems that can have it."""
    return [
        cache_policy._asdict() | {"systems": ", ".join(policy.systems_with(name))}
        for name, cache_policy in sorted(policy.POLICIES.items())
    ]


def _presets() -> list[ListRow]:
    """Return each preset, shipped ones first; `file` is the file of an own preset, whose title says that it is own."""
    listed = map(presets.preset, (*presets.preset_names(), *presets.own_preset_names()))
    return [_fields(preset, "name", "title", "description", "paper", "file") | {"title": preset.list_title} for preset in listed]


def _knobs() -> list[ListRow]:
    return [
        _fields(knob, "path", "label", "unit", "kind", "low", "high")
        | {"choices": list(knob.allowed)}
        | _fields(knob, "default", "acts", "help")
        for knob in KNOBS.values()
    ]


def _lines(entries: Sequence[ListRow], columns: Sequence[str]) -> str:
    rows = [[_cell(list_row, column) for column in columns] for list_row in entries]
    widths = [max((len(row[index]) for row in rows), default=0) for index in range(len(columns))]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)


def _catalogue(entries: Sequence[ListRow]) -> str:
    """Return the devices' constants as lines: value, range, confidence and source, then the values of other sources."""
    parts = [(device["name"], part) for device in entries for part in device.get("parts", ())]
    marks = [f"{name:19} {text}" for name, part in parts for text in (_bought(part), _under_load(part)) if text]
    rows = [row for device in entries for constant in device.get("constants", ()) for row in _sources(device["name"], constant)]
    rows = [*marks, *[""] * bool(marks), *rows]
    return "\n" + "\n".join(rows) + "\n" if rows else ""


def _bought(part: ListRow) -> str:
    """Return a line for a part that cannot be bought, with since when and the source; "" for others."""
    available = Availability(**part["availability"])
    return f"{part['name']:19} {available.mark}: {available.source}" if available.mark else ""


def _under_load(part: ListRow) -> str:
    """Return a line of a part's latencies under load; "" where its file has none."""
    if not (curve := part.get("latency_under_load")):
        return ""
    points = ", ".join(
        f"{exact(round(latency))} at {exact(round(100 * load))} %"
        for load, latency in zip(curve["loads"], curve["latencies"], strict=True)
    )
    return f"{part['name']:19} latency under load {points} [ns], {curve['confidence']}: {curve['source']}"


def _sources(device: str, constant: ListRow) -> Iterator[str]:
    year_text = f" of {constant['year']}" if constant["year"] else ""
    yield _line(device, constant["part"], f"{constant['name']}{year_text}{_used(constant)}", constant)
    for choice, alternative in constant["others"]:
        yield _line(device, constant["part"], f"  machine.{constant['switch']}={choice}", alternative)
    for year, price in constant["years"]:
        yield _line(device, constant["part"], f"  machine.prices={year}{_used(price)}", price)


def _used(price: ListRow) -> str:
    return ", used" if price["used"] else ""


def _line(device: str, part: str, name: str, constant: ListRow) -> str:
    extent = f"{exact(constant['low'])} to {exact(constant['high'])}, {constant['confidence']}: {constant['source']}"
    return f"{device:19} {part:15} {name:44} {constant['value']:>10g} {constant['unit']:12} {extent}"


def _cell(list_row: ListRow, column: str) -> str:
    cell = list_row[column]
    if column == "mtbf_hours":
        return figure(cell, "h")
    return knobs.write(KNOBS[list_row["path"]], cell) if column == "default" else str(cell)


LISTS: dict[str, tuple[Callable[[], list[ListRow]], tuple[str, ...]]] = {
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
