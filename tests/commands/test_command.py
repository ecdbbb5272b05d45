"""Does the command line do what it says, with the promised exit status and one line for each complaint?"""

import csv
import functools
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.commands import progress_bar
from engine.scenario.scenario import KNOBS, with_values
from engine.service import service
from engine.sweep.links import link
from tests import HANG_SECONDS, ROOT
from tests.machines import TINY
from tests.service_fakes import (
    BUGGY,
    COMPUTE,
    REFUSED,
    TOO_BIG,
    ask,
    command,
    compute,
    computing_here,
    lives,
    open_pids,
    wait_until,
)

SLOW = ("--set", "faults.detect_seconds=0.3")


def seeds(*numbers: int) -> tuple[str, ...]:
    return ("--axis", "data.seed=" + ",".join(map(str, numbers)))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.commands.run.compute_point", compute)
    monkeypatch.setattr(service, "serve", functools.partial(service.serve, compute=COMPUTE))


def sweep(store: Path, *words: str) -> "subprocess.Popen[str]":
    return command("sweep", "--preset", "tiny", "--store", str(store), *words)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "fly",
        "list",
        "list planets",
        "run --sett a=1",
        "run --set nonsense",
        "run --set machine.cxl_bandwith_GBps=3",
        "run --set run.batches=-1",
        "run --preset nope",
        "run --preset tiny --scenario x.toml",
        "run --scenario /no/such.toml",
        "run --link /explore?v=999",
        "run --link /explore?axis=data.seed:1,2",
        "run --data /no/such/file",
        "run --csv /no/such/folder/t.csv",
        "run --json - --csv -",
        "sweep",
        "sweep --csv - --jobs 0",
        "sweep --csv - --sample 0",
        "sweep --csv - --store /dev/null/x --axis data.seed=1",
        "study",
        "study accuracy --seeds 1",
        "study accuracy --out /no/such/folder/study.jsonl",
        "serve --idle-exit -1",
        "serve --quota-GiB none",
    ],
)
def test_a_bad_command_ends_with_2_and_one_line(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and len(err) > 20
    assert "Traceback" not in err


def test_run_writes_one_object_with_every_knob(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--preset", "tiny", "--set", "data.seed=14", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"scenario", "model_version", "outcome", "results", "breakdown", "training", "events", "warnings", "link"} <= set(
        found
    )
    assert list(found["scenario"]) == list(KNOBS)
    assert found["results"] == {"Step time [ms]": 2.0, "AUC": None}


def test_run_prints_a_summary_and_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--csv", str(tmp_path / "t.csv"), "--json", str(tmp_path / "r.json"), "--trace", str(tmp_path / "trace.json")]
    assert main(["run", "--preset", "tiny", "--set", "data.seed=14", *files]) == 0
    out = capsys.readouterr().out
    assert "It completed." in out and "Step time  2.00 ms" in out and "AUC" not in out
    (row,) = csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text()))
    assert row["Step time [ms]"] == "2.0" and row["data.seed"] == "14"
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"] == []


@pytest.mark.parametrize("command", ("run --estimate", "enough"))
def test_people_read_which_loop_is_assumed_where_no_software_trains_so(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*command.split(), "--preset", "cxl-memory"])
    told = "".join(capsys.readouterr())
    assert (
        "Note: No public software trains so; a stated loop as of a captured graph is assumed, at least 0.300 ms a step." in told
    )


def test_a_scenario_that_cannot_run_ends_with_3_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--set", f"data.seed={TOO_BIG}"]) == 3
    assert "It does not fit; take less." in capsys.readouterr().out


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        main(["run", "--set", f"data.seed={BUGGY}"])


