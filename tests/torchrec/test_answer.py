"""Does `torchrec` price and write a plan, by its function and on the command line, and say what it cannot do?"""

import json
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.__main__ import main
from engine.errors import BadKnob
from engine.scenario.presets import DEFAULT, preset
from engine.scenario.scenario import with_values
from engine.systems.capacity import fit
from engine.torchrec.answer import TorchRecRequest, read_request, table_nbytes, torchrec_answer
from engine.torchrec.layout_rules import plan_fault
from engine.torchrec.plan_json import plan_content, read_plan
from engine.torchrec.sharding_plan import table_plan_of
from tests.cases import each
from tests.torchrec.drawn_tables import table_set

START = preset(DEFAULT).scenario
TABLES = [
    {"num_embeddings": 40_000_000, "embedding_dim": 128, "name": "large", "data_type": "FP16", "feature_names": ["f0"]},
    *({"num_embeddings": 1000, "embedding_dim": 128, "name": f"small{n}", "data_type": "FP16"} for n in range(6)),
]
STEP = "Step time [ms]"
SMALL = {"machine__gpu": "a100-80-mig-1g", "model__optimizer": "adam"}  # the large table does not fit into HBM


def request(system: str, **settings: object) -> TorchRecRequest:
    """Return the tables on four GPUs of two nodes."""
    topology = {"world_size": 4, "local_world_size": 2, "batch_size": 1024}
    knobs = {"system": system, **{name.replace("__", "."): value for name, value in settings.items()}}
    return read_request(START, json.dumps(TABLES), json.dumps(topology), '{"f0": 20}', knobs)


@each(
    ("system", "settings", "kernels"),
    [
        ("all-hbm", {}, {"fused"}),
        ("torchrec-uvm", {"policy__cache_load_factor": 0.2}, {"fused_uvm_caching"}),
        ("dram-hbm-nodes", {}, {"fused"}),
        ("dram-hbm-nodes", SMALL, {"fused", "fused_uvm"}),
        (
            "mtrains",
            {**SMALL, "machine__host_dram_GiB": 16.0},
            {"fused", "key_value"},
        ),
    ],
)
def test_each_system_gives_its_kernels(system: str, settings: dict[str, object], kernels: set[str]) -> None:
    found = torchrec_answer(request(system, **settings))
    assert {sharding.kernel for sharding in found.plan.shardings} == kernels
    assert all((sharding.cache is not None) == (system == "torchrec-uvm") for sharding in found.plan.shardings)


def test_a_system_of_other_memories_is_refused_with_those_that_torchrec_has() -> None:
    with pytest.raises(BadKnob, match=r"choose all-hbm, torchrec-uvm, dram-hbm-nodes or mtrains"):
        request("cxl")
    with pytest.raises(BadKnob, match=r"policy\.sharding=interleaved .* set it to planner"):
        torchrec_answer(request("all-hbm", policy__sharding="interleaved"))


def test_a_cache_has_its_share_and_its_expected_misses() -> None:
    found = torchrec_answer(
        request("torchrec-uvm", policy__cache_load_factor=0.001, policy__cache_policy="lfu", data__popularity="uniform")
    )
    cache = found.plan.shardings[0].cache
    assert cache is not None and (cache.algorithm, cache.load_factor, cache.prefetch) == ("LFU", 0.001, True)
    assert 0 < cache.miss_rate < 1 and found.plan.ranks[0].perf.prefetch > 0


@each("seed", range(12), few=4)
def test_the_plan_read_back_costs_what_the_plan_written_does(seed: int) -> None:
    asked = table_set(seed, mixed=False)
    plan = torchrec_answer(asked).plan
    text = json.dumps(plan_content(plan.shardings, asked.topology.local_world_size))
    read = torchrec_answer(asked, text).imported_plan
    assert read is not None and read.step_ms == plan.step_ms and read.sentences == ()
    assert read.estimates == plan.estimates


