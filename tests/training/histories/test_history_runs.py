"""Does a run over histories crash, recover and sweep as any run, and does it learn from the histories?"""

from dataclasses import replace

import numpy as np
import pytest

from engine.run.learner import train_without_flips
from engine.run.progress import Meter
from engine.run.training_curve import scaled_learner
from engine.scenario.scenario import Scenario, with_values
from engine.simulate import simulate
from engine.training.histories.cut import cut_batch
from engine.training.lookup import localise
from engine.training.loop import evaluate
from engine.training.shape import full_shape, larger_budget, narrowed_shape, scale_note, scaled_shape, step_flop, trained_samples
from engine.workload.source import source
from tests.cases import each
from tests.workload.test_histories import LENGTH, SIZE, histories, history_scenario

RUN = {"run__batches": 24, "run__evaluations": 3, "data__held_out_samples": 128, "data__samples_per_user": 4.0}


@each("system", ["cxl-b", "cxl-d", "pmem", "pcie"], few=2)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_strict_run_that_loses_power_trains_as_one_that_does_not(system: str, optimizer: str) -> None:
    knobs = {"system": system, **RUN, "model__optimizer": optimizer, "model__learning_rate": 0.01}
    whole = simulate(history_scenario(**knobs))
    middle = 0.6 * float(whole.results["Elapsed [s]"] or 0)
    struck = simulate(history_scenario(**knobs, faults__power_loss_at_seconds=(middle,)))
    assert whole.ran and struck.ran and len(struck.events) == 2
    losses = {row["Batch"]: row["Loss"] for row in struck.training}
    assert losses == {row["Batch"]: row["Loss"] for row in whole.training} and len(losses) == 24
    assert all(struck.results[name] == whole.results[name] for name in ("Loss", "AUC", "Loss (training)"))


def test_a_relaxed_run_over_histories_recovers_with_an_older_mlp() -> None:
    whole = simulate(history_scenario(system="cxl", **RUN))
    middle = 0.6 * float(whole.results["Elapsed [s]"] or 0)
    struck = simulate(history_scenario(system="cxl", **RUN, faults__power_loss_at_seconds=(middle,)))
    assert " older; " in struck.events[1]["What"] and struck.results["Loss"] != whole.results["Loss"]
    assert struck.results["Loss"] == pytest.approx(whole.results["Loss"], rel=0.05)


def test_a_sweep_of_full_runs_over_a_twins_histories_trains_each_point() -> None:
    asked = history_scenario(system="cxl-b", **RUN, run__step_budget_GFLOP=5e-4)
    losses = {}
    for path, settings in {"model.hstu_layers": (1, 2), "model.pooling": ((4, 4, 4, 2), (8, 8, 8, 2))}.items():
        for setting in settings:
            result = simulate(with_values(asked, {path: setting}))
            assert result.ran and result.results["Loss"] is not None
            assert any("histories and batches divided by" in note for note in result.notes)
            losses[path, setting] = result.results["Loss"]
    assert len(set(losses.values())) == 3  # one point is the same in both axes


@pytest.mark.more
def test_a_model_learns_what_its_users_histories_say() -> None:
    knobs = {
        "model__num_embeddings": (30, 30, 30, 20),
        "data__popularity": "uniform",
        "data__batch_size": 256,
        "data__held_out_samples": 3000,
        "model__optimizer": "adam",
        "model__learning_rate": 0.01,
        "model__embedding_learning_rate": None,
        "run__batches": 200,
    }
    asked = history_scenario(**knobs)
    learner = scaled_learner(asked, source(asked), 200, Meter(None, 1), False)
    trained = train_without_flips(learner, 200, lambda *batch: None).weights
    swapped = learner.held_out.ids.copy()
    for history in histories(swapped, 3000):
        history[:, :-1] = np.roll(history[:, :-1], 1, axis=0)
    own, others = (
        evaluate(learner.shape, trained, localise(learner.shape, trained, replace(learner.held_out, ids=ids))).auc or 0.0
        for ids in (learner.held_out.ids, swapped)
    )
    assert own > 0.72 and others < own - 0.008


