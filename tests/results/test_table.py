"""Is the table of results exact, safe to open in a spreadsheet, and written whole or not at all?"""

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from weakref import ref

import pytest

from engine.errors import BadFile
from engine.results.csv_table import check_can_write, csv_text, write_atomically
from engine.results.perfetto import chrome_trace
from engine.results.result import Result
from engine.scenario.keys import key
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.systems.system import constants
from engine.version import MODEL
from tests.cases import each


def result(outcome: str = "It completed.", **results: float | None) -> Result:
    return Result(Scenario(), ran=True, outcome=outcome, results=results)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_columns_are_knobs_then_results_then_key_version_constants_and_outcome() -> None:
    text = csv_text([result(AUC=0.8), result(Loss=0.1, AUC=0.7)], "full")
    held = constants(Scenario()).items()
    used = [f"{name} [{unit}]" for name, one in held for unit in (one.unit, *["year"] * bool(one.year))]
    assert {"gpu.price [year]", "pmem.price [year]"} <= set(used)
    of = "scenario key", "model version", "arithmetic"
    assert text.splitlines()[0].split(",") == [*KNOBS, "AUC", "Loss", *of, *used, "outcome"]
    first, second = rows(text)
    assert (first["AUC"], first["Loss"], second["AUC"], second["Loss"]) == ("0.8", "", "0.7", "0.1")
    assert (first["scenario key"], first["model version"]) == (key(Scenario(), "full"), MODEL)
    assert first["machine.cxl_bandwidth_GBps"] == "auto" and first["policy.log"] == "auto"


def test_a_row_holds_the_constants_that_were_used_as_its_scenario_assumes_them() -> None:
    assumed = with_values(Scenario(), {"machine.assume": (("pmem.read-rate", 5.25),)})
    first, second = rows(csv_text([result(), Result(assumed, True, "", {})], "full"))
    assert (first["pmem.read-rate [GB/s]"], second["pmem.read-rate [GB/s]"]) == ("6.6", "5.25")


def test_rows_with_different_parts_have_the_columns_of_both_and_empty_cells_where_none_applies() -> None:
    other = with_values(Scenario(), {"system": "pmem", "machine.gpu": "trainingcxl"})
    first, second = rows(csv_text([result(), Result(other, True, "", {})], "full"))
    cells = ("cxl.switch-hop [ns]", "pcie.software-hand-off [us]", "gpu.fp32-peak [TFLOPS]", "gpu.top-part-fixed-time [ms]")
    assert [first[name] for name in cells] == ["75", "", "19.5", ""]
    assert [second[name] for name in cells] == ["", "40", "", "1.194"]


def test_results_are_taken_one_by_one_so_that_memory_holds_the_text_alone() -> None:
    made: list[ref[Result]] = []

    def taken() -> Iterator[Result]:
        for number in range(50):
            one = result(AUC=number / 7, **{f"only {number}": 0.1} if number in (7, 49) else {})
            made.append(ref(one))
            assert sum(held() is not None for held in made) < 4
            yield one
            del one

    found = rows(csv_text(taken(), "full"))
    assert [row["AUC"] for row in found] == [repr(number / 7) for number in range(50)]
    assert [number for number, row in enumerate(found) if row["only 7"] or row["only 49"]] == [7, 49]


def test_cells_of_rows_with_other_columns_stand_under_their_names_whatever_text_they_hold() -> None:
    odd = 'a, "b"\nc\x1fd'
    first, second = rows(csv_text([result(Loss=0.1, outcome=odd), result(AUC=-0.0, Loss=0.2)], "full"))
    assert first["outcome"] == 'a, "b"\nc d' and (first["Loss"], first["AUC"]) == ("0.1", "")
    assert (second["Loss"], second["AUC"]) == ("0.2", "-0.0")


def test_a_row_with_as_many_results_as_the_one_before_but_others_has_them_under_their_own_names() -> None:
    first, second = rows(csv_text([result(AUC=0.5), result(Loss=0.5)], "full"))
    assert (first["AUC"], first["Loss"], second["AUC"], second["Loss"]) == ("0.5", "", "", "0.5")


def test_numbers_keep_every_digit_and_lines_end_in_lf() -> None:
    text = csv_text([result(a=0.1 + 0.2, b=1e-300, c=-5.0, d=None)], "full")
    found = rows(text)[0]
    assert [found[name] for name in "abcd"] == ["0.30000000000000004", "1e-300", "-5.0", ""]
    assert "\r" not in text and text.endswith("\n")


@each("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_looks_like_a_formula_is_disarmed(start: str) -> None:
    (found,) = rows(csv_text([result(outcome=f"{start}cmd|' /C calc'!A0")], "full"))
    assert found["outcome"].startswith("'" + start.replace("\r", " "))


def test_a_signed_number_is_no_formula() -> None:
    (found,) = rows(csv_text([result(outcome="-1.5e3")], "full"))
    assert found["outcome"] == "-1.5e3"


def test_text_with_commas_quotes_and_line_ends_reads_back() -> None:
    text = 'a "b", c\nd é'
    (found,) = rows(csv_text([result(outcome=text)], "full"))
    assert found["outcome"] == text


def test_a_file_is_replaced_whole_and_a_link_to_it_stays(tmp_path: Path) -> None:
    target, link = tmp_path / "table.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, "new\n")
    assert target.read_text() == "new\n" and link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "table.csv"]


def test_a_device_is_written_and_not_replaced() -> None:
    write_atomically(Path(os.devnull), "gone\n")
    assert Path(os.devnull).is_char_device()


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadFile, match=r"table\.csv cannot be written: No space left on device"):
        write_atomically(target, "new")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_target_that_cannot_be_written_is_refused_early(tmp_path: Path) -> None:
    check_can_write(tmp_path / "new.csv")
    with pytest.raises(BadFile, match="is a folder"):
        check_can_write(tmp_path)
    with pytest.raises(BadFile, match="there is no folder"):
        check_can_write(tmp_path / "none" / "new.csv")


def test_a_timeline_becomes_one_lane_per_device_in_microseconds() -> None:
    task = {"Device": "gpu", "Task": "top MLP", "Stage": "Top MLP", "Batch": 3, "Start [ms]": 1.5, "End [ms]": 2.0}
    rows = ({**task, "Background": False}, {**task, "Device": "cxl", "Background": True})
    trace = json.loads(chrome_trace(Result(Scenario(), True, "", {}, timeline=rows)))
    lanes = {event["args"]["name"]: event["tid"] for event in trace["traceEvents"] if event["ph"] == "M"}
    first, second = (event for event in trace["traceEvents"] if event["ph"] == "X")
    assert (first["ts"], first["dur"], first["tid"]) == (1500.0, 500.0, lanes["gpu"])
    assert second["tid"] == lanes["cxl"] != lanes["gpu"]


def test_the_estimate_and_the_full_run_of_a_scenario_have_different_keys() -> None:
    one = with_values(Scenario(), {"data.seed": 9})
    texts = {csv_text([Result(one, True, "", {})], how) for how in ("full", "estimate")}
    assert len(texts) == 2
