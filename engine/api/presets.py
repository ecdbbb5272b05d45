"""The named scenarios for a script, those of the user's own folder too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..paths import user_path
from ..scenario import presets as preset_files
from .knob_values import short_text
from .parts import AS_BEFORE

if TYPE_CHECKING:
    from pandas import DataFrame


def presets(folder: str | os.PathLike[str] | None = AS_BEFORE, /) -> DataFrame:
    """Return the named scenarios: name, title, paper and, of own presets, file.

    With a folder, its files FOLDER/NAME.toml are presets too from now on; None stands for no own presets. A changed file is
    noticed at the next call. Raises BadFile, a BadInput, where a file cannot be used.

    >>> "dlrm-kaggle" in presets()["name"].tolist()
    True
    """
    from pandas import DataFrame

    _take_folder(folder)
    listed = map(preset_files.preset, (*preset_files.preset_names(), *preset_files.own_preset_names()))
    rows = [(preset.name, preset.title, preset.paper, preset.file) for preset in listed]
    return DataFrame(rows, columns=["name", "title", "paper", "file"])


def _take_folder(folder: Any) -> None:
    """Use a script's folder of own presets; raises BadInput, and then the folder in use stays."""
    if folder is AS_BEFORE:
        look_at_presets()
    elif folder is None:
        preset_files.use_folder(None)
    elif isinstance(folder, str | os.PathLike):
        with preset_files.folder_in_use(user_path(Path(folder))):  # its errors leave the folder before in use
            pass
        preset_files.use_folder(user_path(Path(folder)))
    else:
        raise BadInput(f"{short_text(folder)} is not a folder; give its path, or None for only Emberpool's own presets.")


def look_at_presets() -> None:
    """Read the changed files of the folder in use; raises BadFile for an error."""
    for refusal in preset_files.look_again().refused.values():
        raise refusal
