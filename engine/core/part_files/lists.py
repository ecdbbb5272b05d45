"""Lists of parts with numbers: owned parts, and quoted prices.

An entry is KIND/NAME:NUMBER, such as gpu/a100-80:16. Entries are separated by ';'.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, isnan
from typing import NamedTuple

from ...errors import BadKnob, nearest_hint
from ...registry import all_variants
from ..arithmetic import total
from ..catalog import KINDS, AnyPart, PartNames, part_names_of
from ..figures import exact
from .known import DIGEST_SEPARATOR, OwnPart, find_part
from .tables import MONEY

LISTING, MOST_USD, MOST_OWNED = ";", 1e9, 1e6


class PartEntry(NamedTuple):
    """An entry of a list of parts.

    kind: kind of the catalogue, "" where the name alone tells.
    name: name of the part.
    key: key of a price in the part's file, "" for its first.
    number: the number, None where none is stated.
    """

    kind: str
    name: str
    key: str = ""
    number: float | None = None

    @property
    def text(self) -> str:
        """The entry as text."""
        name = "/".join(filter(None, (self.kind, self.name, self.key)))
        return name if self.number is None else f"{name}:{_number_text(self.number)}"

    def names(self, kind: str, part: str) -> bool:
        """Return whether the entry is of a part.

        A changed file of an owned part is still of that part.
        """
        return self.kind in ("", kind) and bare_name(self.name) in (bare_name(part), kind)


@dataclass(frozen=True)
class PartList:
    """The grammar of a list of parts.

    parts: the parts that may be in the list.
    word: what the number is, in words. example: an entry.
    kinds: returns the kinds whose parts may be in the list, each with the keys of their prices.
    check_number: returns whether a number is allowed; None where an entry needs none.
    needs_number: whether each entry has a kind and a number.
    """

    parts: PartNames
    word: str
    example: str
    kinds: Callable[[], dict[str, tuple[str, ...]]]
    check_number: Callable[[float], bool]
    needs_number: bool

    def words(self) -> tuple[str, ...]:
        """Return an entry for each part that may be in the list."""
        if not self.needs_number:
            return self.parts()
        return tuple(PartEntry(kind, name, "", 1.0).text for kind in self.kinds() for name in part_names_of(kind))

    def settled(self, path: str, text: str) -> str:
        """Return a list sorted and with the names of a scenario.

        Raises BadKnob for a list that cannot be read; its sentence names `path`.
        """
        entries = sorted({self._checked(path, entry) for entry in read_entries(text)}, key=_order)
        named = [(entry.kind, entry.name, entry.key) for entry in entries]
        if twice := next((entry for entry in entries if named.count((entry.kind, entry.name, entry.key)) > 1), None):
            raise BadKnob(f"{path} names {twice.name[:60]} twice, with different numbers; name it once.")
        return LISTING.join(entry.text for entry in entries)

    def in_force(self, text: str) -> str:
        """Return a list whose own parts have the names of their present files."""
        entries = [entry._replace(name=self._scenario_name(entry) or entry.name) for entry in read_entries(text)]
        return LISTING.join(entry.text for entry in sorted(entries, key=_order))

    def own_parts(self, text: str) -> list[OwnPart]:
        """Return the user's own parts of a list."""
        found = (find_part((entry.kind,) if entry.kind else self.parts.kinds, entry.name) for entry in read_entries(text))
        return [part for part in found if part]

    def _checked(self, path: str, entry: PartEntry) -> PartEntry:
        kinds = self.kinds()
        if entry.kind and entry.kind not in kinds:
            hint = nearest_hint(entry.kind, tuple(kinds))
            raise BadKnob(f"{path} names the kind {entry.kind[:40]!r}, which is not known; {hint}")
        if self.needs_number and (not entry.kind or entry.number is None):
            raise BadKnob(f"{path} has the entry {entry.text[:60]!r}; write {self.example}, with {self.word}, separated by ';'.")
        name = self._scenario_name(entry)
        if name is None:
            names = PartNames((entry.kind,)) if entry.kind else self.parts
            refusal = names.refusal(entry.name) or f"is not known; {nearest_hint(entry.name, names())}"
            raise BadKnob(f"{path} names {entry.name[:60]!r}, which {refusal}")
        if entry.key and not kinds[entry.kind]:
            part = f"{entry.name[:40]}/{entry.key[:40]}"
            raise BadKnob(f"{path} names {part}, but owned parts have no price; write {self.example}.")
        if entry.key and entry.key not in kinds[entry.kind]:
            raise BadKnob(f"{path} names the price {entry.key[:40]!r}; {nearest_hint(entry.key, kinds[entry.kind])}")
        if entry.number is not None and not (isfinite(entry.number) and self.check_number(entry.number)):
            stated = "a number that cannot be read" if isnan(entry.number) else f"the number {_number_text(entry.number)}"
            raise BadKnob(f"{path} gives {entry.name[:60]} {stated}; write {self.word}, as in {self.example}.")
        key = "" if entry.key and entry.key == kinds[entry.kind][0] else entry.key
        kind = entry.kind
        if not kind and entry.number is not None and name not in getattr(self.parts, "lone", ()):
            kind = self._sole_kind(path, entry.name)
        return entry._replace(kind=kind, name=name, key=key)

    def _sole_kind(self, path: str, name: str) -> str:
        """Return the kind of a part with a number; raises BadKnob where several kinds have the name."""
        having = [kind for kind in self.kinds() if PartNames((kind,)).scenario_name(name) is not None]
        if len(having) > 1:
            named = " or ".join(f"{kind}/{name}" for kind in having)
            raise BadKnob(f"{path} names {name[:60]}, a part of several kinds; write {named} with its number.")
        return having[0]

    def _scenario_name(self, entry: PartEntry) -> str | None:
        return (PartNames((entry.kind,)) if entry.kind else self.parts).scenario_name(entry.name)