def test_the_plan_is_the_engines_own_where_torchrec_can_have_it() -> None:
    asked = table_set(2, mixed=False)
    settled, plan = fit(asked.scenario), torchrec_answer(asked).plan
    assert plan.sentences == () and plan.step_ms == api.estimate(asked.scenario)[0].results[STEP]
    assert asked.scenario.policy.replicated_rows == 0
    balance = settled.placement.balance
    assert balance is not None
    np.testing.assert_allclose(plan.memory["hbm"], balance.table_bytes)
    assert sum(table_nbytes(asked)) == pytest.approx(balance.table_bytes.sum())


@each("plan", ["0-1/2-3", "0-1", "0+0+1", "1-3", "0-2/3"])
def test_a_plan_that_torchrec_cannot_train_is_replaced_by_the_fastest_that_it_can(plan: str) -> None:
    asked = read_request(
        START, json.dumps(TABLES[:1]), '{"world_size": 4, "hbm_cap": 85899345920}', settings={"policy.plan": plan}
    )
    chosen = torchrec_answer(asked).plan
    assert (
        "TorchRec cannot train 1 table of our plan as planned, such as large: its rows lie on some ranks" in chosen.sentences[0]
    )
    steps = {}
    for entry in ("0", "0/1/2/3", "0-3"):
        settings = {"policy.plan": entry, "policy.sharding": None}
        steps[entry] = api.estimate(with_values(asked.scenario, settings))[0].results.get(STEP, inf)
    assert chosen.step_ms == min(steps.values()) and steps[str(chosen.result.scenario.policy.plan)] == chosen.step_ms
    assert not plan_fault(asked.tables[0], table_plan_of(chosen.shardings[0]), asked.layout)
    assert api.estimate(asked.scenario)[0].ran, "the plan stays valid for the simulator"


