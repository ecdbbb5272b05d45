"""Do devices take the seconds that their physics says, and does better hardware never slow training?"""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from engine.core.work import (
    BottomMLP,
    Copy,
    HomeWrites,
    HostEmbedding,
    Move,
    Persist,
    Pool,
    RowLog,
    RowReads,
    RowUpdates,
    Stream,
    TopPart,
)
from engine.hardware.device import joules, seconds
from engine.registry import load_variant, variant_names
from engine.scenario.machine import MachineKnobs
from tests.cases import each
from tests.machines import media_bytes

GB, GiB, US, NS = 1e9, 2**30, 1e-6, 1e-9
MODULE = 128.0  # GB of one Optane module
CALM = tuple(
    (f"{name}.latency-rise", 0.0) for name in ("pmem", "dram", "expander-dram", "cxl")
)  # latency under load has tests of its own


def device(name, **knobs):
    """Return a device of the default machine, launched kernel by kernel, with some knobs changed."""
    own = {"pmem_capacity_GB": MODULE, "assume": CALM, "framework": "lean"}
    return load_variant("devices", name).build(MachineKnobs(**{**own, **knobs}))


def exactly(value):
    """Return a value to be met to rounding."""
    return pytest.approx(value, rel=1e-12)


def test_a_single_row_costs_pmem_its_latency_and_one_256_byte_line():
    assert seconds(device("pmem"), RowReads(1.0, 64)) == exactly(305 * NS)


@each(("row_bytes", "share"), [(64, 0.25), (128, 0.5), (256, 1.0), (260, 260 / 512), (1024, 1.0)])
def test_pmem_reads_rows_at_its_media_rate_times_the_used_share_of_a_line(row_bytes, share):
    rows = 1e9
    rate = rows * row_bytes / seconds(device("pmem"), RowReads(rows, row_bytes))
    assert rate == pytest.approx(6.6 * GB * share, rel=1e-6)


def test_an_update_in_place_reads_and_writes_in_turn_at_half_the_rate_of_each():
    harmonic = 1 / (1 / 6.6 + 1 / 2.28)
    behind_the_first = 395 * NS + (1e6 - 1) * 256 / (harmonic / 2 * GB)
    assert seconds(device("pmem"), RowUpdates(1e6, 256)) == exactly(behind_the_first)


@each(("row_bytes", "lines"), [(64, 1), (128, 1), (256, 1), (264, 2), (512, 2)])
def test_a_row_log_reads_whole_lines_and_appends_what_it_stores_at_half_the_rate_of_each(row_bytes, lines):
    pmem, work = device("pmem"), RowLog(1e6, row_bytes, row_bytes + 8)
    read, append = lines * 256 / (6.6 * GB), float(media_bytes(pmem, work).sum()) / 1e6 / (2.28 * GB)
    assert seconds(pmem, work) == exactly(395 * NS + (1e6 - 1 / lines) * (read + append) / 0.5)
    assert joules(pmem, work) == exactly(1e6 * (lines * 256 * 1.45 + (row_bytes + 8) * 4.73) * 1e-9)


def test_a_row_of_128_bytes_is_logged_in_197_ns():
    few, many = (seconds(device("pmem"), RowLog(rows, 128, 136)) for rows in (1e6, 2e6))
    assert (many - few) / 1e6 == pytest.approx(196.9 * NS, rel=1e-3)


def test_pmem_streams_at_its_sequential_rates_and_persists_word_by_word():
    pmem = device("pmem")
    assert seconds(pmem, Stream(1e9)) == exactly(1 / 2.28)
    assert seconds(pmem, Stream(1e9, write=False)) == exactly(1 / 6.6)
    assert seconds(pmem, HomeWrites(1e6, 100)) == exactly(0.256 / 2.28)
    assert seconds(pmem, Persist(4.0)) == exactly(4 * 90 * NS)


