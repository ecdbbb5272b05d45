"""The use of a user's folder of parts, and of the parts that texts carry, with all checks of the catalogue."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import BadFile, BadInput
from .. import catalog
from . import carried, known
from .known import OwnPart

MOST_CARRIED = 32


def use(path: Path | None) -> None:
    """Use the parts of a folder from now on, or of none with None.

    Raises BadFile if one of its files cannot be used.
    """
    folders = catalog.FOLDERS
    catalog.FOLDERS = (catalog.FOLDERS[0], *((path.absolute(),) if path else ()))
    try:
        look()
    except BadFile:
        catalog.FOLDERS = folders
        raise


def follow(path: Path | None) -> None:
    """Use the parts of a folder as another process does, without the files that cannot be used."""
    catalog.FOLDERS = (catalog.FOLDERS[0], *((path,) if path else ()))
    catalog.look_again()


def look() -> None:
    """Read changed files of the folder; raises BadFile if a file cannot be used."""
    for refusal in catalog.look_again().refusals:
        raise refusal


def changed(parts: Iterable[OwnPart]) -> Iterator[str]:
    """Yield a sentence for each part whose file has changed since it was read."""
    for part in parts:
        folder_part = catalog.own_folder().parts.get((part.kind, part.name))
        if folder_part and folder_part.where == part.where and folder_part.digest != part.digest:
            yield (
                f"This scenario has the {part.kind} {part.name} as it was when it was chosen; {part.where} has changed since. "
                f"Choose {part.name} again to take the file as it is now."
            )


@contextmanager
def used(path: Path | None) -> Iterator[None]:
    """Use the parts of a folder in the block.

    With None the present folder is read anew. Raises BadFile.
    """
    folders = catalog.FOLDERS
    try:
        if path:
            use(path)
        else:
            look()
        yield
    finally:
        catalog.FOLDERS = folders


def accept(texts: Iterable[str], limit: int = MOST_CARRIED) -> tuple[OwnPart, ...]:
    """Make the parts that texts carry known, and return the parts.

    Raises BadInput if a text is no valid part.
    """
    parts: list[OwnPart] = []
    for text in texts:
        if len(parts) == limit:
            raise BadInput(f"More than {limit} parts are carried (part=); leave some out.")
        part, content = carried.read(text, catalog.kinds())
        try:
            catalog.check_part(part.kind, part.where, content)
        except BadFile as error:
            raise BadInput(str(error)) from None
        known.add((part,))
        parts.append(part)
    return tuple(parts)


def carry(parts: Iterable[OwnPart]) -> list[str]:
    """Return parts as texts, each after the parts that it uses, none twice."""
    ordered_parts = dict.fromkeys(carried_part for part in parts for carried_part in part.whole)
    return [carried.written(part) for part in ordered_parts]