def test_narrow_tables_on_some_gpus_are_planned_as_torchrec_looks_them_up() -> None:
    tables = [{"num_embeddings": rows, "embedding_dim": 16, "name": f"t{rows}"} for rows in (1000, 400)]
    asked = read_request(START, json.dumps(tables), '{"world_size": 4, "batch_size": 64}')
    plan = torchrec_answer(asked).plan
    for table, sharding in zip(asked.tables, plan.shardings, strict=True):
        block = -(-table.rows // len(sharding.shards)) if sharding.sharding_type == "row_wise" else table.rows
        homes = {(shard.row_offset // block, shard.rank) for shard in sharding.shards if shard.rows}
        assert sharding.sharding_type != "row_wise" or homes == {(rank, rank) for rank in range(4)}
        assert sum(shard.rows * shard.columns for shard in sharding.shards) == table.rows * 16
    assert read_plan(json.dumps(plan_content(plan.shardings, 4)), asked.tables, asked.layout) == plan.shardings


def test_a_wide_table_is_cut_into_shards_that_kernels_take() -> None:
    for gpus in (1, 4):
        tables = json.dumps([{"num_embeddings": 10**6, "embedding_dim": 2048, "name": "wide"}])
        settings = {} if gpus == 1 else {"policy.sharding": "table-wise"}
        plan = torchrec_answer(read_request(START, tables, json.dumps({"world_size": gpus}), settings=settings)).plan
        assert max(shard.columns for shard in plan.shardings[0].shards) <= 1024 and plan.step_ms
        assert "a shard of 2,048 columns, but kernels take at most 1,024" in plan.sentences[0]


def test_rows_of_a_pod_go_over_all_its_nodes() -> None:
    topology = {"world_size": 8, "local_world_size": 2, "pod_size": 2}
    asked = read_request(START, json.dumps(TABLES[:1]), json.dumps(topology), settings={"policy.plan": "4-7"})
    plan = torchrec_answer(asked).plan
    assert (plan.shardings[0].sharding_type, plan.shardings[0].ranks) == ("table_row_wise", (4, 5, 6, 7))
    assert "set TORCHREC_RESOLVED_POD_SIZE=2" in plan.sentences[0]


def test_a_plan_of_torchrecs_says_what_we_cannot_price() -> None:
    asked = request("all-hbm")
    small = {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1, 2, 3]}
    uneven = [{"size": [40_000_000, width], "offset": [0, first], "rank": 3} for width, first in ((12, 0), (116, 12))]
    large = {"sharding_type": "column_wise", "compute_kernel": "fused_uvm", "shards": uneven}
    read = torchrec_answer(asked, json.dumps({"large": large, **{f"small{n}": small for n in range(6)}})).imported_plan
    assert read is not None
    said = " ".join(read.sentences)
    assert "The plan has 6 tables that are data_parallel" in said and "such as large, another kernel" in said and "Uneven" in said
    ranks: Any = tuple(SimpleNamespace(perf=SimpleNamespace(total=ms)) for ms in (3.0, 7.0, 5.0))
    assert read._replace(ranks=ranks).planner_ms == 7.0


def test_the_command_writes_the_plan_that_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables, topology, plan, answer = (tmp_path / name for name in ("t.json", "ranks.json", "plan.json", "answer.json"))
    tables.write_text(json.dumps(TABLES), encoding="utf-8")
    topology.write_text('{"world_size": 4, "batch_size": 1024}', encoding="utf-8")
    words = ["torchrec", str(tables), "--topology", str(topology)]
    assert main([*words, "--plan", str(plan), "--json", str(answer), "--module", "ebc"]) == 0
    printed, content = capsys.readouterr(), json.loads(answer.read_text(encoding="utf-8"))
    assert printed.err.splitlines() == [] and "large" in printed.out and "Our plan: " in printed.out
    assert json.loads(plan.read_text(encoding="utf-8")) == content["plan"] and [*content["plan"]["plan"]] == ["ebc"]
    assert content["step_ms"] == api.estimate(content["link"])[0].results[STEP]
    assert [row["name"] for row in content["tables"]] == [table["name"] for table in TABLES] and len(content["ranks"]) == 4
    assert content["planner_ms"] == max(row["planner_ms"] for row in content["ranks"])
    assert main([*words, "--read-plan", str(plan), "--plan", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]
    assert main([*words, "--read-plan", str(plan)]) == 0
    assert "The plan that was read: " in capsys.readouterr().out


def test_the_command_ends_with_3_and_no_plan_where_nothing_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables, plan = tmp_path / "t.json", tmp_path / "plan.json"
    tables.write_text(json.dumps([{"num_embeddings": 10**10, "embedding_dim": 128, "name": "t"}]), encoding="utf-8")
    assert main(["torchrec", str(tables), "--plan", str(plan)]) == 3
    found = capsys.readouterr()
    assert not plan.exists() and "Our plan cannot run: " in found.out
    assert found.err == "Note: No plan was written, because the machine cannot run this model.\n"
    assert main(["torchrec", str(tables), "--set", "policy.plan=9"]) == 3
    assert "parts are numbered 0 to 7" in capsys.readouterr().err


@each(
    ("words", "said"),
    [
        ("nothing.txt", "nothing.txt cannot be read: No such file"),
        ("bytes.txt", "bytes.txt:1: the text is UTF-16, but it must be UTF-8"),
        ("t.json --topology empty.json", "empty.json is empty"),
        ("t.json --topology t.json", "The topology is neither"),
        ("t.json --pooling t.json", "pooling factors are not a map"),
        ("t.json --read-plan t.json", "not a map of tables"),
        ("t.json --set model.num_tables=3", "follows from the tables"),
        ("t.json --json - --plan -", "Only one output can be -"),
        ("t.json --plan /no/such/folder/plan.json", "/no/such/folder"),
    ],
)
def test_bad_input_ends_with_2_and_one_line(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.json").write_text(json.dumps(TABLES), encoding="utf-8")
    Path("empty.json").touch()
    Path("bytes.txt").write_bytes(b"\xff\xfe\x00")
    assert main(["torchrec", *words.split()]) == 2
    found = capsys.readouterr()
    assert found.out == "" and found.err.count("\n") == 1 and said in found.err
