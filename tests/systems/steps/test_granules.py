"""Granules of links: do rows cross CXL in lines and GPUs' reads of host memory in sectors, within the requests in flight?"""

from math import ceil

import numpy as np
import pytest

from engine.core.row_sizes import RowMix, granule_bytes, row_mix
from engine.core.work import Direct
from engine.estimate import estimate
from engine.estimates import estimates
from engine.hardware.device import joules, seconds
from engine.insight.data_movement import data_moves
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload.accesses import expected_accesses
from tests.cases import each

RATE, STEP = 26e9, "Step time [ms]"
SHARES = {32: 0.35, 64: 0.55, 128: 0.7}  # of the copy rate, by request
BARE = {"machine.near_data_compute": False}


def pcie(**assume):
    knobs = {"machine.assume": tuple(sorted(assume.items())), "machine.pcie_bandwidth_GBps": RATE / 1e9}
    asked = with_values(preset("dlrm-terabyte").scenario, knobs)
    return load_variant("devices", "pcie").build(asked.machine)


def row_seconds(row_bytes, device=None):
    return float(seconds(device or pcie(), Direct(1000.0, row_bytes))) / 1000


@each(
    ("row_bytes", "takes"),
    [
        (4, 32 / (0.35 * RATE)),
        (32, 32 / (0.35 * RATE)),
        (33, 64 / (0.55 * RATE)),
        (64, 64 / (0.55 * RATE)),
        (68, (64 / 0.55 + 128 / 0.7) / 2 / RATE),  # 96 B, between requests of 64 and of 128 B
        (100, 128 / (0.7 * RATE)),
        (128, 128 / (0.7 * RATE)),
        (132, 160 / (0.7 * RATE)),
        (512, 512 / (0.7 * RATE)),
        (516, 544 / (0.7 * RATE)),
    ],
)
def test_a_row_that_a_gpu_reads_across_the_link_takes_its_sectors_at_the_rate_of_its_requests(row_bytes, takes):
    assert row_seconds(row_bytes) == pytest.approx(takes)
    sectors = 32 * ceil(row_bytes / 32)
    assert float(joules(pcie(), Direct(7.0, row_bytes))) == pytest.approx(7 * sectors * 8 * 2 * 7.5e-12)


def test_a_mix_of_rows_takes_the_mean_of_their_times():
    mix = row_mix([4, 516], [3.0, 1.0])
    assert mix == RowMix((4, 516), (0.75, 0.25)) and granule_bytes(mix, 64) == 0.75 * 64 + 0.25 * 576
    assert row_seconds(mix) == pytest.approx(0.75 * row_seconds(4) + 0.25 * row_seconds(516))


def test_few_requests_in_flight_set_the_pace_of_rows():
    few = pcie(**{"gpu.remote-lines-in-flight": 128.0, "gpu.host-read-round-trip": 1.6})
    for row_bytes, requests in ((4, 1), (128, 1), (132, 2), (516, 5)):
        assert row_seconds(row_bytes, few) == pytest.approx(requests * 1.6e-6 / 128)


@each(
    "assume",
    [
        {},
        {"gpu.remote-lines-in-flight": 256.0},
        {"pcie.zero-copy-share": 0.9, "pcie.zero-copy-share-at-64-B": 0.4, "pcie.zero-copy-share-at-32-B": 0.1},
        {"pcie.zero-copy-share": 0.3, "pcie.zero-copy-share-at-64-B": 0.7, "pcie.zero-copy-share-at-32-B": 0.5},
    ],
)
def test_a_longer_row_is_never_faster_and_more_requests_in_flight_are_never_slower(assume):
    device, sizes = pcie(**assume), range(1, 700)
    times = [row_seconds(size, device) for size in sizes]
    assert times == sorted(times)
    more = pcie(**assume | {"gpu.remote-lines-in-flight": 4096.0})
    assert all(row_seconds(size, more) <= takes for size, takes in zip(sizes, times, strict=True))


