"""Do the commands of docs/data.md do what it says, from a file to an answer?"""

import re
import shlex
from pathlib import Path

import pytest

from engine.__main__ import main
from tests import ROOT


def test_the_way_from_a_file_to_an_answer_can_be_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    made, commands = (re.findall(f"```{language}\\n(.*?)```", text, re.S)[-1] for language in ("python", "sh"))
    exec(made, {})
    found = []
    for line in commands.strip().splitlines():
        _, _, _, *words = shlex.split(line)
        assert main(words) == 0, line
        found.append(capsys.readouterr().out)
    described, counted, fitted, enough, run = found
    assert "mapped by ratings.csv.toml, 30,000 records" in described
    assert "30,000 samples, 60,000 lookups of" in counted
    assert "ratings.csv: mapped by ratings.csv.toml, 30,000 samples counted" in fitted and "order: by timestamp" in fitted
    assert "baseline" in enough and "completed after 1 power loss" in run
