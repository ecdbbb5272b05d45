"""The canonical text of a part's file: one TOML text for all files that say the same, and the digest of it."""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

FIRST = ("title", "summary", "value", "low", "high", "unit", "confidence", "source", "note")
BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
EXACT = 2.0**53  # below which a float says every whole number


def canonical(content: Mapping[str, Any]) -> str:
    """Return the content of a part's file as TOML: keys in a fixed order, 48.0 as 48, nothing of layout or comments."""
    lines = [f"{_key(key)} = {_value(content[key])}" for key in _ordered(content) if not isinstance(content[key], dict)]
    for key in _ordered(content):
        if isinstance(content[key], dict):
            lines += ["", f"[{_key(key)}]", *(f"{_key(name)} = {_value(content[key][name])}" for name in _ordered(content[key]))]
    return "\n".join(lines) + "\n"


def digest(text: str) -> str:
    """Return the 16 hex digits by which a canonical text is known."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _ordered(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: (FIRST.index(key) if key in FIRST else len(FIRST), key))


def _key(key: str) -> str:
    return key if key and set(key) <= BARE else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    """Return a value as TOML writes it: tables within tables and lists on one line."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if abs(value) < EXACT and value == int(value) else repr(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(value[key])}" for key in _ordered(value)) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
