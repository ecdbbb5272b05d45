"""How large a cache must be for a hit rate: is the best one that of an exhaustive search, and does a drawn run hit as often?"""

import json
from itertools import product

import numpy as np
import pytest

from engine.__main__ import main
from engine.analysis.enough.cache import cache_for, cache_lines, cache_of_size, cache_sentence, hbm_room, table_shares
from engine.hardware.devices.gpu import memory_bytes
from engine.scenario.presets import preset
from engine.scenario.scenario import per_table, with_values
from engine.schedule.machine import sized_scenario
from engine.systems.row_kinds import kind_bytes, row_bytes
from engine.systems.traffic import activation_bytes, mlp_bytes, num_rows, table_bytes
from engine.workload.accesses import table_lookups
from engine.workload.batch import offsets
from engine.workload.caching.expected_cache import expected_moves
from engine.workload.popularity import popularities
from engine.workload.source import source
from engine.workload.spectrum import row_shares
from tests.cases import each

UNLIKE = {
    "model.num_tables": 4,
    "model.num_embeddings": (7, 5, 9, 3),
    "model.embedding_dim": (4, 16, 8, 64),
    "model.pooling": (1, 4, 2, 1),
    "model.interaction": "concat",
    "model.optimizer": "sgd",
    "data.popularity": "zipf",
}


def asked(**knobs):
    return with_values(preset("dlrm-kaggle").scenario, {"system": "all-hbm", "run.training": False, **knobs})


def best_by_hand(s, nbytes):
    """Return the best hit rate of all choices of the hottest rows of each table that fit so many bytes."""
    rows, pooling, size = per_table(s.model, "num_embeddings"), np.array(per_table(s.model, "pooling")), kind_bytes(s, "row")
    mass = [np.concatenate(([0.0], np.cumsum(-np.sort(-row_shares(law))))) for law in popularities(s)]
    hits = [
        sum(pooling[t] * mass[t][many] for t, many in enumerate(held)) / pooling.sum()
        for held in product(*(range(many + 1) for many in rows))
        if float(np.array(held) @ size) <= nbytes * (1 + 1e-12)
    ]
    return max(hits)


@each("pooling", [(1, 4, 2, 1), (1, 1, 1, 30)])
def test_the_densest_rows_are_the_best_of_all_choices(pooling):
    """Where the budget ends between two rows' bytes the best choice takes whole rows: it is no better than what is divided."""
    s = asked(**{**UNLIKE, "model.pooling": pooling})
    sizes = sorted({float(np.round(part * table_bytes(s))) for part in (0.05, 0.2, 0.35, 0.5, 0.8, 1.0)})
    for nbytes in sizes:
        found = cache_of_size(s, nbytes)
        assert found.nbytes == pytest.approx(nbytes)
        whole = best_by_hand(s, nbytes)
        assert whole <= found.hit_rate + 1e-9
        largest = float(kind_bytes(s, "row").max())
        assert found.hit_rate <= best_by_hand(s, nbytes + largest) + 1e-9, "which has room for the row that was cut"
    reached = cache_of_size(s, sizes[2])
    assert cache_for(s, reached.hit_rate).nbytes == pytest.approx(sizes[2], rel=1e-9)


@each("popularity", ["kaggle", "zipf", "uniform"])
@each("share", [0.003, 0.05, 0.4])
def test_rows_that_it_holds_serve_as_many_lookups_of_a_drawn_run(popularity, share):
    dims = tuple((8, 64)[t % 2] for t in range(26))
    knobs = {"model.num_embeddings": (20_000,) * 26, "model.embedding_dim": dims, "model.interaction": "concat"}
    s = asked(**knobs, **{"data.popularity": popularity, "data.batch_size": 2048})
    found = cache_of_size(s, share * table_bytes(s))
    first, hot = offsets(s.model), []
    for table, law in enumerate(popularities(s)):
        order = np.argsort(-row_shares(law), kind="stable")
        hot.append(first[table] + order[: round(float(found.rows[table]))])
    kept, ids = np.sort(np.concatenate(hot)), np.concatenate([source(s).ids(n) for n in range(10)])
    assert np.isin(ids, kept).mean() == pytest.approx(found.hit_rate, abs=0.01)
    assert found.table_nbytes.sum() == pytest.approx(share * table_bytes(s))
    assert float(found.rates @ table_lookups(s)) / float(table_lookups(s).sum()) == pytest.approx(found.hit_rate)