@pytest.mark.parametrize("modules", [1, 2, 6, 100])
def test_pmem_bandwidth_power_and_price_are_linear_in_modules(modules):
    one, many = device("pmem"), device("pmem", pmem_capacity_GB=modules * MODULE)
    for work in (Stream(1e9), Stream(1e9, write=False), HomeWrites(1e6, 64)):
        assert seconds(many, work) == exactly(seconds(one, work) / modules)
    for kind in (partial(RowUpdates, row_bytes=64), partial(RowLog, row_bytes=64, entry_bytes=72)):
        assert seconds(many, kind(1e6 * modules)) == exactly(seconds(one, kind(1e6)))
    assert (many.modules, many.idle_watts, many.price) == (modules, exactly(5.2 * modules), exactly(6 * 128 * modules))


WRITES = (RowUpdates(1e6, 64), RowLog(1e6, 64, 72), Stream(1e9), HomeWrites(1e6, 64))


@each(("writers", "share"), [(1, 1.0), (4, 1.0), (8, 0.78), (12, 0.56), (64, 0.56)])
def test_optane_keeps_its_write_rate_up_to_four_writers_and_then_falls_to_that_of_twelve(writers, share):
    alone, crowd = device("pmem", pmem_writers_per_module=1), device("pmem", pmem_writers_per_module=writers)
    for work in WRITES:
        read = 1e6 * 256 / (6.6 * GB) / 0.5 if isinstance(work, RowLog) else 0.0
        assert seconds(crowd, work) - read == pytest.approx((float(seconds(alone, work)) - read) / share, rel=1e-5)
    for work in (RowReads(1e6, 64), Stream(1e9, write=False), Persist(4.0)):
        assert (seconds(crowd, work), joules(crowd, work)) == (seconds(alone, work), joules(alone, work))
    assert joules(crowd, Stream(1e9)) == exactly(joules(alone, Stream(1e9)) / share)


def test_media_that_is_no_optane_does_not_mind_its_writers():
    alone, crowd = (device("pmem", pmem="battery-dram", pmem_writers_per_module=n) for n in (1, 64))
    assert [seconds(crowd, work) for work in WRITES] == [seconds(alone, work) for work in WRITES]


@pytest.mark.parametrize(("row_bytes", "amplification"), [(64, 4), (128, 2), (256, 1), (512, 1)])
def test_a_row_updated_in_place_wears_whole_256_byte_lines_but_a_log_only_what_it_appends(row_bytes, amplification):
    pmem = device("pmem")
    assert media_bytes(pmem, RowUpdates(1e6, row_bytes)) == exactly(amplification * 1e6 * row_bytes)
    assert media_bytes(pmem, RowLog(1e6, row_bytes, row_bytes + 8)) == exactly(1e6 * (row_bytes + 8))
    assert (media_bytes(pmem, Persist(4.0)), media_bytes(pmem, Stream(7.0)), media_bytes(pmem, Stream(7.0, write=False))) == (
        1024,
        7,
        0,
    )
    assert media_bytes(pmem, RowReads(1e6, row_bytes)) == media_bytes(pmem, HomeWrites(1e6, row_bytes)) == 0


def test_a_lookup_that_meets_fresh_rows_stalls_by_their_share():
    pmem = device("pmem")
    calm, stalled = (seconds(pmem, RowReads(1e6, 256, share)) for share in (0.0, 0.5))
    assert stalled / calm == exactly(1 + 0.5 * 300 / 305)


def test_an_array_of_amounts_costs_each_batch_its_own_and_an_empty_one_nothing():
    rows = np.array([0.0, 1.0, 7.0])
    for name in ("pmem", "dram", "ssd"):
        times = seconds(device(name), RowReads(rows, 64))
        assert times[0] == 0
        assert [times[1], times[2]] == [exactly(seconds(device(name), RowReads(n, 64))) for n in (1.0, 7.0)]
    assert seconds(device("cxl"), Move(rows * 64))[0] == 0


