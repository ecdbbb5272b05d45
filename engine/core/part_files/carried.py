"""A user's own part as text for links, stores and other processes: KIND:NAME:DIGEST:VALUES.

VALUES is the canonical text, compressed by zlib and encoded by base64url. A text from outside is accepted only if its digest is
right. It is decompressed in limited memory, and never becomes a path.
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
from .known import DIGEST_SEPARATOR, NAME, OwnPart

MAX_TEXT_LENGTH = 32_768  # characters of a part's canonical text; the largest of the catalogue takes 5,500
PART_TEXT = re.compile(rf"([a-z-]{{1,40}}):({NAME.pattern}):([0-9a-f]{{16}}):([A-Za-z0-9_-]{{8,{MAX_TEXT_LENGTH}}})")
COPY_AGAIN = "copy the link again, or ask its sender for the part's file."


@lru_cache(maxsize=256)
def part_text(part: OwnPart) -> str:
    """Return an own part as text, without the parts that it uses."""
    packed = urlsafe_b64encode(zlib.compress(part.text.encode(), 9)).decode().rstrip("=")
    return f"{part.kind}:{part.name}:{part.digest}:{packed}"


def read_part(text: str, kinds: Collection[str]) -> tuple[OwnPart, dict[str, Any]]:
    """Return the own part in a text, and its parsed but unchecked content.

    The parts that this part uses must be known to this process. Raises BadInput.
    """
    match = PART_TEXT.fullmatch(text)
    if not match or match[1] not in kinds:
        raise BadInput(f"part={text[:60]!r} is not a part, which is written KIND:NAME:DIGEST:VALUES; {COPY_AGAIN}")
    kind, name, stated_digest, packed = match.groups()
    part_label = f"The part {kind} {name}"
    canonical_text = _unpacked(part_label, packed)
    if digest(canonical_text) != stated_digest:
        raise BadInput(f"{part_label} has the digest {digest(canonical_text)}, but the link says {stated_digest}; {COPY_AGAIN}")
    try:
        content = loads(canonical_text)
        is_canonical = canonical(content) == canonical_text
    except (ValueError, RecursionError):
        raise BadInput(f"{part_label} is not valid TOML; {COPY_AGAIN}") from None
    if not is_canonical:
        raise BadInput(f"{part_label} is not in the form in which links contain parts; {COPY_AGAIN}")
    return OwnPart(kind, name, stated_digest, canonical_text, part_label, _named_parts(part_label, content, kinds)), content


def _unpacked(part_label: str, packed: str) -> str:
    """Return the text under zlib and base64url, of at most MOST_TEXT bytes; raises BadInput."""
    unpacking = zlib.decompressobj()
    try:
        text_bytes = unpacking.decompress(urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), MAX_TEXT_LENGTH + 1)
        if len(text_bytes) > MAX_TEXT_LENGTH:
            raise BadInput(
                f"{part_label} is longer than {count(MAX_TEXT_LENGTH)} bytes, but a part has a few thousand; {COPY_AGAIN}"
            )
        if not unpacking.eof or unpacking.unused_data:
            raise ValueError("cut off, or with more behind it")
        return text_bytes.decode()
    except (ValueError, zlib.error):
        raise BadInput(f"{part_label} is damaged; {COPY_AGAIN}") from None


def _named_parts(part_label: str, content: dict[str, Any], kinds: Collection[str]) -> tuple[OwnPart, ...]:
    """Return the own parts that a content names; raises BadInput if one is not known."""
    references = [
        (kind, name) for kind, name in content.items() if kind in kinds and isinstance(name, str) and DIGEST_SEPARATOR in name
    ]
    named_parts = [(kind, name, known.find_part((kind,), name)) for kind, name in references]
    for kind, name, part in named_parts:
        if part is None:
            raise BadInput(
                f"{part_label} uses the {kind} {name[:60]!r}, which does not stand before it in the link; {COPY_AGAIN}"
            )
    return tuple(part for _, _, part in named_parts if part)
