"""Are kept verdicts those of a new computation, and is a file of other content left alone?"""

from dataclasses import replace
from pathlib import Path

import pytest

from engine import version
from engine.scenario.presets import preset_names
from engine.scenario.scenario import with_values
from engine.validation import kept_numbers
from engine.validation.claims import claims
from engine.validation.kept_numbers import computed_fields, dated_verdicts, read_numbers, verdicts_of, write_numbers
from engine.validation.validate import ClaimVerdict
from tests.cases import SELECTION

NAME = "hotline-kaggle"
NUMBERS = {"a": [[0.1 + 0.2, None, ["why"], 1e-300]]}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a folder that does not exist; each test has digests of its own."""
    monkeypatch.setattr(kept_numbers, "content_digest", kept_numbers.content_digest.__wrapped__)
    return tmp_path / ".emberpool" / "numbers.txt"


def test_kept_verdicts_are_those_of_a_new_computation(file: Path) -> None:
    assert read_numbers(file) is None
    digest, verdicts = dated_verdicts(NAME)
    assert digest == kept_numbers.content_digest()
    write_numbers(file, computed_fields(verdicts))
    assert verdicts_of(NAME, read_numbers(file)) == verdicts
    made_up = (ClaimVerdict("tiny", claim, 0.1 + 0.2, 1e-300, ("why",), 3.0) for claim in claims("tiny"))
    write_numbers(file, computed_fields(made_up))
    assert all(verdict.simulated_value == 0.1 + 0.2 and verdict.objections for verdict in verdicts_of("tiny", read_numbers(file)))


@pytest.mark.more
def test_a_damaged_file_is_left_alone(file: Path) -> None:
    write_numbers(file, NUMBERS)
    content = file.read_bytes()
    assert read_numbers(file) == NUMBERS
    for place in range(0, len(content), 1 if SELECTION.all else 31):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert read_numbers(file) is None
        file.write_bytes(content[:place])
        assert read_numbers(file) is None


@pytest.mark.parametrize("changed", ["CODE", "arithmetic", "numeric_packages", "knob", "claim", "name"])
def test_numbers_of_other_content_are_left_alone(file: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    write_numbers(file, NUMBERS)
    preset, name = kept_numbers.preset, preset_names()[-1]
    other = preset(name)
    if changed == "CODE":  # of the engine's files, which hold the model version and all parts
        monkeypatch.setattr(version, "CODE", "another")
    if changed in ("arithmetic", "numeric_packages"):
        monkeypatch.setattr(kept_numbers, changed, lambda: "another")
    if changed == "knob":
        other = replace(other, scenario=with_values(other.scenario, {"data.batch_size": 7}))
    if changed == "claim":
        monkeypatch.setattr(kept_numbers, "claims", lambda name: claims(name)[1:])
    if changed == "name":
        monkeypatch.setattr(kept_numbers, "preset_names", lambda: preset_names()[1:])
    monkeypatch.setattr(kept_numbers, "preset", lambda wanted: other if wanted == name else preset(wanted))
    assert read_numbers(file) is None
    monkeypatch.undo()
    assert read_numbers(file) == NUMBERS


def test_nothing_is_kept_once_the_engine_has_changed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "code_has_changed", lambda: True)
    write_numbers(file, NUMBERS)
    assert not file.exists() and dated_verdicts("tiny")[0] == ""


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    write_numbers(tmp_path / "missing" / "folder" / "numbers.txt", NUMBERS)
    (tmp_path / "folder.txt").mkdir()
    write_numbers(tmp_path / "folder.txt", NUMBERS)
    assert read_numbers(tmp_path / "folder.txt") is None