def test_a_twin_divides_widths_histories_and_batches_by_one_power_of_two() -> None:
    asked = history_scenario(model__hstu_dim=64, model__hstu_head_dim=32)
    full = full_shape(asked)
    twin = narrowed_shape(with_values(asked, {"run.step_budget_GFLOP": step_flop(full, SIZE) / 20e9}))
    divisor = twin.width_divisor
    assert divisor > 1 and twin.hstu == full.hstu._replace(dim=64 // divisor, head_dim=32 // divisor)
    assert twin.pooling == (LENGTH // divisor,) * 3 + (2,) and trained_samples(twin, SIZE) == SIZE // divisor
    assert [span.features for span in twin.spans] == [LENGTH // divisor, 1]
    assert step_flop(twin, SIZE // divisor) <= step_flop(full, SIZE) / 20
    assert f"hidden MLP widths, HSTU widths, histories and batches divided by {divisor};" in scale_note(twin)
    assert scale_note(full) == "" and larger_budget(asked) is None


@pytest.mark.parametrize("uneven_bags", [False, True])
def test_a_twin_trains_the_first_samples_and_the_events_nearest_to_the_candidate(uneven_bags: bool) -> None:
    asked = history_scenario(data__bag_length_cv=(0.0, 0.0, 0.0, 1.0) if uneven_bags else ())
    shape, batch = full_shape(asked), source(asked).batch(0)
    twin = replace(shape, width_divisor=4, pooling=(2, 2, 2, 2))
    cut = cut_batch(twin, batch, 6)
    assert cut.dense.tolist() == batch.dense[:6].tolist() and cut.labels.tolist() == batch.labels[:6].tolist()
    for table, history in enumerate(histories(batch.ids)):
        assert cut.ids[table * 12 : (table + 1) * 12].reshape(6, 2).tolist() == history[:6, -2:].tolist()
    first_bag = 3 * SIZE * LENGTH
    end = 2 * 6 if batch.starts is None else int(batch.starts[3 * SIZE + 6] - first_bag)
    assert cut.ids[36:].tolist() == batch.ids[first_bag : first_bag + end].tolist()
    if cut.starts is not None and batch.starts is not None:
        assert cut.starts[:19].tolist() == list(range(0, 37, 2))
        assert np.diff(cut.starts[18:]).tolist() == np.diff(batch.starts[3 * SIZE :][:7]).tolist()


def test_two_positions_an_event_are_refused_with_the_remedy() -> None:
    result = simulate(history_scenario(system="cxl-b", **RUN, model__event_positions=2))
    assert not result.ran and "set run.training=off, or model.event_positions=1" in result.outcome


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_histories_of_uneven_length_train_and_recover_too(optimizer: str) -> None:
    uneven = {"data__bag_length_cv": (0.5, 0.5, 0.5, 0.0), "data__history_cap": 20, "model__optimizer": optimizer}
    knobs = {"system": "cxl-b", **RUN, **uneven, "model__learning_rate": 0.01}
    whole = simulate(history_scenario(**knobs))
    assert whole.ran and any("with histories cut to their last 8 lookups" in note for note in whole.notes)
    struck = simulate(history_scenario(**knobs, faults__power_loss_at_seconds=(0.6 * float(whole.results["Elapsed [s]"] or 0),)))
    assert len(struck.events) == 2 and struck.results["Loss"] == whole.results["Loss"]
    even = simulate(history_scenario(**{**knobs, "data__bag_length_cv": ()}))
    assert even.results["Loss"] != whole.results["Loss"]


def test_the_reference_has_a_twin_that_is_not_a_line() -> None:
    asked = with_values(Scenario(), {"model.name": "dlrm-v4-hstu", "data.batch_size": 8192})
    twin = scaled_shape(asked, np.arange(1))
    assert twin.hstu is not None and twin.hstu.dim >= 4 and twin.pooling[0] >= 16 and step_flop(twin, 1) > 0
