"""Do rows on the GPU, on the host and between them, and layers on the host, take the seconds that their constants say?"""

from dataclasses import replace
from itertools import pairwise

import pytest

from engine.core.catalog import part_names_of
from engine.core.constants import upper_limit
from engine.core.work import BottomMLP, CacheSoftware, Copy, DriveBatch, HostEmbedding, HostRows, RowReads, RowUpdates, TopPart
from engine.hardware.device import joules, seconds
from engine.hardware.devices.host import UpdateRates
from engine.hardware.hosts import HOSTS, LIBRARIES
from engine.registry import load_variant
from engine.scenario.machine import MachineKnobs
from engine.scenario.scenario import Scenario, with_values
from engine.systems.system import constants
from tests.cases import each

GB, US, NS, MS = 1e9, 1e-6, 1e-9, 1e-3
CHANNELS = 6 * 25.6e9 * 0.8  # bytes a second of a host's DDR4-3200
SIX = {"host_dram": "ddr4-3200", "host_dram_channels": 6}
LAYER = BottomMLP(4096.0, (512, 512), "forward")
MOVED = 0.78 * 2039 * GB  # an A100's share of its bandwidth


def device(name, **knobs):
    """Return a device of a machine whose loop takes a fixed time and launches kernel by kernel."""
    return load_variant("devices", name).build(MachineKnobs(**{"framework": "lean", **knobs}))


def exactly(value):
    return pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("row_bytes", "sectors"), [(4, 1), (32, 1), (33, 2), (512, 16)])
def test_a_gpu_reads_rows_in_whole_sectors_and_an_update_moves_them_twice(row_bytes, sectors):
    rows, gpu = 1e6, device("gpu")
    moved = rows * sectors * 32
    assert seconds(gpu, RowReads(rows, row_bytes)) == exactly(2.6 * US + moved / MOVED)
    assert seconds(gpu, RowUpdates(rows, row_bytes)) == exactly(2.6 * US + 2 * moved / MOVED)
    for work, times in ((RowReads(rows, row_bytes), 1), (RowUpdates(rows, row_bytes), 2)):
        within = (400 - 0.6 * 400) * seconds(gpu, work)  # W that the board's limit leaves above those between kernels
        assert joules(gpu, work) == exactly(min(times * moved * 124e-12, within))


def test_the_prototypes_gpu_moves_rows_at_its_memorys_rate():
    gpu = device("gpu", gpu="trainingcxl")
    assert seconds(gpu, RowReads(1e6, 512)) == exactly(512e6 / (936 * GB))
    assert seconds(gpu, RowUpdates(1e6, 512)) == exactly(2 * 512e6 / (936 * GB))


def test_a_host_gathers_and_scatters_row_by_row_and_longer_rows_by_their_bytes():
    host = device("host")
    assert seconds(host, HostRows(1e6, 64)) == seconds(host, HostRows(1e6, 512)) == exactly(1e6 * 60 * NS)
    assert seconds(host, HostRows(1e6, 64, scatter=True)) == exactly(1e6 * 61 * NS)
    assert seconds(host, HostRows(1e6, 2048)) == exactly(1e6 * 4 * 60 * NS)


def test_copies_to_unpinned_memory_go_at_their_own_rate_and_never_faster_than_the_link():
    assert seconds(device("pcie"), Copy(1e9)) == exactly(1 / 26)
    assert seconds(device("pcie"), Copy(1e9, pinned=False)) == exactly(1 / 4)
    assert seconds(device("pcie", pcie_bandwidth_GBps=2.0), Copy(1e9, pinned=False)) == exactly(1 / 2)


def test_a_training_loop_costs_what_it_launches_and_a_software_cache_two_milliseconds():
    done = DriveBatch(kernels=63.0, collectives=4.0, tables=26.0, values=81_920.0)
    eager = 4.4 * MS + 63 * 10 * US + 4 * 0.74 * MS + 26 * 40 * US + 81_920 * 9.6 * NS
    assert seconds(device("host", framework="none"), done) == 0.0
    assert seconds(device("host"), done) == seconds(device("host"), DriveBatch()) == exactly(0.1 * MS)
    assert seconds(device("host", framework="cuda-graph"), done) == exactly(0.05 * MS + 81_920 * NS)
    assert seconds(device("host", framework="pytorch"), done) == exactly(eager)
    assert seconds(device("host"), CacheSoftware(1.0)) == exactly(2 * MS)


