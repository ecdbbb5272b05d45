"""Emberpool for scripts and notebooks: `import emberpool as ep`; what it offers is described in `emberpool.engine.api`.

An installed package carries the engine and the presets inside; in a checkout they lie beside this folder.
"""

from pathlib import Path as _Path

if not (_Path(__file__).parent / "engine").is_dir():
    __path__.append(str(_Path(__file__).parent.parent))

from .engine.api import (
    BadInput,
    BadKnob,
    CannotRun,
    EmberpoolError,
    Result,
    Scenario,
    Table,
    cite,
    decide,
    enough,
    estimate,
    failures,
    fit,
    knobs,
    link,
    load,
    parts,
    presets,
    run,
    scenario,
    sweep,
)
from .engine.api import __version__ as __version__

__all__ = [
    "BadInput",
    "BadKnob",
    "CannotRun",
    "EmberpoolError",
    "Result",
    "Scenario",
    "Table",
    "cite",
    "decide",
    "enough",
    "estimate",
    "failures",
    "fit",
    "knobs",
    "link",
    "load",
    "parts",
    "presets",
    "run",
    "scenario",
    "sweep",
]
