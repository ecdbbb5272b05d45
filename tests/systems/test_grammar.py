"""Is a wrong training system refused before it runs, by a sentence with the task, the device and what to do?"""

from dataclasses import replace

import pytest

from engine.core.graph import Demand, Task, check_graph
from engine.core.work import Stream
from engine.registry import load_variant, variant_names
from engine.scenario.scenario import with_values
from engine.schedule import evaluate
from engine.schedule.machine import machine_of, schedule
from engine.systems.capacity import fit
from engine.systems.steps.recovery import RecoveryWork, recover
from engine.systems.system import LogPolicy, System
from tests.cases import each
from tests.machines import LOGGING, flow, ready, scenario

IDLE = (Demand("pmem", Stream(0.0)),)


def changed(name, /, **fields):
    """Return what makes another task of task `name` in a plan."""
    return lambda tasks: tuple(replace(task, **fields) if task.name == name else task for task in tasks)


def more(*tasks):
    """Return what adds tasks to a plan."""
    return lambda found: (*found, *tasks)


def wrong(system, change):
    """Return a system whose plan is another's, changed."""
    own = load_variant("systems", system)
    return replace(own, plan=lambda settled, t: change(own.plan(settled, t)))


def planned(system, change):
    """Return the timeline of a changed system's batches, as a full run and an estimate's own window plan them."""
    asked = scenario("tiny", system)
    settled = replace(fit(asked), system=wrong(system, change))
    return schedule(machine_of(settled), flow(asked, 4))


ROLLING = Task("Copy of MLP", "Checkpoint", IDLE, ("Commit",), gate_task="Top MLP")
MARKED = Task("Update twice", "Embedding", IDLE, ("Commit",), persists="embedding update")
REFUSALS = {
    "a second rolling log": (
        "cxl-b",
        more(ROLLING),
        "Copy of MLP on pmem is a second rolling log beside MLP log; keep one of them.",
    ),
    "an undo log whose update is not marked": (
        "cxl-b",
        changed("Embedding update", persists=""),
        "no task persists 'embedding update', as a system of log 'undo' must; "
        "mark Embedding update on pmem with persists='embedding update'.",
    ),
    "a log without an MLP log": (
        "pmem",
        changed("MLP log", persists=""),
        "no task persists 'mlp log', as a system of log 'redo' must; add the task.",
    ),
    "a step marked twice": (
        "cxl-b",
        more(MARKED),
        "Embedding update and Update twice on pmem both persist 'embedding update'; mark one task a batch.",
    ),
    "a persist without a log": (
        "dram",
        changed("Embedding update", persists="embedding update"),
        "Embedding update on expander-dram persists 'embedding update', but a system without a log never does; "
        "clear its persists",
    ),
    "a flag before its log": (
        "pmem",
        changed("Commit", predecessors=("Embedding log",)),
        "Commit on pmem persists 'commit' before 'mlp log' is durable; make it wait for that step.",
    ),
    "an update before the flag": (
        "cxl-b",
        changed("Embedding update", predecessors=("Top MLP",)),
        "Embedding update on pmem persists 'embedding update' before 'commit' is durable; make it wait for that step.",
    ),
    "a device that the system does not have": (
        "cxl-b",
        changed("Commit", demands=(Demand("ssd", Stream(1.0)),)),
        "Commit runs on 'ssd', which is not among the system's devices; add it to them.",
    ),
    "a task that waits for nothing": (
        "dram",
        more(Task("Count beads", "Other", (Demand("dram", Stream(1.0)),))),
        "Count beads has no predecessor, so all batches would start it at once; "
        "give it predecessors or previous_batch_predecessors.",
    ),
    "a task that waits for one that is not there": (
        "cxl-b",
        changed("Commit", predecessors=("Embedding log", "MLP log", "Beads")),
        "Commit waits for 'Beads', which is not a task of the batch.",
    ),
    "a negative amount": (
        "dram",
        more(Task("Count beads", "Other", (Demand("dram", Stream(-1.0)),), ("Top MLP",))),
        "Count beads: nbytes on dram is negative or not finite.",
    ),
    "a circle": (
        "dram",
        changed("Top MLP", predecessors=("Embedding update",)),
        "tasks wait for each other in a circle: ",
    ),
    "two tasks of one name": (
        "dram",
        changed("Bottom MLP backward", name="Top MLP"),
        "two tasks share a name",
    ),
}


@each("mistake", REFUSALS)
def test_a_wrong_system_is_refused_by_a_sentence_that_says_what_to_do(mistake):
    system, change, sentence = REFUSALS[mistake]
    with pytest.raises(ValueError) as refused:
        planned(system, change)
    assert str(refused.value).startswith(sentence) or str(refused.value).endswith(sentence)


def test_the_points_of_a_sweep_refuse_a_wrong_system_as_a_run_does():
    own, asked = wrong("cxl-b", changed("Embedding update", persists="")), scenario("tiny", "cxl-b")
    with pytest.raises(ValueError, match="mark Embedding update on pmem"):
        evaluate.plan(replace(fit(asked), system=own), flow(asked, 4), flow(asked, 4))


@pytest.mark.parametrize("log", ["undo", "redo"])
def test_a_plan_is_held_against_the_log_in_force_where_a_system_can_have_two(log):
    asked = with_values(scenario("tiny", "cxl-d"), {"policy.log": log})
    m, amounts = ready(asked), flow(asked, 4)
    graph = m.system.graph(m.settled, amounts)
    check_graph(graph, frozenset(m.devices), log)
    with pytest.raises(ValueError, match="never does"):
        check_graph(graph, frozenset(m.devices), "redo" if log == "undo" else "undo")


RECOVERY = RecoveryWork(5.0, 64, 300.0, 1000.0, 700.0)


@each("name", variant_names("systems"))
def test_a_system_with_a_log_or_tables_behind_cxl_restores_and_any_other_starts_again(name):
    system = load_variant("systems", name)
    asked = scenario("tiny", name)
    graph = recover(fit(asked), RECOVERY)
    if name in (*LOGGING, "dram"):
        assert [task.name for task in graph.tasks] == ["Read log", "Put rows back", "Verify tables", "Load MLP"]
        assert {task.server[0] for task in graph.tasks} == {system.memory}
        link = graph.tasks[-1].demands[1].device
        assert link == ("cxl" if "cxl" in system.devices else "pcie")
    else:
        assert [task.name for task in graph.tasks] == ["Load MLP"]
        assert [demand.device for demand in graph.tasks[0].demands] == ["dram" if name == "cpu-only" else "pcie"]


def test_a_system_that_has_no_link_to_load_its_mlps_over_is_told_to_say_how_it_recovers():
    own = System("Bead frame", "Counts beads.", ("host", "abacus"), "dram", lambda settled, t: (), LogPolicy("", 0, False))
    with pytest.raises(ValueError, match="Load MLP runs on 'pcie', which is not among the system's devices"):
        recover(replace(fit(scenario("tiny", "dram")), system=own), RECOVERY)
