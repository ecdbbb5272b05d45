"""Is the target of `enough` one number by every name, and its JSON what its sentences say?"""

import json

import pytest

from engine import api
from engine.__main__ import main
from engine.commands import parser
from engine.core.figures import figure

TINY = ("enough", "--preset", "tiny")


@pytest.mark.slow
def test_percent_by_both_names_is_one_target_and_the_old_one_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--within-percent", "25"]) == 0
    wanted = capsys.readouterr()
    assert main([*TINY, "--within", "25 %"]) == 0
    old = capsys.readouterr()
    assert old.out == wanted.out and "within 25 % of DRAM" in wanted.out
    assert "trains so" in wanted.err and wanted.err.count("\n") == 1
    assert old.err == f"--within will be removed in the next minor version; write --within-percent 25.\n{wanted.err}"


@pytest.mark.parametrize(
    "words", ["--within-percent ten", "--within-percent 5 --step-ms 1", "--within -100%", "--within-percent %"]
)
def test_what_is_no_target_ends_with_2(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, *words.split()]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.usefixtures("few_draws")
def test_the_json_has_the_machine_that_the_sentences_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--within-percent", "25", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    machine = found["machine"]
    again = api.estimate(machine["link"])[0]
    assert again.results == machine["results"] and found["meets"]
    assert found["target_step_ms"] == pytest.approx(1.25 * found["baseline_step_ms"]) and found["within_percent"] == 25
    assert machine["results"]["Step time [ms]"] <= found["target_step_ms"]
    assert figure(found["costs"]["Cheapest"]["capital_usd"], "USD") in found["sentences"]["both"]
    assert found["step_ms"] == api.estimate(found["link"])[0].results["Step time [ms]"]


def test_workers_of_the_command_line_are_those_of_scripts() -> None:
    assert parser.jobs("-1") is None and parser.jobs("3") == 3
