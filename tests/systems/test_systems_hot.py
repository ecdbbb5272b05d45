"""Systems that split hot rows from cold ones, and their baselines: right amounts, right overlap, the same training?"""

import numpy as np
import pytest

from engine.core.work import HostEmbedding, TopPart
from engine.estimate import estimate
from engine.hardware.device import duration
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, schedule
from engine.simulate import simulate
from engine.systems.capacity import fit
from engine.systems.traffic import traffic
from tests.cases import each
from tests.machines import TINY, scenario

FAMILY = ("cpu-only", "cpu-gpu", "fae", "hotline")
KAGGLE = {"machine.gpu": "v100", "machine.pcie_bandwidth_GBps": 12.35, "data.batch_size": 1024, "run.training": False}


def kaggle(system, **knobs):
    return with_values(preset("optane-kaggle").scenario, {"model.optimizer": "sgd", **KAGGLE, "system": system, **knobs})


def planned(asked, popular=0.0, batches=8):
    """Return the machine of a scenario, and its graph and timeline for equal batches with this popular share."""
    m = machine_of(fit(asked))
    amounts = traffic(m.scenario, rows=np.full(batches, 9000.0), popular=np.full(batches, popular))
    return m, m.system.graph(m.settled, amounts), schedule(m, amounts)


def demands(graph, name):
    return {demand.device: demand.work for demand in graph.tasks[graph.index(name)].demands}


def seconds(m, graph):
    """Return the seconds of each task by name, of equal batches."""
    return {
        task.name: max(float(np.max(duration(m.devices[one.device], one.work))) for one in task.demands) for task in graph.tasks
    }


def test_cpu_only_takes_the_sum_of_its_steps_and_the_hybrid_hides_only_what_runs_beside() -> None:
    m, graph, line = planned(kaggle("cpu-only"))
    assert line.steady.step == pytest.approx(sum(seconds(m, graph).values()), rel=1e-9)
    m, graph, line = planned(kaggle("cpu-gpu"))
    takes = seconds(m, graph)
    beside = ("Bottom MLP forward", "Bottom MLP backward")
    assert line.steady.step == pytest.approx(sum(takes.values()) - sum(takes[name] for name in beside), rel=1e-9)


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


@each(("system", "hot"), [("cpu-only", 1.0), ("cpu-gpu", 1.0), ("fae", 0.01), ("hotline", 0.01), ("hotline", 1.0)])
def test_a_full_run_agrees_with_its_estimate(system, hot) -> None:
    knobs = {"run.batches": 60, "run.training": False, "machine.gpu": "v100", "policy.hot_rows_MiB": hot, "data.batch_size": 64}
    asked = with_values(TINY, {"system": system, **knobs})
    ran, said = simulate(asked), estimate(asked)
    assert ran.results["Step time [ms]"] == pytest.approx(said.results["Step time [ms]"], rel=0.05)


@each("cv", [0.5, 1.0, 2.0], few=1)
@each(
    ("name", "correlation"), [("fae-kaggle", 0.0), ("fae-kaggle", 1.0), ("hotline-kaggle", 0.0), ("hotline-kaggle", 1.0)], few=2
)
def test_a_full_run_of_uneven_bags_agrees_with_its_estimate_and_not_with_that_of_even_ones(name, correlation, cv) -> None:
    even = with_values(preset(name).scenario, {"data.sample_correlation": correlation, "run.batches": 60})
    asked = with_values(even, {"data.bag_length_cv": (cv,)})
    ran, said, other = simulate(asked).results, estimate(asked).results, estimate(even).results
    for result in ("Step time [ms]", "Energy per batch [J]"):
        assert ran[result] == pytest.approx(said[result], rel=0.03)
    assert other["Step time [ms]"] != pytest.approx(said["Step time [ms]"], rel=0.002)


def test_long_samples_are_the_cards_and_short_ones_the_gpus() -> None:
    asked = kaggle("hotline", **{"data.bag_length_cv": (1.0,)})
    m = machine_of(fit(asked))
    amounts = traffic(m.scenario, rows=np.ones(1), popular=np.array([0.5]), popular_lookups=np.array([0.4]))
    graph = m.system.graph(m.settled, amounts)
    vector, pooled = 16 * 4, 1024 * 26 * 16 * 4
    assert demands(graph, "Gather other rows")["gatherer"].rows == pytest.approx(0.6 * 1024 * 26)
    for name, samples, lookups in (("Popular lookup", 0.5, 0.4), ("Other lookup", 0.5, 0.6)):
        assert demands(graph, name)["gpu"].nbytes == pytest.approx(lookups * 1024 * 26 * vector + samples * pooled)


@pytest.mark.parametrize("framework", ["lean", "pytorch"])
def test_fae_takes_the_mean_of_hot_and_normal_mini_batches_and_its_switches(framework) -> None:
    asked = kaggle("fae", **{"machine.num_gpus": 4, "machine.framework": framework})
    m, graph, line = planned(asked, 0.7, batches=202)
    step = {popular: planned(asked, popular)[2].steady.step for popular in (0.0, 1.0)}
    switch = seconds(m, graph)["Hot rows at a switch"]
    assert switch == pytest.approx(5 * 256 * 2**20 / 1000 / 4 / 12.35e9)
    assert line.steady.step == pytest.approx(0.7 * step[1.0] + 0.3 * step[0.0] + switch, rel=0.02)


