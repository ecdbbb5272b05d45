"""Columns: are a request's results read in bulk the same as one by one, also while it runs and when rows go bad?"""

import math

import pytest

from engine.errors import BadInput
from engine.results.result import Result
from engine.scenario.keys import key
from engine.service import computations
from engine.store import metric_columns, requests, result_rows, status
from engine.store.database import open_store, transaction
from tests import service_fakes as fakes

SCENARIOS = fakes.scenarios(range(1, 8))


def keep(store, *seeds, ran=True):
    """Keep made-up results of these seeds, as a worker does."""
    with open_store(store) as connection, transaction(connection):
        for scenario in fakes.scenarios(seeds):
            results = {"Step time [ms]": scenario.data.seed / 7, "AUC": None, 'Made up "x" [s]': scenario.data.seed}
            result = Result(scenario, ran, "It ran." if ran else 'It says "ran":true, but does not fit.', results if ran else {})
            result_rows.store_results(connection, [(key(scenario, "full"), result_rows.row_text(result))])


def step_times(found):
    return [None if math.isnan(number) else number for number in found.metrics["Step time [ms]"]]


def test_columns_hold_what_reading_one_by_one_gives(store):
    request = requests.submit(store, SCENARIOS, "full")
    keep(store, 2, 3, 7)
    found = metric_columns.columns_of_request(store, request)
    one_by_one = [
        result and result.results["Step time [ms]"] for _, result in result_rows.stored_results(store, SCENARIOS, "full")
    ]
    assert step_times(found) == one_by_one == [None, 2 / 7, 3 / 7, None, None, None, 1.0]
    assert set(found.metrics) == {"Step time [ms]", 'Made up "x" [s]'} and fakes.num_finished(found) == 3


def test_a_running_request_is_followed_by_its_new_rows_alone(store, monkeypatch):
    request = requests.submit(store, SCENARIOS, "full")
    keep(store, 1, 2)
    first = metric_columns.columns_of_request(store, request)
    keep(store, 5, 99)
    parsed = []
    monkeypatch.setattr(
        metric_columns,
        "_parse_results",
        lambda texts, real=metric_columns._parse_results: parsed.append(len(texts)) or real(texts),
    )
    second = metric_columns.columns_of_request(store, request, first)
    assert parsed == [1] and step_times(second) == step_times(metric_columns.columns_of_request(store, request))
    assert step_times(first) == [1 / 7, 2 / 7, None, None, None, None, None], "a value that was handed out never changes"


def test_rows_that_take_the_place_of_deleted_ones_are_seen(store):
    request = requests.submit(store, SCENARIOS, "full")
    keep(store, 1, 2)
    first = metric_columns.columns_of_request(store, request)
    with open_store(store) as connection:
        connection.execute("DELETE FROM results WHERE key = ?", (key(SCENARIOS[1], "full"),))
    keep(store, 4)
    second = metric_columns.columns_of_request(store, request, first)
    assert step_times(second) == [1 / 7, None, None, 4 / 7, None, None, None]


def test_a_point_that_cannot_run_says_why_and_one_without_a_result_can_be_tried_again(store):
    request = requests.submit(store, SCENARIOS, "full")
    keep(store, 1)
    keep(store, 2, ran=False)
    with open_store(store) as connection:
        (mine,) = computations.claim_points(connection, request, [key(SCENARIOS[2], "full")])
        computations.close_claims(connection, [(mine, "failed", "It broke.")])
    found = metric_columns.columns_of_request(store, request)
    assert list(found.state) == [
        metric_columns.COMPLETED,
        metric_columns.REFUSED,
        metric_columns.BROKEN,
        *[metric_columns.UNFINISHED] * 4,
    ]
    assert found.reasons == {1: 'It says "ran":true, but does not fit.', 2: "It broke."}
    again = requests.submit(store, SCENARIOS, "full")
    assert (
        metric_columns.columns_of_request(store, again).state[2]
        == metric_columns.columns_of_request(store, request, found).state[2]
        == metric_columns.UNFINISHED
    )


def test_a_damaged_row_goes_and_counts_as_unfinished(store):
    request = requests.submit(store, SCENARIOS, "full")
    keep(store, 1, 2)
    with open_store(store) as connection:
        connection.execute(
            "UPDATE results SET result = replace(result, '0.14', '9.14') WHERE key = ?", (key(SCENARIOS[0], "full"),)
        )
    assert step_times(metric_columns.columns_of_request(store, request)) == [None, 2 / 7, None, None, None, None, None]
    assert fakes.ask(store, "SELECT count(*) FROM results") == [(1,)]
    assert status.status(store, request).finished_points == 1


def test_a_request_that_the_store_does_not_know_is_refused(store):
    with pytest.raises(BadInput, match="request=3 is not in"):
        metric_columns.columns_of_request(store, 3)


def test_points_that_nobody_asked_for_together_are_found_by_their_keys(store):
    keep(store, 6, 2)
    found = metric_columns.columns_of_keys(store, [key(scenario, "full") for scenario in SCENARIOS])
    assert step_times(found) == [None, 2 / 7, None, None, None, 6 / 7, None] and fakes.num_finished(found) == 2


def test_a_request_is_found_by_the_link_that_reopens_it(store):
    request = requests.submit(store, SCENARIOS, "full", link="/sweep?axis=data.seed:1")
    requests.submit(store, SCENARIOS[:2], "full", link="/sweep?axis=data.seed:2")
    assert requests.newest_by_link(store, "/sweep?axis=data.seed:1", "full") == request
    assert (
        requests.newest_by_link(store, "/sweep?axis=data.seed:1", "estimate") is None
        and requests.newest_by_link(store, "", "full") is None
    )
