"""Sections of a group of knobs: those of one fault or device together."""

from collections.abc import Sequence
from functools import cache

from engine.registry import all_variants, load_variant
from engine.systems.system import readers

OF_ALL = {"faults": "All faults", "machine": "The whole machine"}


def sections(paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the knobs by section title, in the order of their first knob.

    Knobs that concern the whole group come first.
    """
    titles = [section(path) for path in paths]
    ordered = sorted(dict.fromkeys(titles), key=lambda title: title not in OF_ALL.values())
    return {
        title: tuple(path for path, path_title in zip(paths, titles, strict=True) if path_title == title) for title in ordered
    }


@cache
def section(path: str) -> str:
    """Return the title of a knob's fault or device; "" in groups without such."""
    group, _, name = path.rpartition(".")
    if group == "faults":
        owners = [fault.title for key, fault in all_variants("faults").items() if name.startswith(f"{key.replace('-', '_')}_")]
    else:
        owners = [load_variant("devices", device).title for device in readers(path)]
    return str(owners[0]) if owners else OF_ALL.get(group, "")
