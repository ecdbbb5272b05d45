"""Users' own parts in links: how a link carries them, and how they are read.

A link has `part=KIND:NAME:DIGEST:VALUES` once for each part, after the parts that this part uses. A knob names a part as
NAME~DIGEST, or as NAME.
"""

from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, urlsplit

from ..core.catalog import PartNames, kinds, own_folder, part_names_of
from ..core.part_files import known, use
from ..core.part_files.known import OwnPart
from ..errors import BadInput, BadLink
from ..scenario.machine import own_parts
from ..scenario.scenario import KNOBS, Scenario
from .axes import parse, split_axis

PARAMETER = "part"
CHOICES = {path: knob.choices for path, knob in KNOBS.items() if isinstance(knob.choices, PartNames)}


def link_parts_of(scenario: Scenario, axes: Iterable[str]) -> list[str]:
    """Return the own parts that a scenario and axes name, as texts for a link."""
    parts = list(own_parts(scenario.machine))
    for path, _, text in map(split_axis, axes):
        if choices := CHOICES.get(path):
            parts += [part for word in text.split(",") if (part := known.find_part(choices.kinds, word))]
    return use.part_texts(parts)


def referenced_axis(axis: str) -> str:
    """Return an axis or a list of words with NAME~DIGEST for each own part."""
    return str(parse(axis)) if split_axis(axis)[0] in CHOICES else axis


def accept_parts(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], tuple[OwnPart, ...]]:
    """Make a link's own parts known; return its other parameters, and the parts.

    The returned parameters name the parts by NAME~DIGEST. Raises BadLink.
    """
    try:
        parts = use.accept_parts([text for name, text in pairs if name == PARAMETER])
    except BadInput as error:
        raise BadLink(f"The link's parts cannot be read. {error}") from None
    rest = [(name, text) for name, text in pairs if name != PARAMETER]
    return [(name, _referenced_words(name, text, parts)) for name, text in rest] if parts else rest, parts


def accept_link_parts(link: str) -> None:
    """Make the own parts that a link carries known to this process; raises BadLink."""
    accept_parts(parse_qsl(urlsplit(link).query))


def _referenced_words(name: str, text: str, parts: Iterable[OwnPart]) -> str:
    """Return a parameter's words with NAME~DIGEST for the link's parts that are named without digest."""
    path, head, words = split_axis(text) if name in ("axis", "only") else (name, "", text)
    if not (choices := CHOICES.get(path)):
        return text
    brought = {part.name: part.reference for part in parts if part.kind in choices.kinds}
    return head + ",".join(brought.get(word.strip(), word) for word in words.split(","))


def banner(parts: Iterable[OwnPart]) -> str:
    """Return sentences on a link's own parts that differ from this computer's parts."""
    return " ".join(
        (f"The {part.kind} {part.name} is a part of the link's sender{_sender_clause(part)}.")
        for part in parts
        if is_foreign(part)
    )


def is_foreign(part: OwnPart) -> bool:
    """Return whether this computer has no own part of the same name and content."""
    return _digest(part) != part.digest


def _digest(part: OwnPart) -> str:
    """Return the digest of this computer's own part of the same name, "" without one."""
    own_part = own_folder().parts.get((part.kind, part.name))
    return own_part.digest if own_part else ""


def _sender_clause(part: OwnPart) -> str:
    """Return a clause on the values of a sender's part.

    The link's values are taken.
    """
    if own_digest := _digest(part):
        return (
            f", with other values than your part of that name; the values of the link are used ({part.digest}; yours: "
            f"{own_digest})"
        )
    if part.kind in kinds() and part.name in part_names_of(part.kind):
        return ", with other values than the catalogue's part of that name; the values of the link are used"
    return ", whose values the link carries"