def test_a_host_draws_a_cores_share_of_its_swing_for_each_core_that_works():
    core = (625 - 250) / 64
    bags, rows = HostEmbedding(1e6, 1e9, 0.5), HostRows(1e6, 512)
    for threads, busy in ((None, 64), (16, 16), (1024, 64)):
        host = device("host", host_threads=threads)
        assert host.idle_watts == 250 and host.busy_watts == 0
        assert joules(host, bags) == exactly(busy * core * seconds(host, bags))
        assert joules(host, rows) == exactly(core * seconds(host, rows))
    eight = DriveBatch(kernels=63.0, processes=8.0)
    assert joules(host, eight) == exactly(8 * core * seconds(host, eight))
    assert joules(host, CacheSoftware(1.0)) == exactly(core * 2 * MS)
    every = device("host", constant_power=True)
    assert every.full_watts == 625


def test_fewer_threads_take_longer_and_more_than_cores_help_nobody():
    bags = HostEmbedding(0.0, 1e9, 1.0)
    all_cores, some, too_many = (device("host", host_threads=threads) for threads in (None, 16, 1024))
    fixed = seconds(all_cores, replace(bags, nbytes=0.0))
    assert seconds(some, bags) - fixed == exactly(4 * (seconds(all_cores, bags) - fixed))
    assert seconds(too_many, bags) == seconds(all_cores, bags)


def test_kernels_of_a_captured_graph_follow_each_other_sooner():
    work = BottomMLP(1.0, (8, 8), "forward")
    stream, graph = (seconds(device("gpu", framework=one), work) for one in ("lean", "cuda-graph"))
    assert stream - graph == pytest.approx(2 * (2.6 - 1.25) * US, rel=1e-6)


def test_a_forward_layer_takes_its_operations_at_the_cores_peak_and_its_bytes_at_the_memorys_rate():
    """4,096 samples through 512 x 512 on 56 cores of 153.6 GFLOPS, of which a tuned library reaches 70 %, or by hand:"""
    gemm = 10 * US + 2 * (4096 + 128) * 512 * 512 / (0.7 * 56 * 153.6e9)
    activation = 10 * US + 2 * 4 * 4096 * 512 / CHANNELS
    assert seconds(device("host", host="avx512-2019", **SIX), LAYER) == exactly(gemm + activation)


def test_a_thin_layer_waits_for_memory():
    gemm = 10 * US + 4 * (1e6 * 4 + 4 * 4 + 1e6 * 4) / CHANNELS
    activation = 10 * US + 2 * 4 * 1e6 * 4 / CHANNELS
    assert seconds(device("host", host="avx512-2019", **SIX), BottomMLP(1e6, (4, 4), "forward")) == exactly(gemm + activation)


def test_weights_are_fetched_anew_by_each_of_a_layers_three_products():
    """One layer of 512 x 256 forward, and by gradients of weights and inputs: each takes 128 samples longer than it has."""
    host, n, k, m = device("host", host="avx512-2019", **SIX), 256, 512, 4096
    product = 10 * US + 2 * (m + 128) * k * n / (0.7 * 56 * 153.6e9)
    activations, update, loss = 4 * m * n * (2 + 3), 12 * (k + 1) * n, 3 * 4 * m
    beside = 2 * 4 * m * (27 * 16 + k)  # vectors are put beside each other, and their gradients taken apart
    kernels = (2 + 1 + 3 + 2) * 10 * US + (activations + update + loss + beside) / CHANNELS
    assert seconds(host, TopPart(float(m), (k, n), 27 * 16, pairs=False)) == exactly(3 * product + kernels)


def test_tiles_compute_at_their_peak_and_activations_have_two_bytes():
    gemm = 10 * US + max(2 * (4096 + 128) * 512 * 512 / (0.7 * 112 * 2048e9), 2 * (2 * 4096 * 512 + 512 * 512) / CHANNELS)
    activation = 10 * US + 2 * 2 * 4096 * 512 / CHANNELS
    found = seconds(device("host", host="amx-2023", matrix_precision="bf16", **SIX), LAYER)
    assert found == exactly(gemm + activation)
    assert found < seconds(device("host", host="amx-2023", **SIX), LAYER)


def test_a_stock_framework_computes_at_the_rate_that_was_measured_of_one():
    """facebookresearch/param: .23 TFLOPS through 1024 x 1024 layers at 512 samples; 13.6 GB/s of EmbeddingBag at worst."""
    host, tuned = device("host", host_software="stock"), device("host")
    gemm = seconds(host, BottomMLP(512.0, (1024, 1024), "forward")) - (20 * US + 2 * 4 * 512 * 1024 / CHANNELS)
    assert 2 * 512 * 1024 * 1024 / gemm == pytest.approx(0.23e12, rel=0.01)
    bags = HostEmbedding(0.0, 28e9, 1.0)
    assert seconds(host, bags) == pytest.approx(6914 * US + 28 / 13.6, rel=0.01)
    assert seconds(tuned, bags) == exactly(500 * US + 1)


