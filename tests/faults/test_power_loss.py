"""Does training that lost power, wherever it did, end as if nothing had happened, to the bit?"""

import itertools
import re
from dataclasses import replace
from functools import cache

import numpy as np

from engine.run.run import follow_run
from engine.run.shared_training import untrained_resolve
from engine.schedule.machine import schedule
from engine.simulate import simulate
from tests.cases import each
from tests.faults.test_faults import TIMES, learned
from tests.machines import STRICT, counted_flow, flow, ready, scenario

optimizers = each("optimizer", ["sgd", "rowwise-adagrad", "adam"])


def tiny(system, optimizer="sgd", at=(), **knobs):
    """Return preset tiny with power losses at these seconds."""
    return scenario("tiny", system, **{"model.optimizer": optimizer, "faults.power_loss_at_seconds": tuple(at), **TIMES, **knobs})


@cache
def quiet(system, optimizer="sgd"):
    """Return the run without a fault."""
    return simulate(tiny(system, optimizer))


def recoveries(result):
    """Return the batch that each recovery resumed at."""
    return [row["Batch"] for row in result.events if row["Kind"] == "recovered"]


def instants(system, count, seed=1):
    """Return random instants of a run without a fault, in s."""
    return np.random.default_rng(seed).uniform(0, quiet(system).results["Elapsed [s]"], count)


@each("system", STRICT, few=1)
def test_whether_or_not_flags_under_way_survive_the_model_is_that_of_a_run_without(system):
    line = schedule(ready(tiny(system)), counted_flow(tiny(system), 40))
    commit, resumed = line.graph.index("Commit"), {}
    for n, share in itertools.product(range(2, 38, 3), (0.3, 0.6)):
        at = line.start[n, commit] + share * (line.end[n, commit] - line.start[n, commit])
        batch = recoveries(simulate(tiny(system, at=[at], **{"run.training": False})))[0]
        resumed.setdefault(batch - n, []).append(at)
    assert len(resumed) == 2, "flags that survive and flags that do not resume at different batches"
    for at in itertools.chain.from_iterable(instants[:3] for instants in resumed.values()):
        assert learned(simulate(tiny(system, at=[at]))) == learned(quiet(system)), at


@each(("precision", "optimizer"), [("int8", "rowwise-adagrad"), ("bf16", "sgd"), ("fp16", "adam"), ("int8", "sgd")], few=2)
@each("system", STRICT, few=2)
def test_narrow_rows_and_their_scales_come_back_to_the_bit(system, precision, optimizer):
    knobs = {"model.row_precision": precision}
    undisturbed = simulate(tiny(system, optimizer, **knobs))
    span = undisturbed.results["Elapsed [s]"]
    struck = simulate(tiny(system, optimizer, (0.31 * span, 0.71 * span + 0.0031), **knobs))
    assert struck.ran and len(recoveries(struck)) == 2 and learned(struck) == learned(undisturbed)
    assert learned(undisturbed) != learned(quiet(system, optimizer)), "narrow rows learn something else"


@optimizers
@each("system", STRICT, few=2)
def test_uneven_bags_are_drawn_again_as_they_were(system, optimizer):
    knobs = {"data.bag_length_cv": (1.0, 0.4, 2.0)}
    undisturbed = simulate(tiny(system, optimizer, **knobs))
    span = undisturbed.results["Elapsed [s]"]
    struck = simulate(tiny(system, optimizer, (0.31 * span, 0.71 * span + 0.0031), **knobs))
    assert struck.ran and len(recoveries(struck)) == 2 and learned(struck) == learned(undisturbed)
    assert learned(undisturbed) != learned(quiet(system, optimizer)), "uneven bags learn something else"


@optimizers
@each("system", STRICT)
@each("count", [2, 3], few=2)
def test_several_power_losses_leave_the_model_of_a_run_without(system, optimizer, count):
    undisturbed = learned(quiet(system, optimizer))
    for seed in range(4):
        at = np.cumsum(instants(system, count, seed) * 0.5 + 0.0031)
        result = simulate(tiny(system, optimizer, at))
        assert result.ran and 1 <= len(recoveries(result)) <= count
        assert learned(result) == undisturbed, at


SLOW = {"machine.cxl_bandwidth_GBps": 0.1, "machine.cxl_latency_ns": 1e5}


@each("knobs", [{}, SLOW, {"machine.pmem": "cxl-flash", **SLOW}], few=3)
@each("bound", [0, 1, 3, 100])
def test_a_relaxed_recovery_is_never_staler_than_its_bound(bound, knobs):
    asked = tiny("cxl", **knobs, **{"policy.mlp_staleness_bound_batches": bound})
    amounts, seen = flow(asked, 40), []
    for at in np.random.default_rng(bound).uniform(0, schedule(ready(asked), amounts).makespan, 25):
        machine = ready(replace(asked, faults=replace(asked.faults, power_loss_at_seconds=(at,))))
        crash = follow_run(machine, amounts, None, untrained_resolve(machine))[0].crashes[0]
        assert crash.batch - 2 <= crash.resumption.embedding_batch <= crash.batch + 1
        seen.append(crash.resumption.embedding_batch - crash.resumption.mlp_batch)
    assert 0 <= min(seen) <= max(seen) <= bound
    assert bound in (0, 100) or not knobs or max(seen) == bound, "nothing here is stale"


@each("bound", [0, 1, 3, 100], few=2)
def test_a_relaxed_run_says_how_stale_its_mlp_came_back_and_goes_on(bound):
    for at in instants("cxl", 5, seed=bound):
        result = simulate(tiny("cxl", at=[at], **SLOW, **{"policy.mlp_staleness_bound_batches": bound}))
        said = re.search(
            r"embeddings at the start of batch (\d+), MLP of batch (\d+), (\d+) batch(?:es)? older", result.events[1]["What"]
        )
        b, m, gap = map(int, said.groups())
        assert 0 <= b - m == gap <= bound
        assert max(row["Batch"] for row in result.training) == 39
        assert result.results["MLP staleness [batches]"] <= bound
