"""Numbers of the validation in a file, for later processes.

A file is read only if its first line is the digest of its text and of all that the numbers depend on.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from .. import version
from ..core.arithmetic import arithmetic, numeric_packages
from ..errors import BadFile
from ..results.csv_table import write_atomically
from ..scenario.keys import digest, key
from ..scenario.presets import preset, preset_names
from .claims import claims
from .validate import ClaimVerdict, validate


@cache
def content_digest() -> str:
    """Return a digest of the engine, the arithmetic kernels, the numeric packages, and all presets.

    The engine's files include its parts, and the presets' files their claims, as this process has read them. Return "" if the
    engine's files have changed since its start.
    """
    if version.code_has_changed():
        return ""
    presets = (f"{name} {key(preset(name).scenario, 'full')} {claims(name)!r}" for name in preset_names())
    return digest([version.CODE, arithmetic(), numeric_packages(), *presets])


def dated_verdicts(name: str) -> tuple[str, tuple[ClaimVerdict, ...]]:
    """Return the content digest of this process, and computed verdicts on a preset's claims."""
    verdicts = validate((name,))
    return "" if version.code_has_changed() else content_digest(), verdicts


def computed_fields(verdicts: Iterable[ClaimVerdict]) -> list[Any]:
    """Return the fields of verdicts that are computed, for `write_numbers`."""
    return [(v.simulated_value, v.caused_value, v.objections, v.roofline) for v in verdicts]


def verdicts_of(name: str, numbers: Iterable[Any]) -> tuple[ClaimVerdict, ...]:
    """Return the verdicts on a preset's claims from the fields that are computed."""
    return tuple(
        ClaimVerdict(name, claim, simulated_value, caused_value, tuple(objections), roofline)
        for claim, (simulated_value, caused_value, objections, roofline) in zip(claims(name), numbers, strict=True)
    )


def read_numbers(path: Path) -> Any:
    """Return the numbers of a file as JSON has them.

    Return None for a file that is missing, damaged or of other content.
    """
    try:
        mark, _, text = path.read_text(encoding="utf-8").partition("\n")
        return json.loads(text) if content_digest() and mark == digest([content_digest(), text]) else None
    except (OSError, ValueError):
        return None


def write_numbers(path: Path, numbers: Any) -> None:
    """Write numbers to a file for later processes, if it can be written."""
    text = json.dumps(numbers)
    if content_digest() and not version.code_has_changed():
        with suppress(BadFile, OSError):
            path.parent.mkdir(0o700, exist_ok=True)
            write_atomically(path, f"{digest([content_digest(), text])}\n{text}")
