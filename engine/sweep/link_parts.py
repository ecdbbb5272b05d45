"""Own parts in links: how links carry them, and how they are accepted.

`part=KIND:NAME:DIGEST:VALUES` once for each part, behind the parts that it uses. A knob names a part as NAME~DIGEST, or by its
name alone.
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
    """Return the own parts of a scenario and of axes, as texts of a link."""
    parts = list(own_parts(scenario.machine))
    for path, _, text in map(split_axis, axes):
        if choices := CHOICES.get(path):
            parts += [part for word in text.split(",") if (part := known.find_part(choices.kinds, word))]
    return use.part_texts(parts)


def referenced_axis(axis: str) -> str:
    """Return an axis or a list of words with own parts as NAME~DIGEST."""
    return str(parse(axis)) if split_axis(axis)[0] in CHOICES else axis


def accept_parts(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], tuple[OwnPart, ...]]:
    """Register a link's own parts; return the other parameters, and the parts. Raises BadLink.

    The parameters name the parts by NAME~DIGEST.
    """
    try:
        parts = use.accept_parts([text for name, text in pairs if name == PARAMETER])
    except BadInput as error:
        raise BadLink(f"The link's parts cannot be read. {error}") from None
    rest = [(name, text) for name, text in pairs if name != PARAMETER]
    return [(name, _referenced_words(name, text, parts)) for name, text in rest] if parts else rest, parts


def accept_link_parts(link: str) -> None:
    """Register the own parts that a link carries; raises BadLink."""
    accept_parts(parse_qsl(urlsplit(link).query))


def _referenced_words(name: str, text: str, parts: Iterable[OwnPart]) -> str:
    """Return a parameter's words with NAME~DIGEST for the link's parts that are named without digest."""
    path, head, words = split_axis(text) if name in ("axis", "only") else (name, "", text)
    if not (choices := CHOICES.get(path)):
        return text
    brought = {part.name: part.reference for part in parts if part.kind in choices.kinds}
    return head + ",".join(brought.get(word.strip(), word) for word in words.split(","))


def banner(parts: Iterable[OwnPart]) -> str:
    """Return sentences on the sender's parts that this computer lacks or has otherwise."""
    return " ".join(
        (f"The {part.kind} {part.name} is a part of the link's sender{_sender_clause(part)}.")
        for part in parts
        if is_foreign(part)
    )


def is_foreign(part: OwnPart) -> bool:
    """Return whether a part differs from this computer's own parts."""
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
