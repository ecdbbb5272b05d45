"""GPU memory by kind and the time to target of a sequence recommender, as a person would add them up."""

from types import SimpleNamespace

import pytest

from engine.analysis.verdict.report.sentences import unpriced_sentence
from engine.estimate import estimate
from engine.estimates import estimates
from engine.hardware.devices.gpu import memory_bytes
from engine.insight.memory.gpu_memory import gpu_memory, gpu_memory_finding
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.systems.exchange.fullest import fullest_gpu
from engine.systems.steps.stashing import peak_bytes
from engine.systems.traffic import mlp_bytes
from engine.workload.accesses import unique_shares
from tests.cases import each

V4 = preset("dlrm-v4-mi350x").scenario
TARGET = "Time to target [min]"


def test_memory_by_kind_adds_up_to_what_the_gpu_must_hold():
    kinds, settled = gpu_memory(V4), settle(V4)
    tables = settled.sizes.gpu_bytes - 2 * mlp_bytes(V4)
    _, _, sent = fullest_gpu(V4, settled.system, settled.placement.balance)
    assert sum(kinds.values()) == pytest.approx(2 * mlp_bytes(V4) + peak_bytes(V4, tables) + sent, rel=1e-4)
    assert kinds["rows"] == pytest.approx(600.2e9 / 8, rel=0.01)
    assert kinds["optimizer state"] == pytest.approx(1.17e9 / 8, rel=0.02)
    read, crossing = (2 * 2 * 1024 * vectors * 512 for vectors in (3 * 2628 + 8, 2628 * unique_shares(V4)[:3].sum()))
    busiest = settle(V4).placement.skews.rows
    assert kinds["vectors"] == pytest.approx(read + 2 * 2 * 1024 * 8 * 512 + crossing * (1 + busiest), rel=1e-3)
    assert kinds["rows"] < kinds["activations"] + kinds["vectors"] < memory_bytes(V4.machine)
    finding = gpu_memory_finding(kinds, memory_bytes(V4.machine))
    assert finding.startswith(f"The fullest GPU holds {sum(kinds.values()) / 1e9:.0f} GB of its 288 GB during a batch, ")
    assert finding.endswith("of it activations") and kinds["activations"] == max(kinds.values())


def test_activations_grow_with_layers_width_events_and_samples():
    base = gpu_memory(V4)["activations"]
    for path, setting in {
        "model.hstu_layers": 6,
        "model.hstu_heads": 8,
        "data.batch_size": 16384,
        "model.event_positions": 2,
    }.items():
        assert gpu_memory(with_values(V4, {path: setting}))["activations"] > 1.3 * base, path


def test_a_batch_beyond_the_memory_is_refused_with_a_smaller_batch_as_the_remedy():
    asked = {"data.batch_size": 8 * 8192}
    refused = estimate(with_values(V4, asked))
    assert not refused.ran and "lower data.batch_size" in refused.outcome
    fewer = estimate(with_values(V4, {"machine.num_gpus": 4}))
    assert not fewer.ran and "GPUs" not in fewer.outcome and "machine.num_gpus=4 of mi350x" in fewer.outcome
    finding = gpu_memory_finding(gpu_memory(with_values(V4, asked)), memory_bytes(V4.machine))
    assert finding.startswith("A batch needs") and "of a GPU that has 288 GB" in finding
    assert gpu_memory(with_values(preset("dlrm-kaggle").scenario, {"system": "cpu-only"})) == {}


def test_time_to_target_is_set_up_training_and_evaluations():
    step = estimate(V4).results["Step time [ms]"] / 1e3
    by_hand = 825 + 69.3e6 / 8192 * step + 30 * 84.6
    assert estimate(V4).results[TARGET] == pytest.approx(by_hand / 60)
    assert by_hand / 60 == pytest.approx(159.6, rel=0.02)
    no_evaluations = estimate(with_values(V4, {"run.evaluation_samples": None})).results[TARGET]
    assert no_evaluations == pytest.approx((by_hand - 30 * 84.6) / 60)
    assert estimate(with_values(V4, {"run.target_samples": None})).results[TARGET] is None


def test_points_of_a_sweep_have_their_own_time_to_target():
    points = [
        with_values(V4, {"run.target_samples": count, "data.batch_size": size})
        for count in (1e6, None, 5e7)
        for size in (256, 8192)
    ]
    assert [result.results[TARGET] for result in estimates(points)] == [estimate(point).results[TARGET] for point in points]


def test_an_estimate_names_what_would_shorten_histories_and_cautions_about_long_waits():
    scenario = preset("dlrm-v4-mi350x").scenario
    result, pooled = estimate(scenario), estimate(preset("torchrec-terabyte").scenario)
    assert "shorter histories or fewer HSTU layers" in result.finding and "HSTU" not in pooled.finding
    assert any("wait 75.0 ms before each collective" in note for note in result.notes)
    assert not any("before each collective" in note for note in pooled.notes)
    assert not any(
        "before each collective" in note for note in estimate(with_values(scenario, {"machine.framework": "pytorch"})).notes
    )


def test_what_does_not_fit_a_gpu_names_what_shortens_histories():
    alone = estimate(with_values(V4, {"system": "cxl", "machine.gpu": "h100-sxm", "machine.num_gpus": 1}))
    assert "model.hstu_layers, shorten the histories, or choose a larger GPU" in alone.outcome


def test_the_gpu_of_the_question_without_a_price_is_named_as_such():
    verdict = SimpleNamespace(question=SimpleNamespace(base=V4), unpriced=("h200", "mi350x"))
    told = unpriced_sentence(verdict)
    assert "no price is published: h200, mi350x." in told and "mi350x is the GPU of the scenario" in told
    verdict.unpriced = ("h200",)
    assert "GPU of the scenario" not in unpriced_sentence(verdict)


@each("stashing", ["off", "state", "weights", "both"])
@each("rows", [10_000, 10_000_000])
def test_memory_with_a_stash_is_that_of_the_fuller_moment(stashing, rows):
    knobs = {"system": "all-hbm", "data.batch_size": 65536, "model.num_embeddings": (rows,) * 26, "model.optimizer": "adagrad"}
    stash = with_values(preset("torchrec-terabyte").scenario, {**knobs, "policy.stashing": stashing})
    s, kinds = settle(stash).scenario, gpu_memory(stash)
    tables = settle(stash).sizes.gpu_bytes - 2 * mlp_bytes(s)
    assert sum(kinds.values()) == pytest.approx(2 * mlp_bytes(s) + peak_bytes(s, tables), rel=1e-4)
    assert (kinds["activations"] == 0) == (stashing != "off" and rows > 10_000), "large tables are back at the update"
    gone = {"off": (), "state": ("optimizer state",), "weights": ("rows",), "both": ("rows", "optimizer state")}[stashing]
    assert [kind for kind in ("rows", "optimizer state") if not kinds[kind]] == (list(gone) if rows == 10_000 else [])
