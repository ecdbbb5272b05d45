"""Does better hardware never slow training, and does each remedy for hardware that is too small work?"""

import re

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.estimate import estimate
from engine.scenario.scenario import KNOBS, with_values
from engine.scenario.storage import OPTIMIZERS
from engine.schedule.machine import schedule
from engine.simulate import simulate
from engine.systems.capacity import fit
from tests.cases import each, examples
from tests.machines import PRESETS, SYSTEMS, flow, ready, scenario, uneven

BATCHES = 24


def between(low, high):
    """Return floats spread evenly over orders of magnitude."""
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


@st.composite
def scenarios(draw, presets=PRESETS):
    """Draw a system, a preset, and a machine of very fast and very slow parts."""
    system, optimizer = draw(st.sampled_from(SYSTEMS)), draw(st.sampled_from(OPTIMIZERS))
    knobs = {
        "data.batch_size": int(draw(between(1, 4096))),
        "model.optimizer": optimizer,
        "machine.cxl_bandwidth_GBps": draw(between(0.1, 500)),
        "machine.cxl_latency_ns": draw(between(1, 1e5)),
        "machine.pcie_bandwidth_GBps": draw(between(0.1, 500)),
        "machine.near_data_compute": draw(st.booleans()),
        "machine.near_data_lanes": draw(st.integers(1, 32)),
        "machine.near_data_clock_MHz": draw(between(1, 1000)),
        "machine.host_dram_channels": draw(st.integers(1, 32)),
        "machine.host_dram_GiB": 4096.0,
        "machine.expander_dram_channels": draw(st.integers(1, 32)),
        "machine.expander_dram_GiB": 4096.0,
        "machine.gpu": draw(st.sampled_from(["a100-80", "h100-sxm", "trainingcxl"])),
        "machine.pmem": draw(st.sampled_from(["optane-100", "battery-dram", "cxl-flash", "trainingcxl"])),
        "machine.num_ssds": 16,
    }
    if system == "cxl":
        knobs["policy.mlp_staleness_bound_batches"] = draw(st.sampled_from([0, 1, 3, 100]))
        knobs["policy.relaxed_lookup"] = draw(st.booleans())
    settled = fit(scenario(draw(st.sampled_from(presets)), system, **knobs))
    assume(not settled.problems)
    return settled.scenario


def training_time(asked, spread):
    """Return the seconds of a run of batches, and those of one MLP log where such logs may span batches."""
    amounts = flow(asked, BATCHES)
    line = schedule(ready(asked), uneven(amounts) if spread else amounts)
    roll = line.template.roll
    relaxed = roll >= 0 and line.template.staleness_bound > 0
    return line.makespan, float(line.durations[:, roll].max()) if relaxed else 0.0


@each(
    "path",
    [
        "machine.cxl_bandwidth_GBps",
        "machine.pmem_capacity_GB",
        "machine.near_data_lanes",
        "machine.near_data_clock_MHz",
        "machine.pcie_bandwidth_GBps",
        "machine.host_dram_channels",
        "machine.expander_dram_channels",
        "machine.num_ssds",
    ],
)
@examples(7)
@given(asked=scenarios(), factor=st.sampled_from([1.01, 1.5, 2, 7]), spread=st.booleans())
def test_more_of_a_part_never_slows_training(path, asked, factor, spread):
    group, name = path.split(".")
    value = getattr(getattr(asked, group), name)
    most = KNOBS[path].high
    more = min(value * factor, most) if isinstance(value, float) else min(int(np.ceil(value * factor)), int(most))
    before, one_log = training_time(asked, spread)
    after, _ = training_time(with_values(asked, {path: more}), spread)
    # Which log is under way when a staleness bound is reached is a matter of luck: one wait more or less.
    assert after <= before * (1 + 1e-9) + one_log


ROOMY = {"machine.pmem_capacity_GB": 1e5, "machine.expander_dram_channels": 32, "machine.num_expanders": 1}
LINK = {"machine.cxl_bandwidth_GBps": None, "machine.cxl_generation": 4, "machine.cxl_lanes": 1, **ROOMY}


