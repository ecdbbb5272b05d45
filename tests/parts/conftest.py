"""A folder of a stranger's parts: a GPU with a fabric of its own, and a medium."""

from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.core import catalog, memo
from engine.core.part_files import known

BUILT_IN = catalog.FOLDERS[0]


def shipped(name: str) -> str:
    """Return what the file of one of our own parts says."""
    return (BUILT_IN / f"{name}.toml").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of parts that is not taken yet; `elsewhere()` is as a computer that knows none of them."""
    monkeypatch.setattr(catalog, "FOLDERS", (BUILT_IN,))
    monkeypatch.setattr(known, "_parts_by_key", OrderedDict())

    def write_part(name, text):
        path = tmp_path / "own" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def elsewhere(parts_folder: Path | None = None):
        catalog.FOLDERS = (BUILT_IN, *((parts_folder,) if parts_folder else ()))
        known._parts_by_key.clear()
        memo.clear_memos()
        catalog.look_again()

    write_part(
        "fabric/own-link", shipped("fabric/nvlink-4").replace("value = 450", "value = 900").replace("high = 450", "high = 900")
    )
    write_part("gpu/mine", shipped("gpu/h100-sxm").replace("= 3350", "= 8000").replace("nvlink-4", "own-link"))
    write_part("media/crystal", shipped("media/optane-100").replace("value = 6.6\n", "value = 8\n"))
    return SimpleNamespace(path=tmp_path / "own", put=write_part, elsewhere=elsewhere)
