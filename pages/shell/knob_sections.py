"""The sections of a group of knobs: those of one fault, or of one device, stand together under its title."""

from collections.abc import Sequence
from functools import cache

from engine.registry import every, load
from engine.systems.system import readers

OF_ALL = {"faults": "Every fault", "machine": "The whole machine"}


def sections(paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the knobs by section title, what concerns everything first, else in the order of their first knob."""
    titles = [section(path) for path in paths]
    ordered = sorted(dict.fromkeys(titles), key=lambda title: title not in OF_ALL.values())
    return {title: tuple(path for path, own in zip(paths, titles, strict=True) if own == title) for title in ordered}


@cache
def section(path: str) -> str:
    """Return the title of the fault or the device that a knob belongs to; "" in groups without such parts."""
    group, _, name = path.rpartition(".")
    if group == "faults":
        owners = [fault.title for key, fault in every("faults").items() if name.startswith(f"{key.replace('-', '_')}_")]
    else:
        owners = [load("devices", device).title for device in readers(path)]
    return str(owners[0]) if owners else OF_ALL.get(group, "")
