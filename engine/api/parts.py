"""The folder of the user's own parts for a script, read again at each call."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import catalog
from ..core.part_files import use
from ..errors import BadInput
from ..paths import user_path
from .knob_values import short_text

if TYPE_CHECKING:
    from pandas import DataFrame

AS_BEFORE: Any = type("AsBefore", (), {"__repr__": lambda _: "as before"})()


def parts(folder: str | os.PathLike[str] | None = AS_BEFORE, /) -> DataFrame:
    """Use the user's own parts in a folder from now on; return the parts.

    The frame has kind, name, title and file of each part in use.
    None stands for no own parts. Files are as in the catalogue: FOLDER/gpu/NAME.toml, FOLDER/media/NAME.toml; `docs/parts.md`
    describes them. A changed file is noticed at the next call. Raises BadFile, a BadInput, where a file cannot be used.
    Warns of numbers that lie far outside the catalogue's.

    >>> parts(None).columns.tolist()
    ['kind', 'name', 'title', 'file']
    """
    from pandas import DataFrame

    if folder is AS_BEFORE:
        use.look_at_folder()
    elif folder is None or isinstance(folder, str | os.PathLike):
        use.use_folder(None if folder is None else user_path(Path(folder)))
    else:
        raise BadInput(f"{short_text(folder)} is not a folder; give its path, or None for only the parts of the catalogue.")
    for sentence in catalog.own_folder().doubts:
        warnings.warn(sentence, stacklevel=2)
    own_parts = sorted(catalog.own_folder().parts.values(), key=lambda part: (part.kind, part.name))
    rows = [(part.kind, part.name, catalog.part_content(part.kind, part.name)["title"], part.place) for part in own_parts]
    return DataFrame(rows, columns=["kind", "name", "title", "file"])