@each(
    ("path", "low", "high", "helps"),
    [
        ("machine.cxl_generation", 4, 6, True),
        ("machine.cxl_lanes", 1, 16, True),
        ("machine.num_expanders", 1, 32, True),
        ("machine.cxl_retimers", 0, 8, False),
        ("machine.pmem_writers_per_module", 1, 64, False),
        ("machine.cxl_latency_ns", 1, 100_000, False),
    ],
)
@examples(7)
@given(asked=scenarios(), spread=st.booleans(), data=st.data())
def test_more_of_the_link_or_less_in_its_way_never_slows_training(path, low, high, helps, asked, spread, data):
    values = KNOBS[path].allowed_numbers or range(low, high + 1)
    drawn = data.draw(st.lists(st.sampled_from(values), min_size=2, max_size=2, unique=True))
    base = with_values(asked, LINK if helps else {})
    worse, better = (with_values(base, {path: value}) for value in sorted(drawn, reverse=not helps))
    before, one_log = training_time(worse, spread)
    after, another = training_time(better, spread)
    assert after <= before * (1 + 1e-9) + (one_log if helps else max(one_log, another))


@each("system", ["cxl", "cxl-d", "dram"])
def test_more_expanders_than_modules_are_refused_with_remedies_that_work(system):
    asked = scenario("optane-rm2", system, **{"machine.num_expanders": 9})
    outcome = estimate(asked).outcome
    assert "machine.num_expanders=9 needs at least as many" in outcome
    fewer, path, number = re.search(r"lower it to (\d+), or raise (\S+) to (\d+)", outcome).groups()
    for change in ({"machine.num_expanders": int(fewer)}, {path: int(number)}):
        assert estimate(with_values(asked, change)).ran
    assert not estimate(with_values(asked, {"machine.num_expanders": int(fewer) + 1})).ran


def test_expanders_are_no_question_where_no_link_carries_anything():
    assert estimate(scenario("optane-rm2", "pmem", **{"machine.num_expanders": 9})).ran


def test_a_lookup_that_comes_early_does_not_let_pooling_on_the_gpu_delay_the_undo_log():
    """Without near-data compute the lookup ends before the bottom MLP can start; the log waits for both."""
    knobs = {"machine.near_data_compute": False, "machine.gpu": "v100", "machine.pmem": "battery-dram", "data.batch_size": 1071}
    slow, fast = (
        training_time(fit(scenario("trainingcxl-rm2", "cxl-b", **knobs, **{"machine.cxl_bandwidth_GBps": rate})).scenario, False)
        for rate in (231.0, 1000.0)
    )
    assert fast <= slow


@examples(7)
@given(asked=scenarios())
def test_near_data_compute_as_fast_as_its_memory_never_slows_training_where_pooling_saves_bytes(asked):
    amounts = flow(asked, 1)
    assume(amounts.pooled_bytes <= amounts.rows[0] * amounts.vector_bytes)
    fast = {"machine.near_data_lanes": 1024, "machine.near_data_width_bytes": 4096, "machine.near_data_clock_MHz": 1e4}
    fast |= {"machine.near_data_scratchpad_MB": 1e5}
    off, one_log = training_time(with_values(asked, {"machine.near_data_compute": False}), False)
    on, _ = training_time(with_values(asked, {"machine.near_data_compute": True, **fast}), False)
    assert on <= off * (1 + 1e-9) + one_log


