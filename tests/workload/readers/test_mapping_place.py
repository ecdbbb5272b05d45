"""Where is a data file's mapping looked for, where is an accepted one written, and can it be taken back?"""

from pathlib import Path

import pytest

from engine.errors import BadFile
from engine.workload.readers import mapping
from engine.workload.readers.formats import digest_of, read

TEXT = 'label = "click"\nids = ["user"]\n'


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(mapping, "KEPT", tmp_path / "kept" / "mappings")
    path = tmp_path / "data" / "clicks.csv"
    path.parent.mkdir()
    path.write_text("\n".join(["click,user", *(f"{n % 2},{n % 7}" for n in range(60))]))
    return path


def test_a_mapping_named_after_the_stem_is_found_and_a_scenario_of_that_name_is_none(log):
    log.with_suffix(".toml").write_text('preset = "tiny"\n[run]\nbatches = 3\n')
    with pytest.raises(BadFile, match=r"clicks\.csv"):
        read(log)
    log.with_suffix(".toml").write_text(TEXT)
    before = digest_of(log)
    assert read(log).distinct == (7,)
    Path(f"{log}.toml").write_text(f'{TEXT}rows = "hashed"\n')
    assert not read(log).where_they_fit and digest_of(log) != before


def test_an_accepted_mapping_is_written_beside_the_file_and_taken_back(log):
    bare = digest_of(log)
    assert mapping.save(log, TEXT) == Path(f"{log}.toml") and read(log).samples == 60 and digest_of(log) != bare
    mapping.save(log, f'{TEXT}rows = "hashed"\n')  # accepted anew
    assert not read(log).where_they_fit
    mapping.take_back(log)
    assert mapping.place(log) is None and digest_of(log) == bare


def test_a_mapping_that_cannot_be_written_beside_the_file_is_kept_by_its_digest(log, monkeypatch):
    real = mapping._written

    def refused(there, text):
        if there.parent == log.parent:
            raise PermissionError(13, "Permission denied")
        return real(there, text)

    monkeypatch.setattr(mapping, "_written", refused)
    kept = mapping.save(log, TEXT)
    assert kept.parent == mapping.KEPT and read(log).samples == 60
    other = log.with_name("other.csv")
    other.write_bytes(log.read_bytes())
    assert mapping.place(other) == kept, "the same bytes under another name"
    other.write_bytes(log.read_bytes() + b"\n1,5")
    assert mapping.place(other) is None, "other bytes"
    mapping.take_back(log)
    assert mapping.place(log) is None


def test_a_mapping_of_somebody_is_never_written_over_nor_removed(log):
    Path(f"{log}.toml").write_text(TEXT)
    with pytest.raises(BadFile, match="not ours to write over"):
        mapping.save(log, "ids = ['click']")
    mapping.take_back(log)
    assert Path(f"{log}.toml").read_text() == TEXT
