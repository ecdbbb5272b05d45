"""The own parts that this process knows, by kind and NAME~DIGEST.

The parts come from a folder, a link, a store or another process. A digest always stands for the same content: a changed file is
another part with the same name.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")  # what links, CSV cells and lists of choices can carry
DIGEST_SEPARATOR = "~"  # needs no quotes in an address or a CSV cell
REFERENCE = re.compile(rf"({NAME.pattern}){DIGEST_SEPARATOR}([0-9a-f]{{16}})")
MAX_KNOWN_PARTS = 4096


@dataclass(frozen=True)
class OwnPart:
    """A user's own part.

    kind, name, digest: its kind and name, and the digest of its text.
    text: the canonical text of its file.
    place: where the text was found, for messages.
    uses: the own parts that this part names.
    """

    kind: str
    name: str
    digest: str
    text: str
    place: str = field(compare=False)
    uses: tuple["OwnPart", ...] = ()

    @property
    def reference(self) -> str:
        """The name by which a scenario names the part: NAME~DIGEST."""
        return f"{self.name}{DIGEST_SEPARATOR}{self.digest}"

    @property
    def with_used_parts(self) -> tuple["OwnPart", ...]:
        """All parts that this part uses, in order of use, then this part."""
        return (*(part for used_part in self.uses for part in used_part.with_used_parts), self)


_parts_by_key: OrderedDict[tuple[str, str], OwnPart] = OrderedDict()
_write_lock = Lock()  # readers need no lock: a known part stays in its place or moves to the end in one step


def add_parts(parts: Iterable[OwnPart]) -> None:
    """Make parts known to this process.

    Beyond MAX_KNOWN_PARTS, the parts that were added longest ago are dropped; a part that is added again counts as new.
    """
    with _write_lock:
        for part in parts:
            key = (part.kind, part.reference)
            _parts_by_key.setdefault(key, part)
            _parts_by_key.move_to_end(key)
            if len(_parts_by_key) > MAX_KNOWN_PARTS:
                _parts_by_key.popitem(last=False)


def find_part(kinds: Iterable[str], reference: str | None) -> OwnPart | None:
    """Return the known part NAME~DIGEST of one of `kinds`; None if it is unknown."""
    if not reference or DIGEST_SEPARATOR not in reference:
        return None
    return next((part for kind in kinds if (part := _parts_by_key.get((kind, reference)))), None)
