"""Owned parts by their titles, such as 2 servers with 8 × NVIDIA A100 80 GB each.

A whole server stands for its GPUs, its chassis and a host.
"""

import re
from collections.abc import Iterable, Mapping
from math import inf, isfinite
from typing import NamedTuple

from ...core.arithmetic import total
from ...core.catalog import PartNames, availability, part_content, part_names_of
from ...core.figures import exact
from ...core.part_files.lists import LISTING, OWNABLE, PartEntry, read_entries
from ...errors import BadInput, nearest_hint
from ..devices.chassis import CHASSIS, SLICE, takes_gpu
from .prices import OWNED_MODULE_GB

SERVER_HOST = "server"  # of each whole server
TITLED_KINDS = ("gpu", "chassis", "host", "dram", "media", "drive", "expander", "near-data")
LONE_TITLES: Mapping[str, str] = {"embedding-server": "Embedding server", "gather-card": "Gather card"}
RESEARCH, SERVER_WORD = "research", "server"
COUNTED = re.compile(r"([0-9]+)\s*[x×]\s*(.+)", re.IGNORECASE)
WORD, SIZE = re.compile(r"[^\s,()×]+"), re.compile(r"(\d)\s+(?=[kmgt]i?b\b)", re.IGNORECASE)


class OwnedParts(NamedTuple):
    """Equal parts, or equal servers, that are owned.

    title: the title of one of them. number: their count, None for as many as are needed.
    """

    title: str
    number: float | None = None


def owned_titles() -> Mapping[str, tuple[PartEntry, ...]]:
    """Return the parts of each server or part that can be owned, by title."""
    return {**_servers(), **_single_parts()}


def owned_parts_text(rows: Iterable[OwnedParts]) -> str:
    """Return owned parts as `machine.owned_parts` lists them; equal parts are added.

    A title that is not known is taken as the name of a part.
    """
    titles = owned_titles()
    counts: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        for part in titles.get(row.title) or read_entries(row.title):
            number = inf if row.number is None else row.number * (part.number or 1.0)
            counts.setdefault((part.kind, part.name), []).append(number)
    return LISTING.join(_entry_text(kind, name, float(total(numbers))) for (kind, name), numbers in counts.items())


def owned_rows(text: str) -> tuple[OwnedParts, ...]:
    """Return owned parts by titles: whole servers, then single parts.

    It is the inverse of `owned_parts_text`.
    text: the parts as `machine.owned_parts` lists them.
    """
    owned: dict[tuple[str, str], float] = {}
    for entry in read_entries(text):
        part = _part_of(entry)
        owned[part] = owned.get(part, 0.0) + (inf if entry.number is None else entry.number)
    rows = []
    for title, parts in _servers().items():
        numbers = [owned.get((part.kind, part.name), 0.0) for part in parts]
        count = min(
            number // (part.number or 1.0) if isfinite(number) else 0.0 for number, part in zip(numbers, parts, strict=True)
        )
        if count:
            rows.append(OwnedParts(title, count))
            owned |= {(part.kind, part.name): owned[part.kind, part.name] - count * (part.number or 1.0) for part in parts}
    titles = {(part.kind, part.name): title for title, (part,) in _single_parts().items()}
    rows += [
        OwnedParts(titles.get(part) or PartEntry(*part).text, number if isfinite(number) else None)
        for part, number in owned.items()
        if number
    ]
    return tuple(rows)


def read_owned(text: str) -> OwnedParts:
    """Return the owned parts that a text names.

    Texts are such as "2x8 x A100 80 GB server" and "16xgpu/a100-80". A server without a count is one; of a part without a count,
    as many as are needed are owned.
    Raises BadInput with the nearest title for a text that names none, or several.
    """
    if title := _title_of(text):
        return OwnedParts(title, 1.0 if title in _servers() else None)
    match = COUNTED.fullmatch(text.strip())
    name = match[2] if match else text
    if match and (title := _title_of(name)):
        places = exact(_servers()[title][0].number or 1.0) if title in _servers() else ""
        if places and places not in _words(name):
            words = f"{match[1]}x{places} x {name.strip()}"
            raise BadInput(
                f"own={text[:60]!r} can mean GPUs or servers; for {match[1]} servers of {places} write {words[:60]!r}."
            )
        return OwnedParts(title, float(match[1]))
    known = (*owned_titles(), *(f"{part.kind}/{part.name}".lstrip("/") for (part,) in _single_parts().values()))
    raise BadInput(f"own={text[:60]!r} is not a part or server of the catalogue; {nearest_hint(name.strip(), known)}")