def test_a_library_that_is_not_fused_takes_its_times_for_each_table_lookup_byte_and_new_line():
    """By hand: 2 tables, 10 lookups, 640 bytes, 8 new lines, half of each batch's work; 32 of 64 cores work."""
    fused = device("host", host_threads=32)
    times = {
        "lookup_times": UpdateRates(1.0, 0.0, 0.0, 3.0),
        "plain_update_times": UpdateRates(5.0, 7.0, 0.25, 11.0),
        "stateful_update_times": UpdateRates(13.0, 17.0, 0.5, 19.0),
    }
    host = replace(fused, rates=fused.rates._replace(**times))
    lookup, plain, stateful = 2 * US + 2 * 24 * NS, 10 * US + 2 * 318 * NS, 26 * US + 2 * 642 * NS
    for work, more in (
        (HostEmbedding(10.0, 640.0, 0.5, 2.0, new_lines=8.0), lookup),
        (HostEmbedding(10.0, 640.0, 0.5, 2.0, updates=True, new_lines=8.0), plain),
        (HostEmbedding(10.0, 640.0, 0.5, 2.0, updates=True, stateful=1.0, new_lines=8.0), stateful),
        (HostEmbedding(10.0, 640.0, 0.5, 2.0, updates=True, stateful=0.25, new_lines=8.0), 0.75 * plain + 0.25 * stateful),
    ):
        assert seconds(host, work) - seconds(fused, work) == pytest.approx(more, rel=1e-9)


@each("host", part_names_of("host"))
@each("software", part_names_of("host-software"))
@each("samples", [1.0, 512.0, 65_536.0])
def test_more_threads_up_to_the_cores_never_slow_layers_and_more_than_these_help_nobody(host, software, samples):
    work = TopPart(samples, (479, 1024, 256, 1), 27 * 128)
    cores = int(HOSTS[host].cores.value)
    times = [
        float(seconds(device("host", host=host, host_software=software, host_threads=threads), work))
        for threads in sorted({1, 2, 4, cores // 2, cores, 1024})
    ]
    assert all(after <= before for before, after in pairwise(times)) and times[-1] == times[-2]
    assert times[-1] == seconds(device("host", host=host, host_software=software), work)
    assert times[0] > 2 * times[-1] or samples == 1


@each("factor", [1.01, 2.0, 7.0])
@each("name", ["physical-cores", "fp32-peak-a-core", "GEMM-share-of-peak"])
def test_more_or_faster_cores_never_slow_layers(name, factor):
    own = next(one for one in device("host").constants if one.name.replace(" ", "-") == name)
    more = device("host", assume=((f"host.{name}", min(factor * own.value, upper_limit(own.name, own.unit))),))
    for samples in (1.0, 512.0, 65_536.0):
        work = BottomMLP(samples, (512, 512, 128), "backward")
        assert seconds(more, work) <= seconds(device("host"), work)


def test_a_layer_draws_the_cores_that_work_on_it():
    core = (625 - 250) / 64
    for threads, busy in ((None, 64), (16, 16), (1024, 64)):
        host = device("host", host_threads=threads)
        assert joules(host, LAYER) == exactly(busy * core * seconds(host, LAYER))


def test_only_a_tuned_librarys_share_is_calibrated_and_peaks_are_arithmetic():
    assert [name for name in LIBRARIES if LIBRARIES[name].share.confidence == "calibrated"] == ["tuned"]
    share = LIBRARIES["tuned"].share
    assert (share.low, share.high) == (0.4, 0.7) and share.low <= share.value <= share.high
    for name, clock, width in (("avx512-2019", 2.4, 64), ("epyc-2019", 2.25, 32), ("amx-2023", 2.5, 64), ("epyc-2024", 2.7, 64)):
        assert HOSTS[name].fp32.value == exactly(clock * width)


def test_what_layers_on_a_host_take_is_in_use_where_no_gpu_has_them():
    used = {
        system: constants(with_values(Scenario(), {"system": system, "machine.framework": "lean"}))
        for system in ("cpu-only", "cpu-gpu")
    }
    assert {name for name in used["cpu-only"] if name not in used["cpu-gpu"] and name.startswith("host.")} == {
        f"host.{name}" for name in ("GEMM-share-of-peak", "GEMM-extra-samples", "layer-launch", "fp32-peak-a-core")
    }
    assert used["cpu-only"]["host.GEMM-share-of-peak"].confidence == "calibrated"
    fitted = {name for name, one in used["cpu-gpu"].items() if one.confidence == "calibrated"}
    assert fitted == {"gpu.power-between-kernels"}
