"""The training loop: is what it launches counted from the plan, for every family, and does it cost what nothing hides?"""

import numpy as np
import pytest

from engine.core.work import AllReduce, AllToAll
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, run_timeline, settle
from engine.sweep import links
from engine.systems.capacity import fit
from engine.systems.loop import NAME
from tests.cases import each
from tests.machines import flow

MS, STEP = 1e-3, "Step time [ms]"
LAYERS = (2 * 3 + 4 * 3 - 1) + (13 + 2 * 5 + 4 * 5)  # three bottom layers, of which the first hands no gradient on; five top ones
SMALL = {"run.training": False, "run.batches": 20}


def asked(name="torchrec-terabyte", **knobs):
    return with_values(preset(name).scenario, {**SMALL, "machine.framework": "pytorch", **knobs})


def driven(scenario):
    """Return what the loop of a scenario's plan does, and the machine."""
    m = machine_of(fit(scenario))
    graph = m.system.graph(m.settled, flow(m.scenario, 4))
    return graph.tasks[graph.index(NAME)].demands[0].work, m


def step(scenario):
    return estimate(scenario).results[STEP] * MS


@pytest.mark.parametrize(
    ("gpus", "batch", "collectives", "samples"), [(8, 16_384, 4, 2_048), (1, 2_048, 0, 2_048), (4, 1_001, 4, 251)]
)
def test_tables_in_hbm_take_layers_three_kernels_and_four_collectives(gpus, batch, collectives, samples):
    fast = {"machine.gpus_per_node": 1, "machine.gpu": "h100-sxm"} if gpus == 1 else {}
    work, _ = driven(
        asked("scratchpipe-kaggle", system="all-hbm", **fast, **{"machine.num_gpus": gpus, "data.batch_size": batch})
    )
    assert (np.max(work.kernels), np.max(work.collectives), np.max(work.tables)) == (LAYERS + 3, collectives, 26)
    assert work.values == samples * (26 + 13 + 1)


@each("system", ["cxl", "cxl-b", "cxl-d", "dram", "pcie", "pmem", "ssd"])
def test_where_hardware_moves_the_data_layers_are_launched_all_the_same(system):
    base = asked("dlrm-terabyte", system=system, **{"policy.mlp_staleness_bound_batches": 0 if system == "cxl" else None})
    work, _ = driven(base)
    assert (np.max(work.kernels), np.max(work.collectives), np.max(work.tables)) == (LAYERS, 0, 0)
    if system in ("cxl", "cxl-b", "cxl-d", "dram", "pcie"):
        off, _ = driven(with_values(base, {"machine.near_data_compute": False}))
        more = 3 if system == "cxl" else 2  # the GPU pools, spreads, and corrects what was pooled early
        assert (np.max(off.kernels), np.max(off.tables)) == (LAYERS + more, 26)


@each("system", variant_names("systems"))
@each("framework", ["none", "lean", "cuda-graph", "pytorch"], few=30)
def test_every_system_is_driven_and_takes_as_long_as_its_loop_at_least(system, framework):
    tiny = {"model.num_embeddings": (2000,), "policy.cache_load_factor": 0.5, "machine.pmem_capacity_GB": 128.0}
    base = asked("tiny", system=system, **{**tiny, "machine.framework": framework})
    found = estimate(base)
    assert found.ran, found.outcome
    if framework != "none":
        m = machine_of(settle(base))
        graph = run_timeline(m).graph
        each = seconds(m.devices["host"], graph.tasks[graph.index(NAME)].demands[0].work)  # batches launch what they need
        assert found.results[STEP] * MS >= float(np.min(each)) * (1 - 1e-9)
        assert framework != "lean" or each == pytest.approx(0.1 * MS)


def test_what_the_gpu_takes_longer_for_hides_the_loop_and_what_it_is_done_with_sooner_waits_for_it():
    for batch in (128, 65_536):
        for system in ("cxl", "all-hbm"):
            input_free = (("host.input-a-value", 0.0),)
            base = asked("dlrm-kaggle", system=system, **{"data.batch_size": batch, "machine.assume": input_free})
            bare = step(with_values(base, {"machine.framework": "none"}))
            work, m = driven(base)
            loop = float(np.max(seconds(m.devices["host"], work)))
            assert step(base) == pytest.approx(max(bare, loop), rel=0.02)
            assert (loop > bare) == (batch == 128)


def test_one_thread_that_looks_rows_up_drives_every_gpu_of_its_node():
    four, two = ({"machine.num_gpus": 4, "machine.gpus_per_node": each} for each in (4, 2))
    one = driven(asked("fae-kaggle", system="cpu-gpu"))[0]
    assert np.max(one.kernels) == 4 * ((2 * 4 + 4 * 4 - 1) + (13 + 2 * 3 + 4 * 3))
    assert one.processes == 1 and driven(asked("fae-kaggle", system="hotline"))[0].processes == 4
    assert one.values == 1024 * 40 and driven(asked("fae-kaggle", system="cpu-gpu", **two))[0].values == 512 * 40
    assert driven(asked("fae-kaggle", system="cpu-gpu", **four))[0].values == 1024 * 40


def test_what_is_not_asked_for_is_not_launched():
    work = driven(asked("fae-kaggle"))[0]  # of every ten samples four are hot, so that the third of four batches is
    assert work.tables.tolist() == [0, 0, 26, 0] and work.collectives.tolist() == [1, 1, 2, 1]
    layers = driven(asked("fae-kaggle", system="cpu-gpu"))[0].kernels
    assert (work.kernels - layers).tolist() == [0, 0, 4 * 3, 0]


def test_horovods_processes_agree_before_each_collective_and_nothing_hides_it():
    for gpus in (1, 8):
        base = asked(system="all-hbm", **{"machine.num_gpus": gpus, "model.name": "dlrm-kaggle"})
        agreed, plain = (with_values(base, {"machine.framework": one}) for one in ("xla", "none"))
        networks = [load_variant("devices", "network").build(one.machine) for one in (agreed, plain)]
        for work in (AllToAll(1e6, 1e5, 0.0), AllReduce(1e6)):
            more = float(np.subtract(*(seconds(one, work) for one in networks)))
            assert more == pytest.approx(0.94 * MS, abs=1e-12) or gpus == 1
        exposed = (step(agreed) - step(plain)) / (0.94 * MS)
        assert 2 <= exposed <= 4 + 1e-6 if gpus > 1 else exposed < 0.2


def test_an_old_link_to_the_prototypes_host_has_no_loop_as_it_had_none():
    old = links.open_link("/design?preset=tiny&machine.host=trainingcxl&v=3&model=0.8")
    assert old.scenario.machine.framework == "none" and "without a training loop" in old.banner
    assert links.open_link("/design?preset=tiny&v=3&model=0.8").scenario.machine.framework == "lean"
    kept = links.open_link("/design?preset=bagpipe-kaggle&machine.host=trainingcxl&v=3&model=0.8")
    assert kept.scenario.machine.framework == "pytorch"
    assert preset("trainingcxl-rm2").scenario.machine.framework == "none"
