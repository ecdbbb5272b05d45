"""One colour for each training system, stage and device, the same in every chart.

Colours are readable on light and dark backgrounds.
"""

from collections.abc import Iterable
from functools import cache

from engine import registry
from engine.core.graph import RARE_STAGES, STAGES

SYSTEMS = {
    "ssd": "#8c8c8c",
    "pmem": "#5b7bb4",
    "pcie": "#7b5fa8",
    "cxl-d": "#2f9e9b",
    "cxl-b": "#4fa64a",
    "cxl": "#d9622b",
    "dram": "#c2a02b",
    "all-hbm": "#9c7a1c",
    "cached-embedding": "#1f7f8c",
    "cpu-only": "#6f7780",
    "cpu-gpu": "#4a9fd8",
    "fae": "#86a82b",
    "hotline": "#e07b91",
    "dram-hbm-nodes": "#7f8fd9",
    "mtrains": "#b5651d",
    "cold-in-dram": "#a55a9c",
    "proactive": "#2e8b57",
    "torchrec-uvm": "#c44e52",
    "hierarchical-kv": "#64803c",
    "scratchpipe": "#9467bd",
    "remote-no-cache": "#a39382",
    "bagpipe": "#e0903c",
}
OTHER_COLOURS = ("#c2557f", "#3f8fd0", "#9c6b3f", "#6d9e1f", "#b04a4a", "#5a6c7d")
STAGE_COLOURS: dict[str, str] = {
    "Embedding": "#d9622b",
    "Transfer": "#e8b04a",
    "Collective wait": "#b8860b",
    "Bottom MLP": "#5b7bb4",
    "History layers": "#8a6bb1",
    "Top MLP": "#7fa7d8",
    "Checkpoint": "#2f9e9b",
    "Other": "#a09a92",
}

MEMORY_KINDS = ("#d9622b", "#e8b04a", "#5b7bb4", "#8a6bb1", "#2f9e9b")  # rows, optimizer state, layers, activations, vectors


def systems() -> tuple[str, ...]:
    """Return all training systems in the order of their papers, then those of new files."""
    names = registry.variant_names("systems")
    return (*(name for name in SYSTEMS if name in names), *(name for name in names if name not in SYSTEMS))


@cache
def system_titles() -> dict[str, str]:
    """Return the title of each training system, for pages and charts."""
    return {name: str(registry.load_variant("systems", name).title) for name in systems()}


def family(system: str) -> tuple[str, ...]:
    """Return the systems of one system's family, in the palette's order."""
    family_name = registry.load_variant("systems", system).family
    return tuple(name for name in systems() if registry.load_variant("systems", name).family == family_name)


def known_by(system: str) -> str:
    """Return a text for lists on how well a training system's inner workings are known."""
    return "its headline only" if registry.load_variant("systems", system).confidence == "headline only" else "its sources"


def devices() -> tuple[str, ...]:
    """Return all devices, so that each device has the same colour in every chart.

    The wall outlet is left out: its energy is counted with each device.
    """
    return tuple(name for name in registry.variant_names("devices") if name != "wall")


def named_stages(drawn: Iterable[str]) -> tuple[str, ...]:
    """Return the stages that a legend names: all but the rare ones, and those rare ones that are drawn."""
    rare = set(RARE_STAGES) - set(drawn)
    return tuple(stage for stage in STAGES if stage not in rare)


def colours(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Return a Vega-Lite scale that gives each name its own colour, also if data lacks the name."""
    known_colours = SYSTEMS | STAGE_COLOURS
    spare = [name for name in names if name not in known_colours]
    all_colours = known_colours | {name: OTHER_COLOURS[index % len(OTHER_COLOURS)] for index, name in enumerate(spare)}
    return {"domain": list(names), "range": [all_colours[name] for name in names]}