@pytest.mark.parametrize(("name", "knob"), [("dram", "host_dram_channels"), ("expander-dram", "expander_dram_channels")])
@pytest.mark.parametrize("channels", [1, 6, 12])
def test_dram_moves_64_byte_lines_at_four_fifths_of_its_channels_peak(channels, name, knob):
    rate, dram = 0.8 * 25.6 * GB * channels, device(name, **{knob: channels})
    assert seconds(dram, RowReads(1e6, 100)) == exactly(102 * NS + (128e6 - 64 * channels) / rate)
    assert seconds(dram, RowUpdates(1e6, 100)) == exactly(102 * NS + 2 * (128e6 - 64 * channels) / rate)
    assert seconds(dram, Stream(1e9)) == exactly(1e9 / rate)


@pytest.mark.parametrize(("part", "iops", "bandwidth"), [("p5800x", 1.5e6, 7.2), ("pm9a3", 9e5, 6.8)])
@pytest.mark.parametrize("drives", [1, 4])
def test_a_drive_reads_rows_as_blocks_no_faster_than_iops_bandwidth_or_software_let_it(part, iops, bandwidth, drives):
    latency = {"p5800x": 6, "pm9a3": 80}[part]
    pace = max(1 / (iops * drives), 4096 / (bandwidth * GB * drives), 5 * US / 8)
    assert seconds(device("ssd", ssd=part, num_ssds=drives), RowReads(1e4, 64)) == exactly((latency + 5) * US + (1e4 - 1) * pace)


@pytest.mark.parametrize(("path", "software"), [("mmap", 10), ("io_uring", 5), ("spdk", 0.072)])
def test_each_access_to_a_drive_pays_its_path_through_software_over_eight_threads(path, software):
    many = device("ssd", ssd_software=path, num_ssds=64)
    pace, answer = max(software * US / 8, 4096 / (64 * 7.2 * GB), 1 / 64 / 1.5e6), (6 + software) * US
    held = 125_000 * answer - pace if path == "mmap" else 0  # a page fault holds its thread: eight by eight
    assert seconds(many, RowReads(1e6, 64)) == pytest.approx(max(held, answer + (1e6 - 1) * pace), rel=1e-4)
    assert seconds(many, Persist(1.0)) == exactly((6 + software) * US)


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_a_cxl_transfer_takes_link_and_switch_latency_and_its_bytes(hops):
    cxl = device("cxl", cxl_switch_hops=hops, cxl_latency_ns=200.0, cxl_bandwidth_GBps=32.0)
    assert seconds(cxl, Move(1e6)) == exactly((200 + 75 * hops) * NS + (1e6 - 64) / (32 * GB))


@each(("generation", "sixteen"), [(4, 31.5), (5, 63), (6, 121)])
@each("lanes", [1, 4, 8, 16])
@each("expanders", [1, 3])
def test_an_automatic_cxl_bandwidth_is_lanes_of_a_generation_less_their_flits(generation, sixteen, lanes, expanders):
    cxl = device("cxl", cxl_generation=generation, cxl_lanes=lanes, num_expanders=expanders)
    rate = expanders * 0.82 * sixteen * lanes / 16
    assert seconds(cxl, Move(1e6)) == exactly((250 + 75) * NS + (1e6 - 64 * expanders) / (rate * GB))


