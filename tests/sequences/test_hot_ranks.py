"""Hot ranks: GPUs whose rows are looked up more than others', in time, in exchanges and in memory."""

import numpy as np
import pytest

from engine.amounts.counted import counted_traffic
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.hardware.devices.gpu import memory_bytes
from engine.insight.memory.gpu_memory import gpu_memory
from engine.results.csv_table import constants_in_use
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.simulate import simulate
from engine.systems.exchange.buffers import vector_buffers
from engine.systems.exchange.fullest import fullest_gpu, sender_bytes
from engine.workload.accesses import sent_shares
from engine.workload.batch import offsets
from engine.workload.readers.file_tables import SampleShape, knob_changes
from engine.workload.row_spread import part_of, spreads
from engine.workload.source import shared_source
from tests.sequences.test_exchange import SMALL

V4 = preset("dlrm-v4-mi350x").scenario
FACTOR, DEDUP = "data.hot_rank_factor", "policy.input_dedup"
STATED, EVEN = (1.0, 1.3, 2.8) + (1.0,) * 8, (1.0,) * 11
HISTORY_BYTES = 1024 * 2628 * 512 * 2  # a GPU's vectors of one table in fp16


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
    assert off.read_bytes == pytest.approx(2 * 1024 * (3 * 2628 + 8) * 512 * 2)
    assert off.received_bytes == pytest.approx(off.read_bytes) and off.sent_bytes == pytest.approx(2 * 3 * HISTORY_BYTES)
    deduped = vector_buffers(V4)
    assert deduped.sent_bytes == pytest.approx(2 * HISTORY_BYTES * sent_shares(V4)[:3].sum())
    assert deduped.received_bytes == pytest.approx(deduped.sent_bytes + 2 * 1024 * 8 * 512 * 2)
    assert deduped.read_bytes == off.read_bytes
    fp32 = vector_buffers(with_values(V4, {DEDUP: False, "machine.exchange_precision": "fp32"}))
    assert fp32.sent_bytes == pytest.approx(2 * off.sent_bytes) and fp32.read_bytes == off.read_bytes
    alone = vector_buffers(preset("dlrm-v4-cxl").scenario)
    assert alone.sent_bytes == 0 and alone.received_bytes == alone.read_bytes
    pooled = vector_buffers(preset("torchrec-terabyte").scenario)
    assert pooled.sent_bytes == 0 and pooled.received_bytes == pooled.read_bytes > 0


def test_the_hottest_gpus_memory_counts_and_column_wise_tables_lower_it():
    scenario = with_values(V4, {DEDUP: False, FACTOR: STATED})
    spread, by_columns = "0-7", "/".join(map(str, range(8)))
    column_wise = with_values(
        scenario, {"policy.sharding": None, "policy.plan": ";".join([spread, by_columns, by_columns] + [spread] * 8)}
    )
    hot, even = (gpu_memory(s)["vectors"] for s in (scenario, column_wise))
    buffers = vector_buffers(scenario)
    other_buffers = buffers.read_bytes + buffers.received_bytes
    assert hot - other_buffers == pytest.approx(1.7 * buffers.sent_bytes)
    assert even - other_buffers == pytest.approx(buffers.sent_bytes)
    assert (even - other_buffers) / (hot - other_buffers) == pytest.approx(0.58, abs=0.01)  # MLPerf's reference: 58 % "of memory"
    assert gpu_memory(with_values(scenario, {FACTOR: EVEN}))["vectors"] == pytest.approx(even)


def test_a_hot_gpu_that_overflows_is_refused_with_what_would_help():
    base = {DEDUP: False, "data.batch_size": 10_800, FACTOR: (4.0,) * 3 + (1.0,) * 8}
    hot = estimate(with_values(V4, base))
    assert not hot.ran and "but GPU 0 needs" in hot.outcome
    assert "set policy.input_dedup=on, divide the tables otherwise by policy.sharding, or lower data.batch_size" in hot.outcome
    for remedy in ({"policy.sharding": "column-wise"}, {DEDUP: True}, {"data.batch_size": 4096}, {FACTOR: EVEN}):
        assert estimate(with_values(V4, {**base, **remedy})).ran, remedy
    planned = estimate(with_values(V4, {**base, "policy.sharding": None, "policy.plan": "0-7"}))
    assert not planned.ran and "divide the tables otherwise by policy.plan" in planned.outcome


