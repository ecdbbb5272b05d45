"""Hot ranks: GPUs whose rows are looked up more than others', in time, in exchanges and in memory."""

import numpy as np
import pytest

from engine.amounts.counted import counted_traffic
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.insight.memory.gpu_memory import gpu_memory
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.simulate import simulate
from engine.systems.exchange.buffers import vector_buffers
from engine.workload.accesses import sent_shares
from engine.workload.batch import offsets
from engine.workload.row_spread import part_of, spreads
from engine.workload.source import shared_source

V4 = preset("dlrm-v4-mi350x").scenario
FACTOR, DEDUP = "data.hot_rank_factor", "policy.input_dedup"
STATED, EVEN = (1.0, 1.3, 2.8) + (1.0,) * 8, (1.0,) * 11
HISTORY_BYTES = 1024 * 2628 * 512 * 2  # a GPU's vectors of one table in fp16
SMALL = {
    "model.num_embeddings": (2000, 300, 700) + (400,) * 8,
    "model.pooling": (20,) * 3 + (1,) * 8,
    "data.batch_size": 64,
    "data.samples_per_user": 4.0,
    "run.batches": 3,
}


def skews(**knobs):
    """Return the skews of lookups and unique rows over the GPUs."""
    return settle(with_values(V4, knobs)).placement.skews


def test_the_busiest_gpu_has_the_stated_multiple_of_the_mean():
    tables = np.arange(11)
    lookups, rows = spreads(with_values(V4, {DEDUP: False, FACTOR: STATED})).spread_over(8, tables).transpose(1, 0, 2)
    assert np.allclose(lookups[:3, 0] / lookups[:3].mean(axis=1), (1, 1.3, 2.8))
    assert np.allclose(lookups[:, 1:], lookups[:, 1:2])  # all others have equal shares of the rest
    hashed = spreads(with_values(V4, {DEDUP: False, FACTOR: ()})).spread_over(8, tables)
    assert np.allclose(lookups.sum(axis=1), hashed[:, 0].sum(axis=1)) and (rows == hashed[:, 1]).all()


def test_a_factor_above_the_number_of_gpus_gives_one_gpu_everything():
    lookups, rows = spreads(with_values(V4, {DEDUP: False, FACTOR: (100.0,)})).spread_over(8, np.array([0]))[0]
    assert lookups[0] == lookups.sum() and not lookups[1:].any() and rows.all()


def test_without_dedup_the_hottest_gpu_sends_and_looks_up_most():
    expected = (1 + 1.3 + 2.8 + 8 / 2628) / (3 + 8 / 2628)
    assert skews(**{DEDUP: False, FACTOR: STATED}).lookups == pytest.approx(expected, rel=1e-3)
    sent = {factors: settle(with_values(V4, {DEDUP: False, FACTOR: factors})).placement.pooled for factors in (STATED, EVEN, ())}
    bags = 7 * 1024 * 8 * 1024  # a bag leaves all owners
    by_hand = 7 / 8 * HISTORY_BYTES * 3 + bags
    assert sent[EVEN].fabric == pytest.approx(by_hand)
    assert sent[STATED].fabric - bags == pytest.approx(1.7 * (by_hand - bags))
    assert sent[EVEN].fabric < sent[()].fabric and all(
        crossing.nbytes == pytest.approx(sent[EVEN].nbytes) for crossing in sent.values()
    )


def test_dedup_makes_hashed_lookups_as_even_as_unique_rows():
    assert skews(**{DEDUP: False, FACTOR: ()}).lookups > 1.5
    lookups, rows = skews(**{FACTOR: ()})
    assert lookups < 1.01 and rows < 1.01
    assert skews(**{FACTOR: (8.0,) * 3 + (1.0,) * 8}).lookups < 1.01  # an id comes once, however popular it is


def test_a_hot_rank_makes_a_step_longer():
    def step(**knobs):
        return estimate(with_values(V4, knobs)).results["Step time [ms]"]

    assert step(**{DEDUP: False, FACTOR: STATED}) > step(**{DEDUP: False, FACTOR: EVEN}) + 20
    assert step(**{FACTOR: EVEN}) == pytest.approx(step(**{FACTOR: STATED}))
    column_wise = {"policy.sharding": "column-wise", DEDUP: False}
    assert step(**{FACTOR: STATED, **column_wise}) == step(**{FACTOR: EVEN, **column_wise})


def test_buffers_of_vectors_are_as_by_hand():
    off = vector_buffers(with_values(V4, {DEDUP: False}))
    assert off.read == pytest.approx(2 * 1024 * (3 * 2628 + 8) * 512 * 2)
    assert off.arrived == pytest.approx(off.read) and off.owned == pytest.approx(2 * 3 * HISTORY_BYTES)
    on = vector_buffers(V4)
    assert on.owned == pytest.approx(2 * HISTORY_BYTES * sent_shares(V4)[:3].sum())
    assert on.arrived == pytest.approx(on.owned + 2 * 1024 * 8 * 512 * 2) and on.read == off.read
    fp32 = vector_buffers(with_values(V4, {DEDUP: False, "machine.exchange_precision": "fp32"}))
    assert fp32.owned == pytest.approx(2 * off.owned) and fp32.read == off.read
    alone = vector_buffers(preset("dlrm-v4-cxl").scenario)
    assert alone.owned == 0 and alone.arrived == alone.read
    pooled = vector_buffers(preset("torchrec-terabyte").scenario)
    assert pooled.owned == 0 and pooled.arrived == pooled.read > 0