def test_settings_apply_in_order_after_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "model.learning_rate=0.5", "--set", "model.name=tiny", "--set", "model.learning_rate=0.25"]
    assert main(["run", *words, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["scenario"]
    assert found["model.name"] == "tiny" and found["model.learning_rate"] == 0.25
    assert found["model.embedding_dim"] == with_values(TINY, {}).model.embedding_dim


def test_a_data_file_is_known_by_its_digest_and_another_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "criteo.txt"
    data.write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # SHA-256 of "abc", FIPS 180-2
    assert main(["run", "--data", str(data), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"]["data.digest"] == digest
    data.write_bytes(b"abd")
    shared = link(with_values(TINY, {"data.digest": digest}), "tiny")
    assert main(["run", "--link", shared, "--data", str(data)]) == 2
    assert digest in capsys.readouterr().err


def test_knobs_are_listed_with_all_that_they_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "knobs", "--json"]) == 0
    found = {entry.pop("path"): entry for entry in json.loads(capsys.readouterr().out)}
    assert list(found) == list(KNOBS)
    assert set(found["system"]) == {"label", "unit", "kind", "low", "high", "choices", "default", "acts", "help"}
    assert found["machine.cxl_bandwidth_GBps"]["unit"] == "GB/s" and found["machine.cxl_bandwidth_GBps"]["default"] is None
    assert main(["list", "knobs"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(KNOBS)


def test_presets_are_listed_as_json_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "presets", "--json"]) == main(["list", "presets"]) == 0
    assert capsys.readouterr().out.count("tiny") > 1


def test_a_reader_that_leaves_early_and_a_full_disk_end_quietly() -> None:
    run = f"{sys.executable} -m engine list knobs"
    early = subprocess.run(["bash", "-c", f"{run} | head -1; exit ${{PIPESTATUS[0]}}"], cwd=ROOT, capture_output=True, text=True)
    assert (early.returncode, early.stderr) == (0, "")
    full = subprocess.run(["bash", "-c", f"{run} > /dev/full"], cwd=ROOT, capture_output=True, text=True)
    assert full.returncode == 2 and full.stderr.count("\n") == 1


def test_a_sweep_gives_the_same_bytes_for_any_number_of_workers_and_on_repetition(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []
    for place, jobs in ((store, "1"), (tmp_path / "other.sqlite", "2"), (store, "2")):
        words = (*seeds(5, 3, 4), "--axis", "system=cxl,pmem", "--csv", "-", "--jobs", jobs)
        with monkeypatch.context() as patch:
            if jobs == "1":
                computing_here(patch)
            assert main(["sweep", "--preset", "tiny", "--store", str(place), *words]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        tables.append(out)
    assert tables[0] == tables[1] == tables[2]
    found = list(csv.DictReader(io.StringIO(tables[0])))
    assert [(row["data.seed"], row["system"]) for row in found] == [(s, t) for s in "534" for t in ("cxl", "pmem")]
    assert found[0]["Step time [ms]"] == repr(5 / 7)
    assert ask(store, "SELECT count(*) FROM claims") == [(6,)]


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_resumes(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    words = (*seeds(*range(1, 11)), *SLOW, "--csv", str(target))
    process = sweep(store, *words)
    wait_until(lambda: len(ask(store, "SELECT key FROM results")) >= 2 and open_pids(store))
    workers = open_pids(store)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130 and out == "" and not target.exists()
    assert (
        err.startswith("Stopped: ")
        and err.count("\n") == 1
        and "run the same command again to resume: python -m engine sweep" in err
    )
    wait_until(lambda: not any(map(lives, workers)))
    finished = ask(store, "SELECT key FROM results")
    assert 2 <= len(finished) < 10
    resumed = sweep(store, *words)
    assert resumed.communicate()[1] == "" and resumed.returncode == 0
    assert len(target.read_text().splitlines()) == 11
    assert not ask(store, "SELECT 1 FROM claims c JOIN results r USING (key) WHERE c.started > r.created")


@pytest.mark.usefixtures("computed_here")
def test_a_sweep_with_failed_points_still_writes_the_table_and_says_so(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "--preset", "tiny", "--store", str(store), "--csv", "-", "--jobs", "1"]
    assert main([*words, *seeds(1, REFUSED, TOO_BIG)]) == 2
    out, err = capsys.readouterr()
    assert err == "1 of 3 points failed; the first: run.batches=1 is made up to be refused; choose 2.\n"
    outcomes = [row["outcome"] for row in csv.DictReader(io.StringIO(out))]
    assert outcomes == ["It completed.", "run.batches=1 is made up to be refused; choose 2.", "It does not fit; take less."]
    assert main([*words, *seeds(TOO_BIG)]) == 3


@pytest.mark.parametrize(("seconds", "text"), [(None, "unknown"), (3.2, "3 s left"), (600, "10 min left"), (9000, "2.5 h left")])
def test_time_left_is_said_as_people_say_it(seconds: float | None, text: str) -> None:
    assert text in progress_bar.duration(seconds)


def test_the_bar_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    progress_bar.draw(0.5, "half")
    progress_bar.wipe()
    assert capsys.readouterr().err == ""
