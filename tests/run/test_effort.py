"""Effort: does the forecast of a run follow what there is to do?"""

import pytest

from engine.run import forecast
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values

BASE = preset("optane-kaggle").scenario


@pytest.mark.parametrize("changes", [{"run.batches": 8000}, {"data.batch_size": 2048}, {"model.pooling": (40,)}])
def test_more_work_takes_longer(changes):
    assert forecast.run_seconds(with_values(BASE, changes)) > 1.5 * forecast.run_seconds(BASE)


def test_a_run_without_training_takes_less_and_a_sweep_is_shared_by_the_cores():
    assert forecast.run_seconds(with_values(BASE, {"run.training": False})) < forecast.run_seconds(BASE) / 2
    others, each = (
        [with_values(BASE, {"data.seed": seed}) for seed in range(8)],
        forecast.run_seconds(BASE) - forecast.START_SECONDS,
    )
    assert forecast.sweep_seconds(others, "full", 1) == pytest.approx(8 * each + forecast.START_SECONDS)
    assert 4 <= forecast.sweep_seconds(others, "full", 2) / each < 5, "the last training has one core to itself"
    assert forecast.sweep_seconds([BASE] * 8, "estimate") < forecast.sweep_seconds([BASE] * 8, "full")


def test_points_of_one_class_count_their_training_once_and_the_sentence_says_so():
    machines = [with_values(BASE, {"machine.cxl_bandwidth_GBps": rate}) for rate in (1.0, 2.0, 4.0)]
    once = forecast.sweep_seconds(machines, "full")
    assert once == pytest.approx(forecast.run_seconds(BASE) + 2 * forecast.POINT_SECONDS)
    strict = [with_values(one, {"system": "cxl-b"}) for one in machines]
    assert forecast.shared_training_note([*machines, *strict]) == "6 points share 2 trainings."
    assert (
        forecast.shared_training_note(machines) == "3 points share 1 training."
        and forecast.shared_training_note(machines[:1]) == ""
    )
    assert forecast.shared_training_note([with_values(one, {"run.training": False}) for one in machines]) == ""


def test_runs_without_training_that_differ_in_machines_alone_are_counted_once():
    calm = [with_values(BASE, {"run.training": False, "machine.cxl_bandwidth_GBps": rate}) for rate in (1.0, 2.0, 4.0)]
    assert forecast.sweep_seconds(calm, "full") == pytest.approx(forecast.run_seconds(calm[0]) + 2 * forecast.POINT_SECONDS)
    longer = [with_values(one, {"run.batches": 100 + n}) for n, one in enumerate(calm)]
    assert len(forecast.distinct_runs(calm)) == 1 and len(forecast.distinct_runs(longer)) == 3


def test_estimates_of_many_machines_are_forecast_to_cost_less_than_those_of_many_models():
    machines = [with_values(BASE, {"machine.cxl_bandwidth_GBps": 1.0 + n}) for n in range(400)]
    models = [with_values(BASE, {"data.batch_size": 1 + n}) for n in range(400)]
    assert forecast.sweep_seconds(machines, "estimate") < forecast.sweep_seconds(models, "estimate") / 4
    assert forecast.sweep_seconds(machines * 10, "estimate") < 11 * forecast.sweep_seconds(machines, "estimate")
    assert forecast.sweep_seconds([], "estimate") == 0


LARGE = with_values(preset("dlrm-terabyte").scenario, {"run.batches": 20_000})


def test_a_sampled_run_takes_less_and_never_less_than_counting_its_batches():
    longer = [forecast.run_seconds(with_values(LARGE, {"run.train_every": every})) for every in (1, 2, 8, 64, 4000)]
    assert longer == sorted(longer, reverse=True) and longer[0] - longer[-1] == pytest.approx(
        2 * (longer[1] - longer[-1]), rel=0.01
    )
    untrained = forecast.run_seconds(with_values(LARGE, {"run.training": False}))
    assert untrained < longer[-1] < 3 * untrained
    assert untrained == forecast.run_seconds(with_values(LARGE, {"run.training": False, "run.train_every": 64}))


@pytest.mark.parametrize("seconds", [200, 300, 1000, 1e5])
def test_the_affordable_run_trains_as_many_batches_as_fit(seconds):
    run = forecast.affordable_run(LARGE, seconds)
    assert run.train_every and run.seconds <= seconds
    assert run.seconds == forecast.run_seconds(with_values(LARGE, {"run.train_every": run.train_every}))
    if run.train_every > 1:
        assert forecast.run_seconds(with_values(LARGE, {"run.train_every": run.train_every // 2})) > seconds
    assert (run.train_every == 1) == (seconds == 1e5)


def test_where_counting_alone_takes_longer_no_sampled_run_is_affordable():
    untrained = forecast.run_seconds(with_values(LARGE, {"run.training": False}))
    assert forecast.affordable_run(LARGE, untrained) == forecast.AffordableRun(None, untrained)
    assert forecast.affordable_run(with_values(LARGE, {"run.batches": 1}), 0.0).train_every is None