@pytest.mark.parametrize(
    "knobs",
    [
        {"policy.sharding": None, "policy.plan": ";".join(["0", "1", "2"] + ["0-7"] * 8), "data.batch_size": 10_400},
        {"policy.sharding": None, "policy.plan": "0+0+1-7", "data.batch_size": 9600},
        {"policy.replicated_rows": 66_560.0},
    ],
)
def test_tables_vectors_and_copies_of_the_fullest_gpu_are_counted_together(knobs):
    scenario = with_values(V4, {DEDUP: False, **knobs})
    held_bytes = sum(gpu_memory(scenario).values())
    assert held_bytes > memory_bytes(V4.machine) and not estimate(scenario).ran
    smaller = with_values(scenario, {"data.batch_size": 4096})
    assert sum(gpu_memory(smaller).values()) < memory_bytes(V4.machine) and estimate(smaller).ran


def test_the_fullest_gpu_is_that_with_most_tables_and_vectors_together():
    settled = settle(with_values(V4, {DEDUP: False, FACTOR: ()}))
    vectors = sender_bytes(settled.scenario, settled.system, settled.placement.balance)
    gpu, tables, sent = fullest_gpu(settled.scenario, settled.system, settled.placement.balance)
    assert gpu == vectors.argmax() != 0 and sent == vectors.max() > vectors[0]
    assert tables == pytest.approx(600.2e9 / 8, rel=0.01)


@pytest.mark.parametrize("system", ["cpu-gpu", "remote-no-cache", "bagpipe"])
def test_gpus_without_rows_send_no_vectors(system):
    s = with_values(V4, {"system": system, "policy.sharding": None, "machine.matrix_precision": "fp32"})
    settled = settle(s)
    assert not sender_bytes(settled.scenario, settled.system, settled.placement.balance).any()
    on_gpus = settle(with_values(V4, {DEDUP: False}))
    assert sender_bytes(on_gpus.scenario, on_gpus.system, on_gpus.placement.balance).mean() == pytest.approx(6 * HISTORY_BYTES)


def test_tables_of_unlike_widths_send_by_their_bytes():
    widths = {"model.embedding_dim": (128, 512, 512) + (512,) * 8, "model.projection_dim": 512, FACTOR: STATED, DEDUP: False}
    settled = settle(with_values(V4, widths))
    by_gpu = sender_bytes(settled.scenario, settled.system, settled.placement.balance)
    assert by_gpu.max() / by_gpu.mean() == pytest.approx((0.25 * 1 + 1.3 + 2.8) / 2.25)
    deduped = settle(with_values(V4, {**widths, DEDUP: True}))
    by_gpu = sender_bytes(deduped.scenario, deduped.system, deduped.placement.balance)
    shares = sent_shares(deduped.scenario)[:3]
    assert by_gpu.mean() == pytest.approx(2 * HISTORY_BYTES * shares @ (0.25, 1, 1)) and by_gpu.max() < 1.01 * by_gpu.mean()


def test_a_csv_of_bags_has_no_column_of_attention():
    bags = with_values(preset("dlrm-kaggle").scenario, {"system": "cpu-only"})
    assert not [name for name in constants_in_use(bags) if "attention" in name]
    assert [name for name in constants_in_use(with_values(V4, {"machine.attention": "fused"})) if "attention" in name]


def test_a_file_with_other_fields_resets_the_list():
    shape = SampleShape("clicks.csv", 13, distinct=(100, 200), pooling=(1, 3), length_cv=(0.0, 0.0))
    assert with_values(V4, knob_changes(V4, shape)).data.hot_rank_factor == ()


@pytest.mark.parametrize("dedup", [True, False])
def test_a_full_run_divides_its_lookups_alike(dedup):
    factors = (1.0, 3.0, 5.0) + (1.0,) * 8
    s = with_values(V4, {**SMALL, DEDUP: dedup, FACTOR: factors})
    assert simulate(s).ran
    counted, ids = counted_traffic(settle(s)), shared_source(s).ids(1)
    lookups, rows = np.zeros((2, 8))
    for table, first in enumerate(offsets(s.model)[:11]):
        table_ids = ids[(ids >= first) & (ids < first + s.model.num_embeddings[table])]
        unique = np.bincount(part_of(np.unique(table_ids), 8), minlength=8)
        other_factor = (8 - factors[table]) / 7
        shares = unique / unique.sum() if dedup and table < 3 else np.array([factors[table]] + [other_factor] * 7) / 8
        lookups, rows = lookups + len(table_ids) * shares, rows + unique
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
    alike = with_values(V4, {FACTOR: (2.0,)})
    assert with_values(alike, {"model.name": "dlrm-kaggle"}).data.hot_rank_factor == (2.0,)
