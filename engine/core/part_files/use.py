"""Functions that put a user's folder of parts, or parts that texts carry, into use.

All checks of the catalogue apply to these parts.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import BadFile, BadInput
from .. import catalog
from ..figures import count
from . import carried, known
from .folder import PartsFolder
from .known import OwnPart

MAX_CARRIED_PARTS = 32


def use_folder(path: Path | None) -> None:
    """Use the own parts of a folder from now on; None for no folder.

    Raises BadFile if a file of the folder cannot be used.
    """
    folders = catalog.FOLDERS
    catalog.FOLDERS = (catalog.FOLDERS[0], *((path.absolute(),) if path else ()))
    try:
        look_at_folder()
    except BadFile:
        catalog.FOLDERS = folders
        raise


def follow_folder(path: Path | None) -> None:
    """Use the valid parts of a folder that another process uses; ignore files with errors."""
    catalog.FOLDERS = (catalog.FOLDERS[0], *((path,) if path else ()))
    catalog.look_again()


def look_at_folder() -> None:
    """Read the changed files of the folder in use; raises BadFile for an error."""
    for refusal in catalog.look_again().refusals:
        raise refusal


def changed_part_notes(parts: Iterable[OwnPart]) -> Iterator[str]:
    """Yield a sentence for each part whose file has changed since it was read."""
    for part in parts:
        folder_part = catalog.own_folder().parts.get((part.kind, part.name))
        if folder_part and folder_part.place == part.place and folder_part.digest != part.digest:
            yield (
                f"This scenario uses the {part.kind} {part.name} with its values at the time of the choice; {part.place} "
                f"has changed since. Choose {part.name} again to use the file as it is now."
            )


@contextmanager
def folder_in_use(path: Path | None) -> Iterator[PartsFolder]:
    """Use the own parts of a folder during the `with` block, and yield the folder.

    With None, the folder in use is read again and stays in use. Raises BadFile.
    """
    folders = catalog.FOLDERS
    try:
        if path:
            use_folder(path)
        else:
            look_at_folder()
        yield catalog.own_folder()
    finally:
        catalog.FOLDERS = folders


def accept_parts(texts: Iterable[str], limit: int = MAX_CARRIED_PARTS) -> tuple[OwnPart, ...]:
    """Make the parts that `texts` carry known to this process, and return the parts.

    Raises BadInput if a text is no valid part, or if there are more than `limit` texts.
    """
    parts: list[OwnPart] = []
    for text in texts:
        if len(parts) == limit:
            raise BadInput(f"More than {count(limit, 'part is', 'parts are')} in the link (part=); remove some.")
        part, content = carried.read_part(text, catalog.kinds())
        try:
            catalog.check_part(part.kind, part.place, content)
        except BadFile as error:
            raise BadInput(str(error)) from None
        known.add_parts((part,))
        parts.append(part)
    return tuple(parts)


def part_texts(parts: Iterable[OwnPart]) -> list[str]:
    """Return the texts that carry parts and the parts that they use.

    A part's text stands after the texts of the parts that it uses; no text stands twice.
    """
    ordered_parts = dict.fromkeys(carried_part for part in parts for carried_part in part.with_used_parts)
    return [carried.part_text(part) for part in ordered_parts]