BIG = {"model.num_embeddings": (10**9,), "model.embedding_dim": 16, "run.training": False, "run.batches": 2}
TOO_SMALL = [
    ("cxl", {**BIG, "machine.pmem_capacity_GB": 64.0}),
    ("pmem", {**BIG, "model.num_embeddings": (10**8,), "machine.pmem_capacity_GB": 1.0}),
    ("dram", {**BIG, "machine.expander_dram_GiB": 256.0}),
    ("cpu-only", {**BIG, "machine.host_dram_GiB": 256.0}),
    ("ssd", {**BIG, "machine.num_ssds": 1}),
    ("ssd", {**BIG, "machine.host_dram_GiB": 11.0, "machine.num_ssds": 64}),
    ("ssd", {**BIG, "policy.cache_load_factor": 0.9, "machine.host_dram_GiB": 256.0}),
]
REMEDIES = {
    "raise it to": lambda path, number: {path: number},
    "set it to auto": lambda path, number: {path: None},
    "lower model.num_embeddings": lambda path, number: {"model.num_embeddings": (1000,)},
    "choose system=cxl": lambda path, number: {"system": "cxl"},
    "lower the factor to": lambda path, number: {path: number},
    "raise the DRAM": lambda path, number: {"machine.host_dram_GiB": 1e5},
}


def remedies(outcome):
    """Return the changes of knobs that an outcome's sentence proposes."""
    path = outcome.split("=")[0]
    number = re.search(r"(?:raise it|factor) to ([\d.e+-]*\d)", outcome)
    value = float(number[1]) if number else None
    value = int(value) if value and path.endswith("num_ssds") else value
    return [change(path, value) for words, change in REMEDIES.items() if words in outcome]


@each(("system", "knobs"), TOO_SMALL)
@each("answer", [estimate, simulate])
def test_what_does_not_fit_is_an_outcome_with_numbers_and_each_of_its_remedies_works(system, knobs, answer):
    asked = scenario("optane-kaggle", system, **knobs)
    refused = answer(asked)
    assert not refused.ran
    assert set(refused.results.values()) == {None}
    assert len(re.findall(r"\d+ [GMT]i?B|=[\d.]+", refused.outcome)) >= 2
    proposed = remedies(refused.outcome)
    assert len(proposed) >= 2, refused.outcome
    for change in proposed:
        assert not fit(with_values(asked, change)).problems, (refused.outcome, change)


@examples(50)
@given(
    rows=st.integers(10**6, 10**10),
    dim=st.integers(1, 512),
    system=st.sampled_from(SYSTEMS),
    factor=st.floats(0.01, 1),
    dram=between(1, 1000),
)
def test_the_numbers_in_a_remedy_are_enough(rows, dim, system, factor, dram):
    knobs = {"model.num_embeddings": (rows,), "model.embedding_dim": dim, "model.interaction": "concat"}
    knobs |= {"machine.pmem_capacity_GB": 1.0, "policy.cache_load_factor": factor, "machine.host_dram_GiB": dram}
    knobs |= {"machine.expander_dram_GiB": dram, "machine.num_ssds": 1}
    asked = scenario("optane-kaggle", system, **knobs)
    for problem in fit(asked).problems:
        change = remedies(problem)[0]
        mended = with_values(asked, change)
        assert problem.split("=")[0] not in {left.split("=")[0] for left in fit(mended).problems}, (problem, change)


def test_mlps_too_large_for_the_gpu_are_refused_and_fit_a_smaller_batch():
    asked = scenario(
        "optane-kaggle", "cxl", **{"data.batch_size": 10**6, "machine.gpu": "v100", "model.top_mlp": (8192, 8192, 1)}
    )
    refused = estimate(asked)
    assert not refused.ran
    assert "machine.gpu=v100 has 29.8 GiB" in refused.outcome
    assert "lower data.batch_size" in refused.outcome
    assert not fit(with_values(asked, {"data.batch_size": 1000})).problems


def test_an_automatic_capacity_fills_an_interleave_set_until_tables_and_logs_need_more_modules():
    for rows, modules in ((10**6, 6), (4 * 10**8, 6), (5 * 10**8, 7), (10**9, 14)):
        knobs = {"model.num_tables": 26, "model.num_embeddings": (rows,), "model.embedding_dim": 16}
        result = estimate(scenario("optane-kaggle", "cxl", **knobs))
        assert 26 * rows * 64 / 128e9 <= modules
        assert result.results["PMEM modules"] == modules