def _order(entry: PartEntry) -> tuple[str, ...]:
    return entry.kind, entry.name, entry.key, entry.text


def bare_name(name: str) -> str:
    """Return a part's name without the digest of its file."""
    return name.partition(DIGEST_SEPARATOR)[0]


def owned_count(text: str, kind: str, part: str) -> float:
    """Return how many of a part are owned; infinite for an entry without a number."""
    return float(total(inf if entry.number is None else entry.number for entry in read_entries(text) if entry.names(kind, part)))


def owns(text: str, kind: str, part: str, count: float = 1) -> bool:
    """Return whether a list of owned parts has so many of a part."""
    return bool(text) and owned_count(text, kind, part) >= count


@lru_cache(maxsize=256)
def read_entries(text: str) -> tuple[PartEntry, ...]:
    """Return the entries of a list; a number that cannot be read is NaN."""
    return tuple(_entry(word.strip()) for word in text.split(LISTING) if word.strip())


def _entry(word: str) -> PartEntry:
    named, colon, number = word.rpartition(":") if ":" in word else (word, "", "")
    kind, slash, name = named.strip().partition("/")
    name, _, key = name.partition("/") if slash else (kind, "", "")
    return PartEntry(kind if slash else "", name, key, _number(number) if colon else None)


def _number(text: str) -> float:
    try:
        return float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        return float("nan")


def _number_text(number: float) -> str:
    return repr(int(number)) if isfinite(number) and number == int(number) else repr(number)


def _ownable_kinds() -> dict[str, tuple[str, ...]]:
    return dict.fromkeys((*OWNABLE.kinds, *OWNABLE.lone), ())


def _priced_kinds() -> dict[str, tuple[str, ...]]:
    """Return the kinds of parts that have prices, each with the keys of its prices."""
    all_variants("devices")  # which declare the kinds
    priced = {kind: tuple(quantity.key for quantity in one.quantities() if quantity.unit in MONEY) for kind, one in KINDS.items()}
    return {kind: keys for kind, keys in priced.items() if keys}


OWNABLE = AnyPart(
    ("gpu", "gpu-replay", "host", "dram", "media", "drive", "expander", "chassis", "near-data"),
    ("embedding-server", "gather-card"),
)
OWNED = PartList(
    OWNABLE,
    f"a whole number from 1 to {exact(MOST_OWNED)}",
    "gpu/a100-80:16",
    _ownable_kinds,
    lambda number: number == int(number) and 1 <= number <= MOST_OWNED,
    needs_number=False,
)
QUOTES = PartList(
    PartNames(OWNABLE.kinds),
    f"USD from 0 to {exact(MOST_USD)}",
    "gpu/h200:31000",
    _priced_kinds,
    lambda number: 0 <= number <= MOST_USD,
    needs_number=True,
)
