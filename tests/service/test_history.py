"""Can everything that was run be found again, reopened, held, exported and deleted, and nothing else with it?"""

import csv
import io
import json
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.results.csv_table import csv_of
from engine.scenario.scenario import Scenario, with_values
from engine.service import history
from engine.store import requests
from engine.store.quota import usage
from engine.sweep import links
from engine.sweep.axes import parse
from engine.sweep.sweep import Sampling, Sweep
from engine.sweep.sweep import sampling as sampling_of
from tests.service_fakes import ask, scenario, scenarios
from tests.store.test_store_quota import fill, left


def test_the_newest_request_comes_first_and_says_how_it_stands(path: Path) -> None:
    assert history.past_requests(path) == [] and usage(path).requests == 0
    first, second = fill(path, range(3)), requests.submit(path, scenarios([1, 2, 9]), "full")
    newest, oldest = history.past_requests(path)
    assert (newest.request, newest.state, newest.num_points, newest.num_results, newest.num_failures) == (
        second,
        "queued",
        3,
        2,
        0,
    )
    assert (oldest.request, oldest.state, oldest.num_points, oldest.num_results) == (first, "done", 3, 3)
    assert oldest.created <= newest.created and oldest.seconds is not None and newest.seconds is None
    assert [entry.request for entry in history.past_requests(path, most=1)] == [newest.request] and usage(path).requests == 2


def test_a_request_whose_points_are_still_arriving_is_not_listed(path: Path) -> None:
    whole, arriving = fill(path, range(2)), fill(path, range(2, 4))
    ask(path, "UPDATE requests SET state = 'arriving' WHERE id = ?", arriving)
    assert [entry.request for entry in history.past_requests(path)] == [whole] and usage(path).requests == 1


def test_a_request_without_a_title_is_described_by_what_it_computes(path: Path) -> None:
    machine = "machine.cxl_bandwidth_GBps"
    base = with_values(Scenario(), {"system": "pmem"})
    requests.submit(path, [base], "full")
    requests.submit(path, [with_values(base, {machine: value}) for value in (16.0, 32.0, 64.0)], "estimate")
    requests.submit(path, [with_values(base, {"system": name}) for name in ("pmem", "cxl")], "estimate")
    model = base.model.name
    assert [entry.title for entry in history.past_requests(path)] == [
        f"2 estimates of {model} over Training system",
        f"3 estimates of {model} with pmem over CXL bandwidth [GB/s]",
        f"Full run of {model} with pmem",
    ]


def test_a_request_that_is_asked_for_again_keeps_its_title_unless_it_gets_another(path: Path) -> None:
    for title, link in (("First", "/sweep?v=1"), ("", ""), ("Second", "")):
        requests.submit(path, scenarios([1, 2]), "full", title=title, link=link)
        (entry,) = history.past_requests(path)
        assert entry.title == (title or "First") and history.link(path, entry.request) == "/sweep?v=1"


def test_requests_are_found_by_words_of_title_and_state(path: Path) -> None:
    fill(path, range(2))
    pinned = fill(path, range(2, 5), pinned=True)
    ask(path, "UPDATE requests SET title = 'The night of 1,000 PMEM modules', link = '/sweep?v=1' WHERE id = ?", pinned)
    for words in ("pmem NIGHT", "pinned", "/sweep", "1,000 done"):
        assert [entry.request for entry in history.past_requests(path, words)] == [pinned], words
    assert history.past_requests(path, "pmem day") == history.past_requests(path, "#99") == []
    assert len(history.past_requests(path, "#1 #2")) == 2
    assert [entry.request for entry in history.past_requests(path, "#1")] == [1] == list(history.request_numbers("a #1 #b #"))


def test_a_request_reopens_by_its_own_link_or_that_of_its_first_point(path: Path) -> None:
    own, other = fill(path, range(3, 5)), fill(path, range(7, 8))
    ask(path, "UPDATE requests SET link = '/sweep?axis=data.seed:3,4&v=1' WHERE id = ?", own)
    assert history.link(path, own) == "/sweep?axis=data.seed:3,4&v=1"
    assert links.open_link(history.link(path, other)).scenario == scenario(7)
    ask(path, 'UPDATE requests SET base = \'{"machine.gone":"1"}\' WHERE id = ?', other)
    assert history.link(path, other) == "" == history.link(path, 99)


def test_a_request_from_before_a_knob_was_renamed_reopens_with_the_same_modules(path: Path) -> None:
    request = fill(path, range(2))
    ask(path, 'UPDATE requests SET base = \'{"machine.pmem_capacity_GiB":"512.0"}\' WHERE id = ?', request)
    changes = '{"machine.pmem_capacity_GiB":"1024.0"}'
    ask(path, f"UPDATE points SET changes = '{changes}' WHERE request = ? AND position = 1", request)
    assert links.open_link(history.link(path, request)).scenario.machine.pmem_capacity_GB == 549.755813888
    (entry,) = history.past_requests(path)
    assert "over PMEM capacity [GB]" in entry.title
    assert history.varied_texts(path, request) == {"machine.pmem_capacity_GB": ["549.755813888", "1099.511627776"]}
    ask(path, "UPDATE requests SET link = '/explore?machine.pmem_capacity_GiB=512&v=1' WHERE id = ?", request)
    assert links.open_link(history.link(path, request)).scenario.machine.pmem_capacity_GB == 549.755813888