def _title_of(text: str) -> str:
    """Return the title that a name, or words of a title, mean; "" for none.

    Raises BadInput for words of several titles.
    """
    name, servers, single_parts = text.strip(), _servers(), _single_parts()
    named = [title for title, (part,) in single_parts.items() if name in (part.name, f"{part.kind}/{part.name}", title)]
    words = _words(name)
    titles = (*single_parts, *servers) if SERVER_WORD in words else tuple(single_parts)
    if not named and words:
        rest = {title: len(_words(title) - words) for title in titles if words <= _words(title)}
        named = [title for title, number in rest.items() if number == min(rest.values())]
    if len(named) > 1:
        raise BadInput(f"own={name[:60]!r} can be {' or '.join(named[:3])}; write one of them.")
    return named[0] if named else ""


def _words(text: str) -> frozenset[str]:
    """Return the words of a title; a size is one word, and × is none."""
    words = WORD.findall(SIZE.sub(r"\1", text.lower()))
    return frozenset(word for word in words if word != "x")


def _entry_text(kind: str, name: str, number: float) -> str:
    return PartEntry(kind, name, "", number if isfinite(number) else None).text


def _part_of(entry: PartEntry) -> tuple[str, str]:
    """Return kind and name of an entry's part; the kind is "" where several kinds have the name."""
    kinds = [kind for kind in TITLED_KINDS if PartNames((kind,)).scenario_name(entry.name)]
    kind = entry.kind or (kinds[0] if len(kinds) == 1 and entry.name not in OWNABLE.lone else "")
    return kind, PartNames((kind,) if kind else OWNABLE.kinds).list_name(entry.name)


def _servers() -> dict[str, tuple[PartEntry, ...]]:
    """Return the parts of one server by its title, the largest servers first."""
    servers = []
    for chassis in part_names_of("chassis"):
        places = round(CHASSIS[chassis].gpus.value)
        if not places or availability("chassis", chassis).state == RESEARCH:
            continue
        for gpu in part_names_of("gpu"):
            sold = availability("gpu", gpu).state != RESEARCH and SLICE not in _catalogue_title("gpu", gpu)
            if sold and takes_gpu(chassis, gpu):
                parts = (
                    PartEntry("gpu", gpu, "", places),
                    PartEntry("chassis", chassis, "", 1),
                    PartEntry("host", SERVER_HOST, "", 1),
                )
                servers.append((f"Server with {places} × {_catalogue_title('gpu', gpu)}", parts))
    servers.sort(key=lambda server: -(server[1][0].number or 0.0))
    titles = [title for title, _ in servers]
    return {
        title if titles.count(title) == 1 else f"{title} ({parts[1].kind}/{parts[1].name})": parts for title, parts in servers
    }


def _single_parts() -> dict[str, tuple[PartEntry]]:
    """Return the entry of each part by its title, with its name where several parts have the title."""
    parts = [(kind, name, _single_title(kind, name)) for kind in TITLED_KINDS for name in part_names_of(kind)]
    titles = [title for _, _, title in parts]
    named = {title if titles.count(title) == 1 else f"{title} ({kind}/{name})": (kind, name) for kind, name, title in parts}
    lone = {title: ("", word) for word, title in LONE_TITLES.items()}
    return {title: (PartEntry(kind, name),) for title, (kind, name) in {**named, **lone}.items()}


def _single_title(kind: str, name: str) -> str:
    """Return the title of a part that is owned by itself; DIMMs are counted in modules of 64 GB."""
    title = _catalogue_title(kind, name)
    return f"{title}, module of {OWNED_MODULE_GB} GB" if kind == "dram" else title


def _catalogue_title(kind: str, name: str) -> str:
    return str(part_content(kind, name)["title"])
