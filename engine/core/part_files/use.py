"""The use of a folder of one's own, and of the parts that a text carries, with all checks of the catalogue."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import BadFile, BadInput
from .. import catalog
from . import carried, known
from .known import OwnPart

MOST_CARRIED = 32


def use(path: Path | None) -> None:
    """Take the parts of a folder from now on, of none with None; raises BadFile where one of its files cannot be used."""
    before = catalog.FOLDERS
    catalog.FOLDERS = (catalog.FOLDERS[0], *((path.absolute(),) if path else ()))
    try:
        look()
    except BadFile:
        catalog.FOLDERS = before
        raise


def follow(path: Path | None) -> None:
    """Take the parts of a folder as another process does, but for files that cannot be used."""
    catalog.FOLDERS = (catalog.FOLDERS[0], *((path,) if path else ()))
    catalog.look_again()


def look() -> None:
    """Notice which files have changed; raises BadFile where one cannot be used."""
    for refusal in catalog.look_again().refusals:
        raise refusal


def changed(parts: Iterable[OwnPart]) -> Iterator[str]:
    """Yield a sentence for each part that was read from a file which now says something else."""
    for part in parts:
        now = catalog.own_folder().parts.get((part.kind, part.name))
        if now and now.where == part.where and now.digest != part.digest:
            yield (
                f"This scenario has the {part.kind} {part.name} as it was when it was chosen; {part.where} has changed since. "
                f"Choose {part.name} again to take the file as it is now."
            )


@contextmanager
def used(path: Path | None) -> Iterator[None]:
    """Take the parts of a folder in the block; with None what was taken before, looked at anew. Raises BadFile."""
    before = catalog.FOLDERS
    try:
        if path:
            use(path)
        else:
            look()
        yield
    finally:
        catalog.FOLDERS = before


def accept(texts: Iterable[str], most: int = MOST_CARRIED) -> tuple[OwnPart, ...]:
    """Make the parts that texts carry known, and return them; raises BadInput where one is not what it says, or no part."""
    found: list[OwnPart] = []
    for text in texts:
        if len(found) == most:
            raise BadInput(f"More than {most} parts are carried (part=); leave some out.")
        part, content = carried.read(text, catalog.kinds())
        try:
            catalog.check_part(part.kind, part.where, content)
        except BadFile as error:
            raise BadInput(str(error)) from None
        known.add((part,))
        found.append(part)
    return tuple(found)


def carry(parts: Iterable[OwnPart]) -> list[str]:
    """Return parts as texts, each behind those that it uses, none twice."""
    every = dict.fromkeys(one for part in parts for one in part.whole)
    return [carried.written(part) for part in every]