def test_sixteen_lanes_of_generation_5_carry_51_7_gigabytes_per_second_and_a_stated_bandwidth_stays():
    assert "51.7 GB/s" in device("cxl").title
    stated = (device("cxl", cxl_bandwidth_GBps=20.0, cxl_generation=n, cxl_lanes=2**n // 4) for n in (4, 5, 6))
    assert len({float(seconds(cxl, Move(1e9))) for cxl in stated}) == 1


@pytest.mark.parametrize("retimers", [0, 1, 4])
def test_each_retimer_adds_ten_nanoseconds_once_a_transfer(retimers):
    longer, plain = device("cxl", cxl_retimers=retimers), device("cxl")
    assert seconds(longer, Move(1e3)) - seconds(plain, Move(1e3)) == pytest.approx(retimers * 10 * NS, rel=1e-6, abs=1e-18)
    assert seconds(longer, Move(0.0)) == 0


@pytest.mark.parametrize("count", [1, 2, 5])
def test_expanders_bring_bandwidth_controllers_and_cards_but_share_one_switch(count):
    one, many = device("cxl"), device("cxl", num_expanders=count)
    assert seconds(many, Move(count * 1e9)) == exactly(seconds(one, Move(1e9)))
    assert (many.idle_watts, many.price) == (10 * count + 30, 500 * count)
    assert joules(many, Move(1e9)) == joules(one, Move(1e9))


def test_a_pcie_copy_pays_software_once_a_handoff():
    pcie = device("pcie")
    assert seconds(pcie, Copy(1e6, handoffs=3)) == exactly(3 * 40 * US + 1e6 / (26 * GB))
    assert seconds(pcie, Copy(1e6)) == exactly(1e6 / (26 * GB))


def test_near_data_logic_handles_lanes_times_width_bytes_a_cycle():
    logic = device("near-data", near_data_lanes=3, near_data_width_bytes=32, near_data_clock_MHz=100.0)
    assert seconds(logic, Pool(9.6e9, "pmem")) == exactly(1.0)


def test_each_controller_has_logic_of_its_own_unless_lanes_are_those_of_the_memory():
    knobs = {"pmem_capacity_GB": 3 * MODULE, "expander_dram_channels": 4}
    each, shared = device("near-data", **knobs), device("near-data", near_data_lanes_per="memory", **knobs)
    for memory, controllers in (("pmem", 3), ("expander-dram", 4)):
        assert seconds(each, Pool(64e9, memory)) == exactly(1 / controllers) and seconds(shared, Pool(64e9, memory)) == exactly(1)


@each(("logic", "clock"), [("fpga", 500.0), ("asic", 250.0)])
def test_how_logic_is_made_is_a_choice_of_its_own_and_an_expander_has_one_chip(logic, clock):
    one, two = (device("near-data", near_data_logic=logic, near_data_clock_MHz=clock, num_expanders=n) for n in (1, 2))
    assert (two.idle_watts, two.busy_watts, two.price) == (2 * one.idle_watts, 2 * one.busy_watts, 2 * one.price)
    assert one.price == device("near-data", near_data_logic=logic).price


def test_the_host_pays_software_once_a_batch_and_gathers_at_a_measured_rate():
    assert seconds(device("host"), HostEmbedding(1000.0, 28e6, share=0.5)) == exactly((500 * US + 1e-3) / 2)


def gemm(m, k, n):
    """Return the seconds of an m×k by k×n product on an A100-80."""
    return 5 * US + max(2 * (m + 64) * k * n / (0.76 * 19.5e12), 4 * (m * k + k * n + m * n) / (0.78 * 2039e9))


def pointwise(words):
    """Return the seconds of one kernel over `words` fp32 words on an A100-80."""
    return 2.6 * US + 4 * words / (0.78 * 2039e9)


def mlp(samples, widths, to_input, words=3):
    """Return forward and backward seconds of an MLP: one GEMM forward, one per gradient, so many words a weight to update."""
    layers = list(pairwise(widths))
    forward = sum(gemm(samples, k, n) + pointwise(2 * samples * n) for k, n in layers)
    weights = sum(pointwise(3 * samples * n) + gemm(k, samples, n) + pointwise(words * (k + 1) * n) for k, n in layers)
    return forward, weights + sum(gemm(samples, n, k) for i, (k, n) in enumerate(layers) if i or to_input)


@pytest.mark.parametrize("samples", [1, 128, 65536])
def test_gpu_layers_take_the_gemm_models_seconds(samples):
    gpu, widths = device("gpu"), (13, 512, 64)
    forward, backward = mlp(samples, widths, to_input=False)
    assert seconds(gpu, BottomMLP(samples, widths, "forward")) == exactly(forward)
    assert seconds(gpu, BottomMLP(samples, widths, "backward")) == exactly(backward)
    interaction = 10 * pointwise(samples * (27 * 16 + widths[0])) + 3 * pointwise(samples)
    assert seconds(gpu, TopPart(samples, widths, 27 * 16)) == exactly(sum(mlp(samples, widths, to_input=True)) + interaction)
    beside = interaction - 8 * pointwise(samples * (27 * 16 + widths[0]))
    assert seconds(gpu, TopPart(samples, widths, 27 * 16, pairs=False)) == exactly(
        sum(mlp(samples, widths, to_input=True)) + beside
    )
    for rank in (0, 512):
        matrices = ((64, rank), (rank, 64)) if rank else ((64, 64),)
        products = sum(gemm(samples, k, n) + gemm(k, samples, n) + gemm(samples, n, k) for k, n in matrices)
        kernels = sum(pointwise(words * samples * 64) for words in (4, 6, 3))  # out; both factors' gradients; their sum
        layer = products + kernels + pointwise(3 * (sum(k * n for k, n in matrices) + 64))
        top = mlp(samples, (64, 32, 1), to_input=True)
        rest = sum(top) + 2 * pointwise(samples * (3 * 16 + 64)) + 3 * pointwise(samples)
        assert seconds(gpu, TopPart(samples, (64, 32, 1), 3 * 16, ranks=(rank,) * 3)) == exactly(rest + 3 * layer)
    adam = mlp(samples, widths, False, 7)[1], sum(mlp(samples, widths, True, 7)) + interaction  # both means read and written
    ours = BottomMLP(samples, widths, "backward", 2), TopPart(samples, widths, 27 * 16, 2)
    assert tuple(seconds(gpu, work) for work in ours) == tuple(map(exactly, adam))


def test_energy_is_media_bytes_and_link_bits_at_their_price():
    pmem = device("pmem")
    assert joules(pmem, RowReads(1e6, 64)) == exactly(256e6 * 1.45e-9)
    assert joules(pmem, RowUpdates(1e6, 64)) == exactly(256e6 * (1.45 + 4.73) * 1e-9)
    assert joules(pmem, RowLog(1e6, 64, 72)) == exactly(256e6 * 1.45e-9 + 72e6 * 4.73e-9)
    assert joules(pmem, Stream(1e9)) == exactly(4.73)
    assert joules(pmem, Persist(4.0)) == exactly(4 * 256 * 4.73e-9)
    assert joules(device("dram"), RowReads(1e6, 64)) == exactly(64e6 * 8 * 20e-12)
    assert joules(device("cxl"), Move(1e9)) == exactly(8e9 * 2 * 7.5e-12)
    assert joules(device("gpu"), BottomMLP(2, (3, 5), "forward")) == exactly(
        (2 * 2 * 3 * 5 * 2.7 + 4 * (6 + 15 + 10 + 20) * 124) * 1e-12
    )
    host, lookup = device("host"), HostEmbedding(1.0, 1.0, 0.5)
    assert joules(host, lookup) == exactly((625 - 250) * seconds(host, lookup))  # all of its cores work


@each("name", variant_names("devices"))
def test_twice_the_work_never_takes_less_time_and_no_work_takes_none(name):
    built = device(name)
    by_kind = {
        RowReads: lambda x: RowReads(x, 64),
        RowUpdates: lambda x: RowUpdates(x, 64),
        RowLog: lambda x: RowLog(x, 64, 72),
        HomeWrites: lambda x: HomeWrites(x, 64),
        Stream: Stream,
        Persist: Persist,
        Move: Move,
        Copy: Copy,
        Pool: lambda x: Pool(x, "pmem"),
    }
    for kind in set(built.seconds) & set(by_kind):
        amounts = np.array([0.0, 1.0, 2.0, 4.0, 1e3, 1e6, 1e9])
        times = seconds(built, by_kind[kind](amounts))
        assert (np.diff(times) >= 0).all() and (np.diff(times[4:]) > 0).all(), kind  # a few rows are read side by side
        assert times[0] == 0, kind