def test_the_hottest_gpus_memory_counts_and_column_wise_tables_lower_it():
    asked = with_values(V4, {DEDUP: False, FACTOR: STATED})
    spread, by_columns = "0-7", "/".join(map(str, range(8)))
    column_wise = with_values(asked, {"policy.plan": ";".join([spread, by_columns, by_columns] + [spread] * 8)})
    hot, even = (gpu_memory(s)["vectors"] for s in (asked, column_wise))
    buffers = vector_buffers(asked)
    others = buffers.read + buffers.arrived
    assert hot - others == pytest.approx(1.7 * buffers.owned)
    assert even - others == pytest.approx(buffers.owned)
    assert (even - others) / (hot - others) == pytest.approx(0.58, abs=0.01)  # MLPerf's reference: 58 % "of memory"
    assert gpu_memory(with_values(asked, {FACTOR: EVEN}))["vectors"] == pytest.approx(even)


def test_a_hot_gpu_that_overflows_is_refused_with_what_would_help():
    base = {DEDUP: False, "data.batch_size": 10_800}
    hot = estimate(with_values(V4, {**base, FACTOR: (4.0,) * 3 + (1.0,) * 8}))
    assert not hot.ran and "the GPU with the hottest rows needs" in hot.outcome
    for remedy in ({"policy.sharding": "column-wise"}, {DEDUP: True}, {"data.batch_size": 4096}):
        assert estimate(with_values(V4, {**base, FACTOR: (4.0,) * 3 + (1.0,) * 8, **remedy})).ran, remedy
    assert estimate(with_values(V4, {**base, FACTOR: EVEN})).ran


@pytest.mark.parametrize("dedup", [True, False])
def test_a_full_run_divides_its_lookups_alike(dedup):
    factors = (1.0, 3.0, 5.0) + (1.0,) * 8
    s = with_values(V4, {**SMALL, DEDUP: dedup, FACTOR: factors})
    assert simulate(s).ran
    counted, ids = counted_traffic(settle(s)), shared_source(s).ids(1)
    lookups, rows = np.zeros((2, 8))
    for table, first in enumerate(offsets(s.model)[:11]):
        own = ids[(ids >= first) & (ids < first + s.model.num_embeddings[table])]
        unique = np.bincount(part_of(np.unique(own), 8), minlength=8)
        rest = (8 - factors[table]) / 7
        shares = unique / unique.sum() if dedup and table < 3 else np.array([factors[table]] + [rest] * 7) / 8
        lookups, rows = lookups + len(own) * shares, rows + unique
    assert counted.lookup_skew[1] == pytest.approx(lookups.max() / lookups.mean())
    assert counted.row_skew[1] == pytest.approx(rows.max() / rows.mean())


def test_bags_have_hot_ranks_under_row_wise_sharding_only():
    base = with_values(
        preset("torchrec-terabyte").scenario, {"policy.replicated_rows": 0.0, "machine.num_gpus": 4, "data.batch_size": 65_536}
    )
    row_wise = with_values(base, {"policy.sharding": "row-wise"})
    assert settle(with_values(row_wise, {FACTOR: (3.0,)})).placement.skews.lookups == pytest.approx(3.0)
    hot, hashed = (
        sum(row["Busy [s]"] for row in estimate(s).breakdown if row["Stage"] == "Embedding")
        for s in (with_values(row_wise, {FACTOR: (3.0,)}), row_wise)
    )
    assert hot > 1.2 * hashed
    whole = with_values(base, {"policy.sharding": "table-wise"})
    assert dict(estimate(with_values(whole, {FACTOR: (3.0,)})).results) == dict(estimate(whole).results)


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        ((0.5,), "data.hot_rank_factor=0.5 is less than 1"),
        ((2.0,) * 4, "data.hot_rank_factor has 4 values for 11 tables"),
        ((-1.0,), "data.hot_rank_factor"),
        ((float("nan"),), "data.hot_rank_factor"),
    ],
)
def test_impossible_factors_are_refused(factors, sentence):
    with pytest.raises(BadKnob, match=sentence):
        with_values(V4, {FACTOR: factors})


def test_another_model_starts_without_the_list():
    assert with_values(V4, {"model.name": "dlrm-kaggle"}).data.hot_rank_factor == ()
    one = with_values(V4, {FACTOR: (2.0,)})
    assert with_values(one, {"model.name": "dlrm-kaggle"}).data.hot_rank_factor == (2.0,)
