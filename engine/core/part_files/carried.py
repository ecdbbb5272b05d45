"""A part of one's own as text for links, stores and other processes: KIND:NAME:DIGEST:VALUES.

VALUES are the canonical text, zlib and base64url. Text from outside is taken only as far as its digest proves it, in bounded
memory, and no path is made of it.
"""

import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection
from functools import lru_cache
from tomllib import loads
from typing import Any

from ...core.figures import count
from ...errors import BadInput
from . import known
from .canonical import canonical, digest
from .known import BETWEEN, NAME, OwnPart

MOST_TEXT = 32_768  # characters of a part's canonical text; the largest of the catalogue takes 5,500
WRITTEN = re.compile(rf"([a-z-]{{1,40}}):({NAME.pattern}):([0-9a-f]{{16}}):([A-Za-z0-9_-]{{8,{MOST_TEXT}}})")
AGAIN = "copy the link again, or ask its sender for the part's file."


@lru_cache(maxsize=256)
def written(part: OwnPart) -> str:
    """Return a part as text; those that it uses are texts of their own."""
    packed = urlsafe_b64encode(zlib.compress(part.text.encode(), 9)).decode().rstrip("=")
    return f"{part.kind}:{part.name}:{part.digest}:{packed}"


def read(text: str, kinds: Collection[str]) -> tuple[OwnPart, dict[str, Any]]:
    """Return the part that a text carries, and its content, whose meaning is not checked; raises BadInput.

    Parts that it uses must be known already.
    """
    match = WRITTEN.fullmatch(text)
    if not match or match[1] not in kinds:
        raise BadInput(f"part={text[:60]!r} is no part, which is KIND:NAME:DIGEST:VALUES; {AGAIN}")
    kind, name, given, packed = match.groups()
    where = f"The part {kind} {name}"
    plain = _unpacked(where, packed)
    if digest(plain) != given:
        raise BadInput(f"{where} has the digest {digest(plain)} and says {given}; {AGAIN}")
    try:
        content = loads(plain)
        same = canonical(content) == plain
    except (ValueError, RecursionError):
        raise BadInput(f"{where} is not valid TOML; {AGAIN}") from None
    if not same:
        raise BadInput(f"{where} is not written as links write parts; {AGAIN}")
    return OwnPart(kind, name, given, plain, where, _used(where, content, kinds)), content


def _unpacked(where: str, packed: str) -> str:
    """Return the text under zlib and base64url, of at most MOST_TEXT bytes; raises BadInput."""
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), MOST_TEXT + 1)
        if len(plain) > MOST_TEXT:
            raise BadInput(f"{where} is longer than {count(MOST_TEXT)} bytes, and a part takes a few thousand; {AGAIN}")
        if not unpacking.eof or unpacking.unused_data:
            raise ValueError("cut off, or with more behind it")
        return plain.decode()
    except (ValueError, zlib.error):
        raise BadInput(f"{where} is damaged; {AGAIN}") from None


def _used(where: str, content: dict[str, Any], kinds: Collection[str]) -> tuple[OwnPart, ...]:
    """Return the parts of one's own that a content names; raises BadInput where one is not known."""
    named = [(kind, name) for kind, name in content.items() if kind in kinds and isinstance(name, str) and BETWEEN in name]
    found = [(kind, name, known.find((kind,), name)) for kind, name in named]
    for kind, name, part in found:
        if part is None:
            raise BadInput(f"{where} uses the {kind} {name[:60]!r}, which does not come before it; {AGAIN}")
    return tuple(part for _, _, part in found if part)
