"""Long lists in links: knobs with a value per table, packed into one parameter.

The parameter `lists=...` has lines `KNOB=VALUE`, compressed by zlib and encoded by base64url.
"""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from ..core.part_files.lists import LISTING
from ..errors import BadLink
from .questions import Pairs

PARAMETER = "lists"
PACK_CHARACTERS = 60  # longer values are packed [characters]
MOST_LETTERS = 1_000_000  # the most characters that are unpacked


def pack_lists(pairs: Sequence[tuple[str, str]]) -> Pairs:
    """Return a link's parameters with all long lists packed into one parameter.

    The packed parameter stands where the first list stood.
    """
    lists = [(name, text) for name, text in pairs if "." in name and LISTING in text and len(text) > PACK_CHARACTERS]
    if not lists:
        return [*pairs]
    lines = "\n".join(f"{name}={text}" for name, text in lists)
    letters = urlsafe_b64encode(zlib.compress(lines.encode(), 9)).decode().rstrip("=")
    position = pairs.index(lists[0])
    other_pairs = [pair for pair in pairs if pair not in lists]
    return [*other_pairs[:position], (PARAMETER, letters), *other_pairs[position:]]


def unpack_lists(pairs: Sequence[tuple[str, str]]) -> Pairs:
    """Return a link's parameters with its packed lists unpacked; raises BadLink."""
    parameters: Pairs = []
    for name, text in pairs:
        parameters += _lists(text) if name == PARAMETER else [(name, text)]
    return parameters


def _lists(letters: str) -> Pairs:
    try:
        content = zlib.decompressobj()
        lines = content.decompress(urlsafe_b64decode(letters + "=" * (-len(letters) % 4)), MOST_LETTERS).decode()
        complete = content.eof
    except (ValueError, zlib.error):  # UnicodeError and binascii's are ValueErrors
        lines, complete = "", False
    pairs = [(name, text) for name, _, text in (line.partition("=") for line in lines.split("\n"))]
    if not complete or not all("." in name for name, _ in pairs):
        raise BadLink(f"The link's lists={letters[:40]!r} cannot be read; copy the complete link again.")
    return pairs
