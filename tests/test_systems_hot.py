"""Systems that split hot rows from cold ones, and their baselines: right amounts, right overlap, the same training?"""

import numpy as np
import pytest

from engine.estimate import estimate
from engine.fit import fit
from engine.graph import check
from engine.presets import preset
from engine.registry import load
from engine.run import machinery, schedule
from engine.scenario import with_values
from engine.simulate import simulate
from engine.steady import steady
from engine.traffic import traffic
from engine.work import HostEmbedding

FAMILY = ("cpu-only", "cpu-gpu")
KAGGLE = {"machine.gpu": "v100", "machine.pcie_bandwidth_GBps": 12.35, "data.batch_size": 1024, "run.training": False}


def kaggle(system, **knobs):
    return with_values(preset("dlrm-kaggle").scenario, {**KAGGLE, "system": system, **knobs})


def planned(asked, popular=0.0, batches=8):
    """Return the machinery of a scenario, and its graph and timeline for equal batches with this popular share."""
    m = machinery(fit(asked).scenario)
    amounts = traffic(m.scenario, *(np.full(batches, each) for each in (9000.0, 0.5, 0.0, 3000.0, popular)))
    return m, m.system.plan(m.scenario, m.ways, amounts), schedule(m, amounts)


def demands(graph, name):
    return {demand.device: demand.work for demand in graph.tasks[graph.index(name)].demands}


def seconds(m, graph):
    """Return the seconds of each task by name, of equal batches."""
    return {
        task.name: max(float(np.max(m.devices[one.device].seconds[type(one.work)](one.work))) for one in task.demands)
        for task in graph.tasks
    }


@pytest.mark.parametrize("system", FAMILY)
@pytest.mark.parametrize("gpus", [1, 4])
@pytest.mark.parametrize("popular", [0.0, 0.7, 1.0])
def test_every_graph_keeps_the_grammar_and_its_energy_books_balance(system, gpus, popular) -> None:
    m, graph, line = planned(kaggle(system, **{"machine.num_gpus": gpus}), popular)
    check(graph, frozenset(m.devices))
    average = steady(line, m.devices)
    assert sum(row["Energy [J]"] for row in average.rows) == pytest.approx(average.energy, rel=1e-9)
    assert sum(row["Exposed [s]"] for row in average.rows) == pytest.approx(average.step, rel=1e-9)


def test_cpu_only_takes_the_sum_of_its_steps_and_the_hybrid_hides_only_what_runs_beside() -> None:
    m, graph, line = planned(kaggle("cpu-only"))
    assert steady(line, m.devices).step == pytest.approx(sum(seconds(m, graph).values()), rel=1e-9)
    m, graph, line = planned(kaggle("cpu-gpu"))
    takes = seconds(m, graph)
    beside = ("Bottom MLP forward", "Bottom MLP backward")
    assert steady(line, m.devices).step == pytest.approx(sum(takes.values()) - sum(takes[name] for name in beside), rel=1e-9)


def test_the_hybrid_moves_pooled_vectors_once_each_way_and_all_lookups_are_the_hosts() -> None:
    _, graph, _ = planned(kaggle("cpu-gpu"))
    pooled = 1024 * 26 * 16 * 4
    assert (
        float(demands(graph, "Vectors to GPU")["pcie"].nbytes)
        == float(demands(graph, "Gradients to host")["pcie"].nbytes)
        == pooled
    )
    work = demands(graph, "Embedding lookup")["host"]
    assert isinstance(work, HostEmbedding) and (work.lookups, work.share) == (1024 * 26, 0.5)


def test_cpu_only_needs_no_gpu_and_pays_for_none() -> None:
    huge = {"data.batch_size": 10**6, "model.top_mlp": (100_000, 1)}
    assert not estimate(kaggle("cpu-gpu", **huge)).ran
    assert estimate(kaggle("cpu-only", **huge)).ran
    alone = estimate(kaggle("cpu-only")).results
    assert alone["GPU memory [GiB]"] == 0
    assert alone["Capital cost [USD]"] < estimate(kaggle("cpu-gpu")).results["Capital cost [USD]"] - 1500


@pytest.mark.parametrize("system", FAMILY)
def test_a_full_run_agrees_with_its_estimate_and_its_losses_are_those_of_any_system(system) -> None:
    asked = with_values(preset("tiny").scenario, {"system": system, "run.batches": 60, "machine.gpu": "v100"})
    ran, said = simulate(asked), estimate(asked)
    assert ran.results["Step time [ms]"] == pytest.approx(said.results["Step time [ms]"], rel=0.05)
    plain = simulate(with_values(asked, {"system": "all-hbm"}))
    assert [row["Loss"] for row in ran.training] == [row["Loss"] for row in plain.training]


@pytest.mark.parametrize("system", FAMILY)
def test_without_a_log_a_power_loss_starts_training_again(system) -> None:
    knobs = {"system": system, "run.batches": 30, "run.training": False}
    whole = simulate(with_values(preset("tiny").scenario, knobs))
    at = whole.results["Elapsed [s]"] / 2
    struck = simulate(with_values(preset("tiny").scenario, {**knobs, "faults.power_loss_at_seconds": (at,)}))
    assert load("systems", system).ways.log == "" and struck.events[1]["Batch"] == 0
    assert struck.results["Elapsed [s]"] > whole.results["Elapsed [s]"] + at + 150
