"""Is what a page keeps of a data file that of the file's bytes, whatever lies under its name by now?"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import paths
from engine.errors import BadFile
from engine.insight.fitting.shape import shape_of
from engine.workload.readers import digest_check
from engine.workload.readers.formats import digest_of
from pages.data_page import fit_view, workload_tables
from tests.cases import each
from tests.workload.readers.test_formats import a_trace

ROWS, ANOTHER = 2000, "has changed"


def clicks(path: Path, seed: int, values: int) -> Path:
    """Write a table of two columns of ids, as many bytes whatever the ids are, and its mapping."""
    ids, labels = np.random.default_rng(seed).integers(0, values, (ROWS, 2)), np.arange(ROWS) % 2
    lines = (f"{label},{one:06d},{other:06d}" for label, (one, other) in zip(labels, ids, strict=True))
    path.write_text("click,user,item\n" + "\n".join(lines) + "\n", encoding="utf-8")
    Path(f"{path}.toml").write_text('label = "click"\nids = ["user", "item"]\n', encoding="utf-8")
    return path


KEPT: dict[str, Callable[[str, str], Any]] = {"shape": shape_of, "fit": fit_view.fit_of_file, "file": workload_tables._file}


def moved_over(path: Path, new: Path) -> None:
    os.utime(new, (1_000_000_000, 1_000_000_000))
    new.replace(path)


def written_in_place(path: Path, new: Path) -> None:
    before = path.stat()
    path.write_bytes(new.read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


@each("what", KEPT)
@each("change", [moved_over, written_in_place])
def test_nothing_of_another_file_is_kept_under_a_digest(what: str, change: Callable[[Path, Path], None], tmp_path: Path) -> None:
    path, new = clicks(tmp_path / "clicks.csv", 1, 50), clicks(tmp_path / "new.csv", 2, 700)
    digest, old = digest_of(path), path.read_bytes()
    change(path, new)
    for _ in range(2):  # a refusal is not kept either
        with pytest.raises(BadFile, match=ANOTHER):
            KEPT[what](str(path), digest)
    path.write_bytes(old)
    assert KEPT[what](str(path), digest) is not None


def test_a_file_that_is_written_to_after_it_was_read_is_not_served_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = clicks(tmp_path / "clicks.csv", 1, 50)
    digest = digest_of(path)
    monkeypatch.setattr(paths, "COARSEST_CLOCK_SECONDS", 0.0)  # a new file is not looked at twice by its times
    first = workload_tables._file(str(path), digest)
    assert workload_tables._file(str(path), digest) is first
    time.sleep(0.02)  # file systems tell no shorter times apart
    written_in_place(path, clicks(tmp_path / "new.csv", 2, 700))
    with pytest.raises(BadFile, match=ANOTHER):
        workload_tables._file(str(path), digest)


def test_a_mapping_that_changes_makes_another_file(tmp_path: Path) -> None:
    path = clicks(tmp_path / "clicks.csv", 1, 50)
    digest = digest_of(path)
    Path(f"{path}.toml").write_text('label = "click"\nids = ["item", "user"]\n', encoding="utf-8")
    with pytest.raises(BadFile, match=ANOTHER):
        shape_of(str(path), digest)


def test_a_trace_that_changes_while_it_is_fitted_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, lengths = tmp_path / "t.pt", np.full((2, 400), 3)
    a_trace(path, lengths, np.arange(2400) * 7 % 100)
    digest, fitted = digest_of(path), fit_view.fit_file

    def slowly(lookups: Any, **window: Any) -> Any:
        found = fitted(lookups, **window)
        a_trace(path, lengths, np.arange(2400) * 11 % 100)
        return found

    assert fit_view.fit_of_file(str(path), digest).samples == 400
    monkeypatch.setattr(fit_view, "fit_file", slowly)
    with pytest.raises(BadFile, match=ANOTHER):
        fit_view.fit_of_file(str(path), digest)


def test_a_file_that_is_only_touched_stays_the_same(tmp_path: Path) -> None:
    path = clicks(tmp_path / "clicks.csv", 1, 50)
    with digest_check.digest_check(path, digest_of(path)):
        os.utime(path, (1_000_000_000, 1_000_000_000))


def test_a_file_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    path = clicks(tmp_path / "clicks.csv", 1, 50)
    digest = digest_of(path)
    path.unlink()
    for find in KEPT.values():
        with pytest.raises(BadFile, match=r"clicks\.csv cannot be read: No such file"):
            find(str(path), digest)
