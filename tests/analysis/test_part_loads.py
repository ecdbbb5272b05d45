"""Loads of parts: do they add up, is the slowest named, and is what balance would bring the difference of two estimates?"""

import pytest

from engine.analysis.part_loads import PLAN, SHARDING, balance_sentence, has_divided_tables, part_loads
from engine.core.figures import figure, percent
from engine.estimate import estimate
from engine.scenario.scenario import with_values
from engine.workload.accesses import expected_accesses
from tests.systems.test_balance import BATCH, DIM, ROWS, made_up

STEP = "Step time [ms]"


def test_each_parts_work_is_its_tables_and_sums_to_the_whole():
    s = made_up(**{PLAN: "0;1;1;2"})
    found, unique = part_loads(s), expected_accesses(s).unique_rows
    assert [one.lookups for one in found.loads] == [BATCH * 2, BATCH * 8, BATCH]
    assert [one.rows for one in found.loads] == pytest.approx([unique[0], unique[1] + unique[2], unique[3]])
    assert [one.table_bytes for one in found.loads] == [4 * DIM * rows for rows in (ROWS[0], ROWS[1] + ROWS[2], ROWS[3])]
    # Part 1 sends the vectors of two tables for two thirds of the samples, more than it gets of two for one third.
    vectors, indices = 2 * BATCH * 2 / 3 * DIM * 4, 8 * 8 * BATCH * 2 / 3
    assert found.loads[1].exchange_bytes == pytest.approx(2 * vectors + indices)
    assert found.slowest.part == 1 and sum(found.slowest.seconds) == found.slowdown * found.even_seconds
    assert [(one.part, sum(one.seconds) > found.even_seconds) for one in found.loads] == [(0, False), (1, True), (2, False)]


def test_what_balance_would_bring_is_the_difference_of_two_estimates():
    s = made_up(**{PLAN: "0;1;1;1", "data.batch_size": 6000})
    step, even = (estimate(one).results[STEP] for one in (s, with_values(s, {SHARDING: "interleaved", PLAN: ""})))
    told = balance_sentence(part_loads(s))
    assert told.startswith("GPU 1 is the slowest: ")
    assert told.endswith(f"a step of {figure(even, 'ms')} instead of {figure(step, 'ms')}, {percent(1 - even / step)} less.")
    assert {way.name: way.step for way in part_loads(s).ways}[PLAN] == step


@pytest.mark.parametrize(
    ("system", "title"), [("all-hbm", "GPU"), ("cpu-gpu", "node"), ("remote-no-cache", "server"), ("cxl", "module")]
)
def test_parts_have_the_name_of_what_they_are(system, title):
    many = {"machine.num_gpus": 1} if system == "cxl" else {"machine.gpus_per_node": 1, "machine.embedding_servers": 2}
    s = made_up(
        **{"system": system, **many, "machine.pmem_module_GB": 1.0, "machine.pmem_capacity_GB": 4.0, SHARDING: "table-wise"}
    )
    found = part_loads(s)
    assert has_divided_tables(s) and found.title == title and len(found.loads) == found.num_parts
    assert found.slowdown >= 1
    plain = with_values(s, {SHARDING: "interleaved"})
    assert balance_sentence(part_loads(plain)) == f"Every {title} has an equal share of all tables: the balance is perfect."


def test_one_part_alone_has_nothing_to_divide_and_a_bad_plan_says_why():
    assert part_loads(made_up(**{"machine.num_gpus": 1})) is None
    assert not has_divided_tables(made_up(system="hotline"))
    bad = part_loads(made_up(**{PLAN: "7"}))
    assert bad.loads == () and balance_sentence(bad) == "policy.plan names part 7, but the parts are numbered 0 to 2."
