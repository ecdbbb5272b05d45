"""Where is a data file's mapping looked for, where is an accepted one written, and can it be taken back?"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import BadFile
from engine.workload.readers import mapping
from engine.workload.readers.formats import digest_of, read_file

TEXT = 'label = "click"\nids = ["user"]\n'


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(mapping, "KEPT_MAPPINGS", tmp_path / "kept" / "mappings")
    path = tmp_path / "data" / "clicks.csv"
    path.parent.mkdir()
    path.write_text("\n".join(["click,user", *(f"{n % 2},{n % 7}" for n in range(60))]))
    return path


def test_a_mapping_named_after_the_stem_is_found_and_a_scenario_of_that_name_is_none(log):
    log.with_suffix(".toml").write_text('preset = "tiny"\n[run]\nbatches = 3\n')
    with pytest.raises(BadFile, match=r"clicks\.csv"):
        read_file(log)
    log.with_suffix(".toml").write_text(TEXT)
    before = digest_of(log)
    assert read_file(log).distinct == (7,)
    Path(f"{log}.toml").write_text(f'{TEXT}rows = "hashed"\n')
    assert not read_file(log).where_they_fit and digest_of(log) != before


def test_an_accepted_mapping_is_written_beside_the_file_and_taken_back(log):
    bare = digest_of(log)
    assert mapping.save(log, TEXT) == Path(f"{log}.toml") and read_file(log).samples == 60 and digest_of(log) != bare
    mapping.save(log, f'{TEXT}rows = "hashed"\n')  # accepted anew
    assert not read_file(log).where_they_fit
    mapping.remove_mapping(log)
    assert mapping.place(log) is None and digest_of(log) == bare


def test_a_mapping_that_cannot_be_written_beside_the_file_is_kept_by_its_digest(log, monkeypatch):
    real = mapping._write

    def refused(there, text):
        if there.parent == log.parent:
            raise PermissionError(13, "Permission denied")
        return real(there, text)

    monkeypatch.setattr(mapping, "_write", refused)
    kept = mapping.save(log, TEXT)
    assert kept.parent == mapping.KEPT_MAPPINGS and read_file(log).samples == 60
    other = log.with_name("other.csv")
    other.write_bytes(log.read_bytes())
    assert mapping.place(other) == kept, "the same bytes under another name"
    other.write_bytes(log.read_bytes() + b"\n1,5")
    assert mapping.place(other) is None, "other bytes"
    mapping.remove_mapping(log)
    assert mapping.place(log) is None


def test_a_mapping_of_somebody_is_never_written_over_nor_removed(log):
    Path(f"{log}.toml").write_text(TEXT)
    with pytest.raises(BadFile, match="was not written by the explorer"):
        mapping.save(log, "ids = ['click']")
    mapping.remove_mapping(log)
    assert Path(f"{log}.toml").read_text() == TEXT


@pytest.mark.parametrize("text", ['label = "click\n', 'lable = "click"\nids = ["user"]\n', "label = 'click'\nids = 'us\xe9r'\n"])
def test_a_mapping_with_a_fault_is_refused_under_either_name(text, log):
    for there in (log.with_suffix(".toml"), Path(f"{log}.toml")):
        there.write_bytes(text.encode("latin-1"))
        with pytest.raises(BadFile, match=there.name):
            read_file(log)


@pytest.mark.parametrize("name", ["criteo", "dlrm", "torchrec", "mlperf"])
def test_a_format_that_the_file_is_not_is_refused(name, log, tmp_path):
    frame = pd.DataFrame({"click": [n % 2 for n in range(60)], "user": range(60)})
    frame.to_parquet(tmp_path / "a.parquet")
    np.savez(tmp_path / "b.npz", **{column: frame[column] for column in frame})
    for path in (log, tmp_path / "a.parquet", tmp_path / "b.npz"):
        Path(f"{path}.toml").write_text(f'{TEXT}format = "{name}"\n')
        with pytest.raises(BadFile):
            read_file(path)


def test_a_label_of_a_format_can_be_taken_away_and_a_column_is_named_once(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("userId,movieId,rating,timestamp\n" + "".join(f"{n % 7},{n % 9},{n % 6},{n}\n" for n in range(90)))
    Path(f"{path}.toml").write_text('format = "movielens"\nlabel = ""\n')
    assert not read_file(path, labels=False).labelled
    for key in ("ids", "dense"):
        Path(f"{path}.toml").write_text(f'format = "movielens"\n{key} = ["movieId", "movieId"]\n')
        with pytest.raises(BadFile, match=f"{key} names 'movieId' twice"):
            read_file(path)