def test_rows_of_fewer_elements_take_their_requests_time_not_their_bytes():
    """From 16 elements to 1 the link's time falls by the ratio of two requests, not 16 times."""
    base = {"system": "all-hbm", "policy.kernel": "uvm", "model.optimizer": "sgd", "model.pooling": 30, "data.batch_size": 8192}
    steps = {}
    for dim in (64, 16, 8, 4, 1):
        wide = {"model.embedding_dim": dim, "model.bottom_mlp": (13, 64, dim)}
        steps[dim] = estimate(with_values(preset("dlrm-terabyte").scenario, {**base, **wide})).results[STEP]
    ratio = (64 / SHARES[64]) / (32 / SHARES[32])
    assert steps[16] / steps[1] == pytest.approx(ratio, rel=0.05)
    assert steps[64] > steps[16] > steps[8] > steps[4] > steps[1]


def links(asked):
    """Return the bytes of a batch's lookup and update on the link between the memory and the GPU."""
    moves = [move for move in data_moves(asked) if move.device in ("cxl", "pcie")]
    names = ("Embedding lookup", "Forward hand-off"), ("Embedding update", "Backward hand-off")
    return tuple(sum(move.nbytes for move in moves if move.task in tasks) for tasks in names)


@each("dedup", ["memory", "gpu", "off"])
@each("dim", [1, 16, 17, 64])
@each("optimizer", ["sgd", "rowwise-adagrad", "adam"])
def test_rows_cross_a_cxl_link_in_lines_and_a_link_of_copies_in_bytes(optimizer, dim, dedup):
    knobs = {"model.optimizer": optimizer, "model.embedding_dim": dim, "model.bottom_mlp": (13, 64, dim)}
    asked = with_values(preset("optane-kaggle").scenario, {**knobs, **BARE, "system": "cxl-b", "policy.row_dedup": dedup})
    touched, vector = expected_accesses(asked), 4 * dim
    rows, lookups = float(touched.unique_rows.sum()), float(touched.lookups.sum())
    row = vector + {"sgd": 0, "rowwise-adagrad": 4, "adam": 2 * vector}[optimizer]
    for system, granule in (("cxl-b", 64), ("pcie", 1)):
        whole_row, whole_vector = (granule * ceil(nbytes / granule) for nbytes in (row, vector))
        state = rows * (whole_row - whole_vector)
        there, back = links(with_values(asked, {"system": system}))
        assert there == pytest.approx(state + (rows if dedup == "memory" else lookups) * whole_vector)
        assert back == pytest.approx((lookups if dedup == "off" else rows) * whole_row)


@each(("row", "crossing"), [(64, 64), (68, 128)])
def test_a_row_of_a_line_crosses_as_it_is_and_a_word_more_is_another_line(row, crossing):
    optimizer = "sgd" if row == 64 else "rowwise-adagrad"
    asked = with_values(preset("optane-kaggle").scenario, {"model.optimizer": optimizer, **BARE})
    there, _ = links(with_values(asked, {"system": "cxl-b"}))
    assert there == pytest.approx(crossing * float(expected_accesses(asked).unique_rows.sum()))


def test_gradients_that_near_data_logic_receives_lie_in_a_buffer_and_cross_as_bytes():
    wide = {"model.embedding_dim": 17, "model.bottom_mlp": (13, 64, 17)}
    asked = with_values(preset("optane-kaggle").scenario, {"system": "cxl-b", "policy.row_dedup": "gpu", **wide})
    pooled, (there, back) = 4 * 17 * asked.data.batch_size * asked.model.num_tables, links(asked)
    assert there == pytest.approx(pooled)
    assert back == pytest.approx(4 * 17 * float(expected_accesses(asked).unique_rows.sum()))


@each("system", [{"system": "torchrec-uvm"}, {"system": "all-hbm", "policy.kernel": "uvm"}, {"system": "cxl-b", **BARE}])
def test_design_points_together_take_what_each_takes_alone(system):
    dims, lines = (1, 8, 17, 24, 64), (256.0, 1024.0, 4096.0)
    base = with_values(preset("dlrm-terabyte").scenario, {**system, "run.training": False, "machine.framework": "lean"})
    asked = [
        with_values(
            base,
            {
                "model.embedding_dim": dim,
                "model.bottom_mlp": (13, 64, dim),
                "machine.assume": (("gpu.remote-lines-in-flight", count),),
            },
        )
        for dim in dims
        for count in lines
    ]
    together = [result.results[STEP] for result in estimates(asked)]
    assert together == [estimate(one).results[STEP] for one in asked]
    assert len(np.unique(together)) >= len(dims)
