"""Artefacts: does a run come back equal, is any change of a number found, and is a broken or hostile zip refused?"""

import csv
import json
import re
import shlex
from dataclasses import replace
from io import BytesIO, StringIO
from zipfile import ZipFile

import pytest

from engine import artefact
from engine.__main__ import main
from engine.artefact import differences, pack_artefact, read_artefact
from engine.errors import BadFile
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.version import MODEL


@pytest.fixture
def made(tmp_path):
    result = estimate(preset("tiny").scenario)
    path = tmp_path / "run.zip"
    path.write_bytes(pack_artefact(result, "estimate"))
    return path, result


def rewritten(path, name, change):
    with ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    members[name] = change(members[name])
    whole = BytesIO()
    with ZipFile(whole, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    path.write_bytes(whole.getvalue())


def test_an_estimate_and_a_full_run_come_back_equal(tmp_path, capsys):
    for number, more in enumerate((["--estimate"], ["--set", "run.batches=20"])):
        path = tmp_path / f"{number}.zip"
        assert main(["run", "--preset", "tiny", *more, "--artefact", str(path)]) == 0
        capsys.readouterr()
        assert main(["verify", str(path)]) == 0
        assert capsys.readouterr().out.startswith("Equal: ")
    with ZipFile(path) as archive:
        names = set(archive.namelist())
        assert {
            "result.json",
            "results.csv",
            "curve.csv",
            "books.csv",
            "README.txt",
            "link.txt",
            "environment.json",
            "charts/training.vl.json",
        } <= names
        assert json.loads(archive.read("environment.json"))["how"] == "full"


def rows_of(archive, name):
    return list(csv.DictReader(StringIO(archive.read(name).decode())))


def test_a_runs_tables_are_files_and_its_readme_computes_it_again(tmp_path, capsys):
    path, again = tmp_path / "run.zip", tmp_path / "again.csv"
    struck = ["--set", "run.batches=30", "--set", "faults.power_loss_at_seconds=0.001"]
    assert main(["run", "--preset", "tiny", *struck, "--artefact", str(path), "--json", str(tmp_path / "run.json")]) == 0
    content = json.loads((tmp_path / "run.json").read_text())
    with ZipFile(path) as archive:
        names = archive.namelist()
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)} and names[0] == "README.txt"
        for name, table in (("curve.csv", "training"), ("events.csv", "events"), ("books.csv", "books")):
            rows = rows_of(archive, name)
            assert len(rows) == len(content[table]) > 0
            for row, whole in zip(rows, content[table], strict=True):
                assert row == {column: "" if cell is None else str(cell) for column, cell in whole.items()}
        joules = [float(row["Energy [J]"]) for row in rows]
        assert sum(joules) == pytest.approx(content["results"]["Energy [J]"], rel=1e-12)
        readme, (results,) = archive.read("README.txt").decode(), rows_of(archive, "results.csv")
    told = [line.split()[0] for line in readme.split("\n\n")[1].splitlines()]
    assert told == list(dict.fromkeys(name.partition("/")[0] for name in names[1:]))
    assert f"model version {MODEL}" in readme
    (command,) = re.findall(r"^    \S+ (?:-m engine )?(run .*)$", readme, re.MULTILINE)
    capsys.readouterr()
    assert main([*shlex.split(command)[:-1], str(again)]) == 0
    (row,) = csv.DictReader(StringIO(again.read_text()))
    assert row == results


def test_a_readme_says_what_an_estimate_and_a_run_on_a_file_need(made):
    _, result = made
    with ZipFile(BytesIO(pack_artefact(result, "estimate"))) as archive:
        readme = archive.read("README.txt").decode()
        assert "curve.csv" not in readme and "curve.csv" not in archive.namelist()
    assert "--estimate --csv again.csv" in readme and "--data" not in readme
    filed = replace(result, scenario=with_values(result.scenario, {"data.digest": "a" * 64}))
    with ZipFile(BytesIO(pack_artefact(filed, "full"))) as archive:
        readme = archive.read("README.txt").decode()
    assert "--data FILE --csv again.csv" in readme and "verify FILE.zip --data FILE" in readme and "--estimate" not in readme


def test_equal_runs_make_equal_files(made):
    path, result = made
    assert path.read_bytes() == pack_artefact(result, "estimate") and not list(differences(read_artefact(path), result))