@each("system", ["all-hbm", "torchrec-uvm", "cached-embedding"], few=3)
@each("rate", [0.5, 0.9, 0.99])
def test_the_size_for_a_hit_rate_and_the_hit_rate_of_a_size_are_each_others(system, rate):
    s = asked(**{"system": system, "model.num_embeddings": (100_000,) * 26, "data.popularity": "zipf"})
    found = cache_for(s, rate)
    assert found.hit_rate == pytest.approx(rate, abs=1e-6) and found.recent_nbytes is not None
    assert found.recent_nbytes >= found.nbytes, "without locality no cache beats that of the densest rows"
    assert cache_of_size(s, found.nbytes).hit_rate == pytest.approx(rate, abs=1e-6)
    assert cache_of_size(s, found.recent_nbytes).recent_rate == pytest.approx(found.recent_rate, abs=1e-6)
    assert found.recent_rate == pytest.approx(rate, abs=2e-3) and found.recent_rate >= rate - 1e-9
    policy = "lru in sets" if system == "torchrec-uvm" else "lru"
    missed = expected_moves(s, policy, found.recent_nbytes / row_bytes(s)).missed_lookups
    assert 1 - missed / float(table_lookups(s).sum()) == pytest.approx(found.recent_rate, abs=1e-6)


def test_rows_used_last_take_the_bytes_of_those_that_are_held():
    """Popular rows are the wide ones here: a cache of them takes more bytes than as many rows of all tables."""
    dims, rows = tuple((8, 256)[t % 2] for t in range(26)), tuple((400_000, 2000)[t % 2] for t in range(26))
    knobs = {"model.embedding_dim": dims, "model.num_embeddings": rows, "model.interaction": "concat", "data.popularity": "zipf"}
    s = asked(**knobs)
    for rate in (0.3, 0.6, 0.9):
        found = cache_for(s, rate)
        assert found.recent_nbytes is not None and found.recent_nbytes >= 0.999 * found.nbytes
        again = cache_of_size(s, found.recent_nbytes)
        assert again.recent_rate == pytest.approx(rate, abs=2e-3) and again.recent_rate <= again.hit_rate + 1e-6


def test_room_is_what_gpus_have_beside_all_else():
    s = asked(**{"machine.num_gpus": 2})
    own = sized_scenario(s)
    each_gpu = memory_bytes(own.machine) - 2 * mlp_bytes(own) - activation_bytes(own)
    assert hbm_room(s) == pytest.approx(2 * each_gpu)
    several = sized_scenario(with_values(s, {"machine.num_gpus": 3 * own.machine.gpus_per_node}))
    each_of_several = memory_bytes(several.machine) - 2 * mlp_bytes(several) - activation_bytes(several)
    assert hbm_room(s, 3) == pytest.approx(several.machine.num_gpus * each_of_several) and each_of_several > each_gpu


def test_all_rows_hit_always_and_no_bytes_never():
    s = asked(**UNLIKE)
    assert cache_of_size(s, 10 * table_bytes(s)).hit_rate == pytest.approx(1.0) and cache_of_size(s, 0.0).hit_rate == 0
    every = cache_for(s, 1.0)
    assert every.nbytes == pytest.approx(table_bytes(s)) and every.rows.sum() == pytest.approx(num_rows(s))


def test_the_command_says_a_sentence_and_a_table_and_gives_numbers_as_json(capsys):
    s = preset("dlrm-terabyte").scenario
    found = cache_for(s, 0.99)
    assert main(["enough", "--preset", "dlrm-terabyte", "--hit-rate", "99%"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert (
        said == [*cache_lines(s, found)] and said[0] == cache_sentence(s, found) and said[0].startswith("28.1 GB in HBM, 26.7 %")
    )
    assert len(said) == 1 + 12 + 1 and "14 other tables" in said[-1]
    assert main(["enough", "--preset", "dlrm-terabyte", "--hbm-GiB", "4", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (
        told["cache_gigabytes"] == pytest.approx(4 * 2**30 / 1e9) and 90 < told["lru_hit_rate_percent"] < told["hit_rate_percent"]
    )
    assert len(told["tables"]) == 26 and sum(row["gigabytes"] for row in told["tables"]) == pytest.approx(told["cache_gigabytes"])
    assert [row.gigabytes for row in table_shares(found)] == sorted((row.gigabytes for row in table_shares(found)), reverse=True)
    for wrong in (["--hit-rate", "101"], ["--hit-rate", "nan"], ["--hbm-GiB", "0"], ["--nodes", "1.5"], ["--nodes", "0"]):
        assert main(["enough", *wrong]) == 2
        assert wrong[1] in capsys.readouterr().err
