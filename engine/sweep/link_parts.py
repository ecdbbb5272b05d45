"""Parts of one's own in links: what a link carries of them, and how it is taken over where it is opened.

`part=KIND:NAME:DIGEST:VALUES` once a part, behind those that it uses. A knob names it as NAME~DIGEST, or by its name alone.
"""

from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, urlsplit

from ..core.catalog import PartNames, kinds, names, own_folder
from ..core.part_files import known, use
from ..core.part_files.known import OwnPart
from ..errors import BadInput, BadLink
from ..scenario.machine import own_parts
from ..scenario.scenario import KNOBS, Scenario
from .axes import halves, parse

PARAMETER = "part"
CHOICES = {path: knob.choices for path, knob in KNOBS.items() if isinstance(knob.choices, PartNames)}


def carried(scenario: Scenario, axes: Iterable[str]) -> list[str]:
    """Return the parts of one's own that a scenario has or axes name, as links carry them."""
    found = list(own_parts(scenario.machine))
    for path, _, text in map(halves, axes):
        if choices := CHOICES.get(path):
            found += [part for word in text.split(",") if (part := known.find(choices.kinds, word))]
    return use.carry(found)


def settled(axis: str) -> str:
    """Return an axis, or a list of words, as links write it: parts of one's own by NAME~DIGEST."""
    return str(parse(axis)) if halves(axis)[0] in CHOICES else axis


def taken(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], tuple[OwnPart, ...]]:
    """Make the parts that a link carries known; return the other parameters, which name them by NAME~DIGEST, and the parts.

    Raises BadLink.
    """
    try:
        parts = use.accept([text for name, text in pairs if name == PARAMETER])
    except BadInput as error:
        raise BadLink(f"The link's parts cannot be read. {error}") from None
    rest = [(name, text) for name, text in pairs if name != PARAMETER]
    return [(name, _named(name, text, parts)) for name, text in rest] if parts else rest, parts


def bring(link: str) -> None:
    """Make the parts known that a link of ours carries, whatever else it says; raises BadLink."""
    taken(parse_qsl(urlsplit(link).query))


def _named(name: str, text: str, parts: Iterable[OwnPart]) -> str:
    """Return the words of a knob, or of an axis of one, with the link's parts by NAME~DIGEST where they have names alone."""
    path, head, words = halves(text) if name in ("axis", "only") else (name, "", text)
    if not (choices := CHOICES.get(path)):
        return text
    brought = {part.name: part.reference for part in parts if part.kind in choices.kinds}
    return head + ",".join(brought.get(word.strip(), word) for word in words.split(","))


def banner(parts: Iterable[OwnPart]) -> str:
    """Say which parts are the sender's: those that the folder of this computer does not have as they are."""
    return " ".join(f"The {part.kind} {part.name} is a part of the sender's{_other(part)}." for part in parts if is_foreign(part))


def is_foreign(part: OwnPart) -> bool:
    """Whether a part is not of this computer's folder, as it is now."""
    return _digest(part) != part.digest


def _digest(part: OwnPart) -> str:
    """Return the digest of this computer's own part of the same name, "" without one."""
    ours = own_folder().parts.get((part.kind, part.name))
    return ours.digest if ours else ""


def _other(part: OwnPart) -> str:
    """Say that a part of the same name is here, with other values."""
    if ours := _digest(part):
        return f", with other values than yours of that name; the link's are taken ({part.digest}; yours: {ours})"
    if part.kind in kinds() and part.name in names(part.kind):
        return ", with other values than the catalogue's of that name; the link's are taken"
    return ", whose values the link carries"
