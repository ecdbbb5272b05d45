"""Do rows on the GPU, on the host and between them take the seconds that their constants say?"""

from dataclasses import replace

import pytest

from engine.core.work import BottomMLP, CacheSoftware, Copy, DriveBatch, HostEmbedding, HostRows, RowReads, RowUpdates
from engine.hardware.device import joules, seconds
from engine.registry import load
from engine.scenario.machine import MachineKnobs

GB, US, NS, MS = 1e9, 1e-6, 1e-9, 1e-3
MOVED = 0.78 * 2039 * GB  # an A100's share of its bandwidth


def device(name, **knobs):
    return load("devices", name).build(MachineKnobs(**knobs))


def exactly(value):
    return pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("row_bytes", "sectors"), [(4, 1), (32, 1), (33, 2), (512, 16)])
def test_a_gpu_reads_rows_in_whole_sectors_and_an_update_moves_them_twice(row_bytes, sectors):
    rows, gpu = 1e6, device("gpu")
    moved = rows * sectors * 32
    assert seconds(gpu, RowReads(rows, row_bytes)) == exactly(2.6 * US + moved / MOVED)
    assert seconds(gpu, RowUpdates(rows, row_bytes)) == exactly(2.6 * US + 2 * moved / MOVED)
    assert joules(gpu, RowUpdates(rows, row_bytes)) == exactly(2 * joules(gpu, RowReads(rows, row_bytes)))


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
    core = (960 - 522) / 64
    bags, rows = HostEmbedding(1e6, 1e9, 0.5), HostRows(1e6, 512)
    for threads, busy in ((None, 64), (16, 16), (1024, 64)):
        host = device("host", host_threads=threads)
        assert host.idle_watts == 522 and host.busy_watts == 0
        assert joules(host, bags) == exactly(busy * core * seconds(host, bags))
        assert joules(host, rows) == exactly(core * seconds(host, rows))
    eight = DriveBatch(kernels=63.0, processes=8.0)
    assert joules(host, eight) == exactly(8 * core * seconds(host, eight))
    assert joules(host, CacheSoftware(1.0)) == exactly(core * 2 * MS)
    every = device("host", constant_power=True)
    assert every.full_watts == 960


def test_fewer_threads_take_longer_for_the_same_joules_and_more_than_cores_help_nobody():
    bags, layers = HostEmbedding(0.0, 1e9, 1.0), BottomMLP(4096.0, (512, 512), "forward")
    all_cores, some, too_many = (device("host", host_threads=threads) for threads in (None, 16, 1024))
    fixed = seconds(all_cores, replace(bags, nbytes=0.0))
    assert seconds(some, bags) - fixed == exactly(4 * (seconds(all_cores, bags) - fixed))
    assert seconds(some, layers) == exactly(4 * seconds(all_cores, layers))
    assert joules(some, layers) == exactly(joules(all_cores, layers))
    assert [seconds(too_many, work) for work in (bags, layers)] == [seconds(all_cores, work) for work in (bags, layers)]


def test_kernels_of_a_captured_graph_follow_each_other_sooner():
    work = BottomMLP(1.0, (8, 8), "forward")
    stream, graph = (seconds(device("gpu", framework=one), work) for one in ("lean", "cuda-graph"))
    assert stream - graph == pytest.approx(2 * (2.6 - 1.25) * US, rel=1e-6)