@pytest.mark.parametrize("sampling", [Sampling(), Sampling("random", 4)])
def test_a_sweep_of_the_command_line_reopens_on_its_page(sampling: Sampling) -> None:
    axes = (parse("machine.cxl_bandwidth_GBps=16:64:3"), parse("system=cxl,pmem"))
    points = Sweep(Scenario(), axes, (("data.seed", 5),), sampling)
    opened = links.open_link(history.reopening(points))
    again = Sweep(opened.scenario, tuple(map(parse, opened.axes)), (), sampling_of(opened.questions.sample or "grid"))
    assert list(again) == list(points) and all(point.data.seed == 5 for point in again)
    models = Sweep(Scenario(), (parse("model.name=rm1,rm2"),), (("model.embedding_dim", 8),), Sampling())
    assert history.reopening(models) == history.reopening(tuple(points)) == ""


def test_results_and_lines_are_those_that_have_a_result(path: Path) -> None:
    request = fill(path, range(3))
    requests.submit(path, scenarios([0, 1, 8]), "full")
    assert history.varied_texts(path, request + 1) == {"data.seed": ["0", "1", "8"]}
    table = csv.DictReader(io.StringIO(csv_of(history.table_rows(path, [request + 1]))))
    assert [row["data.seed"] for row in table] == ["0", "1"]
    assert [json.loads(line)["scenario"]["data.seed"] for line in history.result_lines(path, request)] == [0, 1, 2]


def test_deleting_a_request_frees_what_no_other_has_and_stops_what_runs_for_it_alone(path: Path) -> None:
    first, second = fill(path, range(10)), fill(path, range(6, 14), pinned=True)
    for name in ("of both", "of the first"):
        ask(path, "INSERT INTO trainings VALUES (?, '{}', '', '', 0, '')", name)
    ask(path, "UPDATE points SET class = CASE WHEN position < 5 THEN 'of the first' ELSE 'of both' END")
    ask(path, "UPDATE points SET class = 'of both' WHERE request = ?", second)
    before = path.stat().st_size
    assert history.freed_results(path, [first]) == 6
    history.delete(path, [first], requests.COMMAND)
    assert left(path, range(14)) == list(range(6, 14))
    assert ask(path, "SELECT class FROM trainings") == [("of both",)]
    assert ask(path, "SELECT count(*) FROM claims") == [(8,)]
    assert [entry.request for entry in history.past_requests(path)] == [second]
    assert path.stat().st_size < before - 6 * 16_000
    assert history.freed_results(path, [second]) == 8
    history.delete(path, [second], requests.COMMAND)
    assert usage(path).requests == 0 and left(path, range(14)) == []


def test_what_someone_else_has_deleted_is_refused_and_nothing_changes(path: Path) -> None:
    request = fill(path, range(2))
    for change in (
        lambda: history.delete(path, [request, 99], requests.COMMAND),
        lambda: history.pin(path, [request, 99], True, requests.COMMAND),
    ):
        with pytest.raises(BadInput, match=r"request=99 is not in .*; someone may have deleted it"):
            change()
    (entry,) = history.past_requests(path)
    assert entry.num_results == 2 and not entry.pinned


def test_a_damaged_request_does_not_hide_the_others(path: Path) -> None:
    fill(path, range(2))
    damaged = fill(path, range(2, 4))
    ask(path, "UPDATE requests SET base = '{' WHERE id = ?", damaged)
    assert [entry.title.split(" with ")[0] for entry in history.past_requests(path)] == [
        "2 full runs of an unknown model",
        f"2 full runs of {Scenario().model.name}",
    ]
    assert history.varied_texts(path, damaged) == {"data.seed": ["", "3"]}


def test_no_two_requests_have_one_title(path: Path) -> None:
    machine = "machine.cxl_bandwidth_GBps"
    for value in (16.0, 32.0, 32.0):
        requests.submit(path, [with_values(Scenario(), {machine: value})], "full")
    requests.submit(path, [Scenario()], "full", title="Mine")
    requests.submit(path, [with_values(Scenario(), {"data.batch_size": 256})], "full", title="Mine")
    for last in (32.0, 64.0):  # alike in their first point
        requests.submit(path, [with_values(Scenario(), {machine: value}) for value in (8.0, last)], "estimate")
    titles = [entry.title for entry in history.past_requests(path)]
    assert len({*titles}) == len(titles) and sum(title.endswith(")") for title in titles) == 2
    assert sum("16" in title for title in titles) == 1
    assert any("batch" in title.lower() and "256" in title for title in titles)
