"""The parts of one's own that this process knows, by kind and NAME~DIGEST: of a folder, a link, a store or another process.

A digest stands for one content for ever: that a file has changed makes another part of the same name.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")  # what links, CSV cells and lists of choices can carry
BETWEEN = "~"  # which no address and no CSV cell has to quote
REFERENCE = re.compile(rf"({NAME.pattern}){BETWEEN}([0-9a-f]{{16}})")
MOST_KNOWN = 4096


@dataclass(frozen=True)
class OwnPart:
    """A part of one's own: its canonical text, where that was found, and the parts of one's own that it names itself."""

    kind: str
    name: str
    digest: str
    text: str
    where: str = field(compare=False)
    uses: tuple["OwnPart", ...] = ()

    @property
    def reference(self) -> str:
        """The name that a scenario has for it: NAME~DIGEST."""
        return f"{self.name}{BETWEEN}{self.digest}"

    @property
    def whole(self) -> tuple["OwnPart", ...]:
        """The part behind all that it uses."""
        return (*(one for used in self.uses for one in used.whole), self)


_known: OrderedDict[tuple[str, str], OwnPart] = OrderedDict()
_writing = Lock()  # who looks one up needs none: a part that is known stays in its place or moves to the end in one step


def add(parts: Iterable[OwnPart]) -> None:
    """Make parts known, or known for longer; beyond MOST_KNOWN those go that were added longest ago."""
    with _writing:
        for part in parts:
            key = (part.kind, part.reference)
            _known.setdefault(key, part)
            _known.move_to_end(key)
            if len(_known) > MOST_KNOWN:
                _known.popitem(last=False)


def find(kinds: Iterable[str], reference: str | None) -> OwnPart | None:
    """Return the part of one of some kinds that is called NAME~DIGEST, None where this process does not know it."""
    if not reference or BETWEEN not in reference:
        return None
    return next((part for kind in kinds if (part := _known.get((kind, reference)))), None)
