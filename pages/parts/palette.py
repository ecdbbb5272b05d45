"""One colour per training system, stage and device, the same on every chart, in light and dark."""

from engine import registry
from engine.result import STAGES

SYSTEMS = {
    "ssd": "#8c8c8c",
    "pmem": "#5b7bb4",
    "pcie": "#7b5fa8",
    "cxl-d": "#2f9e9b",
    "cxl-b": "#4fa64a",
    "cxl": "#d9622b",
    "dram": "#c2a02b",
    "all-hbm": "#c2a02b",
    "cached-embedding": "#2f9e9b",
    "cpu-only": "#8c8c8c",
    "cpu-gpu": "#5b7bb4",
    "fae": "#4fa64a",
    "hotline": "#d9622b",
    "dram-hbm-nodes": "#5b7bb4",
    "mtrains": "#d9622b",
    "cold-in-dram": "#7b5fa8",
    "proactive": "#4fa64a",
    "torchrec-uvm": "#d9622b",
    "scratchpipe": "#7b5fa8",
    "remote-no-cache": "#8c8c8c",
    "bagpipe": "#d9622b",
}
OTHERS = ("#c2557f", "#3f8fd0", "#9c6b3f", "#6d9e1f", "#b04a4a", "#5a6c7d")
STAGE_COLOURS = dict(zip(STAGES, ("#d9622b", "#e8b04a", "#5b7bb4", "#7fa7d8", "#2f9e9b", "#a09a92"), strict=True))


def systems() -> tuple[str, ...]:
    """Return all training systems: the known ones in the order of their papers, then any new file's."""
    found = registry.names("systems")
    return (*(name for name in SYSTEMS if name in found), *(name for name in found if name not in SYSTEMS))


def family(system: str) -> tuple[str, ...]:
    """Return the systems of one system's family, itself among them, in the same order."""
    own = registry.load("systems", system).family
    return tuple(name for name in systems() if registry.load("systems", name).family == own)


def devices() -> tuple[str, ...]:
    """Return all devices, so that a component keeps its colour whichever others are in use.

    The wall is none of them: what it adds is counted with each device.
    """
    return tuple(name for name in registry.names("devices") if name != "wall")


def colours(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Return a Vega-Lite scale that gives each name its own colour, whatever the data holds."""
    spare = [name for name in names if name not in SYSTEMS and name not in STAGE_COLOURS]
    own = {**SYSTEMS, **STAGE_COLOURS, **{name: OTHERS[index % len(OTHERS)] for index, name in enumerate(spare)}}
    return {"domain": list(names), "range": [own[name] for name in names]}