def test_fae_without_hot_inputs_is_the_hybrid_and_with_hot_ones_alone_leaves_the_hosts_rows_be() -> None:
    asked = kaggle("fae", **{"machine.num_gpus": 4})
    m, graph, line = planned(asked, 0.0)
    _, _, base = planned(kaggle("cpu-gpu", **{"machine.num_gpus": 4}))
    assert line.steady.step == pytest.approx(base.steady.step, rel=1e-9)
    m, graph, _ = planned(asked, 1.0)
    host = ("Embedding lookup", "Vectors to GPU", "Gradients to host", "Embedding update", "Hot rows at a switch")
    assert [seconds(m, graph)[name] for name in host] == [0.0] * 5


def test_every_lookup_of_fae_is_either_the_gpus_or_the_hosts_and_each_replica_updates_all_hot_rows() -> None:
    _, graph, _ = planned(kaggle("fae", **{"machine.num_gpus": 4}), 0.7)
    host, on_gpu = demands(graph, "Embedding lookup")["host"], demands(graph, "Hot lookup")["gpu"].nbytes
    hot = on_gpu > 0
    assert (
        hot.sum() == 5 and (on_gpu / 2 + 2 * host.share * host.nbytes == 1024 * 26 * 64).all()
    )  # GPUs write the pooled vectors too
    assert (demands(graph, "Hot update")["gpu"].rows == 4 * 9000 * hot).all()
    assert (demands(graph, "Hot all-reduce")["network"].nbytes == 9000 * 64 * hot).all()


def test_hot_rows_must_fit_the_gpu_beside_the_rest_and_more_gpus_do_not_help() -> None:
    refused = estimate(kaggle("fae", **{"policy.hot_rows_MiB": 1e5, "model.num_embeddings": (10**8,)}))
    assert not refused.ran and "lower policy.hot_rows_MiB" in refused.outcome and "raise machine.num_gpus" not in refused.outcome


@pytest.mark.parametrize(("popular", "reads"), [(0.9, 64), (0.6, 64), (0.3, 256), (0.8, 32)])
def test_hotline_takes_the_longer_of_popular_part_and_gathering_then_the_other_part(popular, reads) -> None:
    assume = (("gatherer.reads-in-flight", float(reads)),)
    m, graph, line = planned(kaggle("hotline", **{"machine.num_gpus": 4, "machine.assume": assume}), popular)
    takes = seconds(m, graph)
    part = {name: sum(some for task, some in takes.items() if task.startswith(name)) for name in ("Popular", "Other")}
    after = takes["All-reduce"] + takes["Hot update"]
    gathering = takes["Gather other rows"] + max(0.0, takes["Write other rows"] - after)
    assert line.steady.step == pytest.approx(max(part["Popular"], gathering) + part["Other"] + after, rel=1e-9)


def test_hotlines_card_reads_and_writes_every_lookup_of_the_other_samples_once() -> None:
    m, graph, _ = planned(kaggle("hotline"), 0.75)
    read, write = demands(graph, "Gather other rows"), demands(graph, "Write other rows")
    for work in (*read.values(), *write.values()):
        assert float(np.max(work.rows)) == 0.25 * 1024 * 26 and work.row_bytes == 64
    assert seconds(m, graph)["Gather other rows"] == pytest.approx(6656 * 0.91e-6 / 64)
    pooled = sum(float(np.max(demands(graph, f"{part} lookup")["gpu"].nbytes)) for part in ("Popular", "Other"))
    assert pooled == 2 * 1024 * 26 * 64  # rows read and, of one lookup a table each, as many pooled vectors written


def test_a_micro_batch_without_samples_costs_nothing_and_samples_may_differ_by_batch() -> None:
    m, graph, _ = planned(kaggle("hotline"), 1.0)
    assert [some for name, some in seconds(m, graph).items() if name.startswith(("Other", "Gather", "Write"))] == [0.0] * 7
    gpu = m.devices["gpu"]
    shape = ((383, 512, 256, 1), 27 * 16)
    one_by_one = [float(duration(gpu, TopPart(samples, *shape))) for samples in (0, 1, 700, 1024)]
    assert duration(gpu, TopPart(np.array([0.0, 1.0, 700.0, 1024.0]), *shape)).tolist() == one_by_one


def test_a_bench_that_powers_everything_has_no_parts_of_other_families() -> None:
    bench = machine_of(fit(with_values(preset("trainingcxl-rm1").scenario, {"system": "cxl"})))
    assert "ssd" in bench.devices and not {"gatherer", "network"} & set(bench.devices)


@each("system", ["hotline", "bagpipe", "torchrec-uvm", "all-hbm", "scratchpipe"], few=2)
def test_a_training_loop_that_runs_ahead_begins_no_batch_that_a_power_loss_could_take(system):
    lean = {"run.batches": 200, "run.training": False}
    calm = simulate(scenario("optane-kaggle", system, **lean))
    step = calm.results["Elapsed [s]"] / 200
    struck = simulate(scenario("optane-kaggle", system, **lean, **{"faults.power_loss_at_seconds": (50 * step,)}))
    assert 50 <= struck.results["Lost batches"] <= 58
