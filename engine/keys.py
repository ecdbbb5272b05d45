"""The content address of a scenario: equal scenarios have one key, on every computer and in every process."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Literal

from engine import knobs, version
from engine.scenario import KNOBS, Scenario, values

How = Literal["full", "estimate"]


def texts(scenario: Scenario) -> dict[str, str]:
    """Return every knob's canonical text by dotted path: 48 and 48.0 are one bandwidth."""
    return {path: knobs.write(KNOBS[path], knobs.check(KNOBS[path], value)) for path, value in values(scenario).items()}


def key(scenario: Scenario, how: How) -> str:
    """Return the key, 32 hex digits, of what computing `scenario` in full or as an estimate gives."""
    return key_of_texts(texts(scenario), how)


def key_of_texts(written: Mapping[str, str], how: How) -> str:
    """Return the key of a scenario given by its canonical texts."""
    lines = [how, version.MODEL, *(f"{path}={text}" for path, text in written.items())]
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