@pytest.mark.parametrize("table", ["results", "breakdown"])
def test_any_other_number_is_found(made, table, capsys):
    path, _ = made

    def change(content):
        read = json.loads(content)
        if table == "results":
            read["results"]["Step time [ms]"] *= 1 + 1e-15
        else:
            read["breakdown"][0]["Busy [s]"] *= 1 + 1e-15
        return json.dumps(read).encode()

    rewritten(path, "result.json", change)
    assert main(["verify", str(path)]) == 3
    said = capsys.readouterr().out
    assert said.startswith("1 number or knob differs:") and ("Step time [ms]: " in said or "breakdown, row 1, Busy [s]: " in said)


@pytest.mark.parametrize("change", ["knob", "results gone", "column gone"])
def test_what_the_artefact_claims_is_checked_whole(made, change, capsys):
    path, _ = made

    def edit(content):
        result = json.loads(content)
        if change == "knob":
            result["scenario"]["machine.num_gpus"] = 8
        elif change == "results gone":
            result["results"] = {"Step time [ms]": result["results"]["Step time [ms]"]}
        else:
            del result["breakdown"][0]["Busy [s]"]
        return json.dumps(result).encode()

    rewritten(path, "result.json", edit)
    assert main(["verify", str(path)]) == 3
    name = {
        "knob": "machine.num_gpus: 8 then, 1 now",
        "results gone": "'nothing' then",
        "column gone": "Busy [s]: 'nothing' then",
    }
    assert name[change] in capsys.readouterr().out


def test_a_damaged_member_is_refused(made, capsys):
    path, _ = made
    content = bytearray(path.read_bytes())
    start = content.index(b"result.json") + 40
    content[start : start + 200] = bytes(200)
    path.write_bytes(content)
    assert main(["verify", str(path)]) == 2 and "is not an artefact" in capsys.readouterr().err


def test_training_may_be_close_on_another_kind_of_processor_alone(made):
    path, result = made
    content = json.loads(json.dumps(result.as_json()))
    read = read_artefact(path)

    def found(**more):
        return list(differences(read._replace(content={**content, **more}), result))

    other = {**content["results"], "Loss": 0.5}
    now = {**result.results, "Loss": 0.5001}
    result = result.__class__(**{**vars(result), "results": now})
    assert found(results=other) and not found(results=other, arithmetic="another")
    assert found(results={**other, "Loss": 0.6}, arithmetic="another")
    assert found(results={**other, "Elapsed [s]": 1.0}, arithmetic="another")


def test_a_model_version_that_has_changed_is_said(made, capsys):
    path, _ = made
    rewritten(path, "environment.json", lambda content: content.replace(b'"model_version": "', b'"model_version": "0.0'))
    assert main(["verify", str(path)]) == 0 and "The artefact was made with model version 0.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [lambda _: b"{}", lambda _: b"[" * 100_000, lambda _: b"\xff", lambda _: b'{"how": "else"}', lambda _: b'{"books": [1]}'],
)
@pytest.mark.parametrize("name", ["environment.json", "result.json"])
def test_broken_members_are_refused(made, name, change):
    path, _ = made
    rewritten(path, name, change)
    with pytest.raises(BadFile, match="is not an artefact"):
        read_artefact(path)


def test_what_is_no_artefact_is_refused(tmp_path, monkeypatch, made, capsys):
    (tmp_path / "no.zip").write_bytes(b"PK nothing")
    assert main(["verify", str(tmp_path / "no.zip")]) == 2 and "is not an artefact" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "none.zip")]) == 2 and "cannot be read" in capsys.readouterr().err
    assert main(["run", "--preset", "tiny", "--estimate", "--artefact", "-"]) == 2
    assert "name a file" in capsys.readouterr().err
    monkeypatch.setattr(artefact, "MAX_BYTES", 10)
    with pytest.raises(BadFile):
        read_artefact(made[0])


def test_a_run_on_a_file_asks_for_that_file(made, tmp_path, capsys):
    path, _ = made
    rewritten(path, "environment.json", lambda content: content.replace(b'"data_sha256": ""', b'"data_sha256": "abc"'))
    assert main(["verify", str(path)]) == 2 and "give it with --data FILE" in capsys.readouterr().err
    (tmp_path / "x.csv").write_text("click,user\n1,2\n")
    assert main(["verify", str(path), "--data", str(tmp_path / "x.csv")]) == 2 and "abc" in capsys.readouterr().err
