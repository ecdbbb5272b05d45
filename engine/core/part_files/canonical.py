"""The canonical text of a part's file, and the digest of that text.

Files of equal content have the same canonical text, which is TOML.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

LEADING_KEYS = ("title", "summary", "value", "low", "high", "unit", "confidence", "source", "note")
BARE_KEY_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
EXACT_INTEGER_LIMIT = 2.0**53  # below this a float holds every whole number


def canonical(content: Mapping[str, Any]) -> str:
    """Return a part's content as canonical TOML text: keys in a fixed order.

    48.0 is written as 48; layout and comments are dropped.
    """
    lines = [f"{_key(key)} = {_toml_text(content[key])}" for key in _ordered(content) if not isinstance(content[key], dict)]
    for key in _ordered(content):
        if isinstance(content[key], dict):
            lines += [
                "",
                f"[{_key(key)}]",
                *(f"{_key(name)} = {_toml_text(content[key][name])}" for name in _ordered(content[key])),
            ]
    return "\n".join(lines) + "\n"


def digest(text: str) -> str:
    """Return the digest of a canonical text: 16 hex digits."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _ordered(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: (LEADING_KEYS.index(key) if key in LEADING_KEYS else len(LEADING_KEYS), key))


def _key(key: str) -> str:
    return key if key and set(key) <= BARE_KEY_LETTERS else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_text(content: Any) -> str:
    """Return one TOML value as text, with tables within tables and lists on one line."""
    if isinstance(content, str):
        return _string(content)
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, float):
        return str(int(content)) if abs(content) < EXACT_INTEGER_LIMIT and content == int(content) else repr(content)
    if isinstance(content, dict):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_toml_text(content[key])}" for key in _ordered(content)) + " }" if content else "{}"
        )
    if isinstance(content, list):
        return "[" + ", ".join(map(_toml_text, content)) + "]"
    return content.isoformat() if hasattr(content, "isoformat") else str(content)
