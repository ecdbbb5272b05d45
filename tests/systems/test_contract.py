"""What every system, fault and metric keeps to, a new one too: `make test-one` runs the part of one of them."""

import csv
import io
import math
from functools import cache

import numpy as np
import pytest

from engine.__main__ import main
from engine.amounts.counted import counted_traffic
from engine.estimate import estimate
from engine.registry import all_variants, load_variant, variant_names
from engine.results.csv_table import csv_text
from engine.results.metrics import all_metrics
from engine.scenario.scenario import KNOBS, with_values
from engine.schedule.machine import schedule
from engine.simulate import simulate
from tests.cases import each
from tests.faults.test_faults import learned
from tests.machines import TINY, ready, task_graph
from tests.oracles import simpy_machine
from tests.schedule.test_schedule import agree

PARTS = [
    (path, part) for path, knob in KNOBS.items() if path[:8] == "machine." and knob.kind == "choice" for part in knob.allowed
]
BATCHES = 10
QUICK = {"faults.detect_seconds": 1e-3, "faults.restart_seconds": 1e-3}


def short(system, **knobs):
    """Return a short run on preset tiny of a system that holds its log back for nobody."""
    strict = (
        {"policy.relaxed_lookup": False, "policy.mlp_staleness_bound_batches": 0}
        if load_variant("systems", system).can_relax
        else {}
    )
    fixed = {"system": system, "policy.cache_load_factor": 1.0, "run.batches": BATCHES, **QUICK, **strict}
    return with_values(TINY, {**fixed, **knobs})


@cache
def quiet(system):
    """Return a run without a fault."""
    return simulate(short(system))


@cache
def struck_once(system):
    """Return a run that loses power once."""
    return simulate(short(system, **{"faults.power_loss_at_seconds": (0.4 * quiet(system).results["Elapsed [s]"],)}))


def line(system):
    """Return the machinery and the timeline of a short run."""
    machinery = ready(short(system))
    return machinery, schedule(machinery, counted_traffic(machinery.settled))


@each("system", variant_names("systems"))
def test_every_task_of_a_system_starts_and_ends_as_in_the_independent_model(system):
    machinery, found = line(system)
    asked = task_graph(machinery, counted_traffic(machinery.settled))
    agree(found, simpy_machine.schedule(found.graph, simpy_machine.durations(asked, machinery.devices, BATCHES)))


@each("system", variant_names("systems"))
def test_every_second_and_joule_of_a_systems_run_is_booked_once_struck_or_not(system):
    for result in (quiet(system), struck_once(system)):
        assert result.ran, result.outcome
        for column, whole in (("Time [s]", "Elapsed [s]"), ("Energy [J]", "Energy [J]")):
            assert sum(row[column] for row in result.ledger) == pytest.approx(result.results[whole], rel=1e-9)
        exposed = sum(row["Exposed [s]"] for row in result.breakdown)
        assert 1e3 * exposed == pytest.approx(result.results["Step time [ms]"], rel=1e-9)
        assert sum(row["Energy [J]"] for row in result.devices) == pytest.approx(result.results["Energy [J]"], rel=1e-9)


@each("system", variant_names("systems"))
def test_where_rows_are_kept_changes_no_loss_and_a_system_without_a_log_starts_again(system):
    assert learned(struck_once(system)) == learned(quiet(system)) == learned(quiet("all-hbm"))
    again = struck_once(system).events[1]["Batch"] == 0
    assert again == (load_variant("systems", system).log_policy.log == "")
    rows = [row["Batch"] for row in struck_once(system).training]
    assert not again or rows == [*range(len(rows) - BATCHES), *range(BATCHES)], "what was lost stays in the curve"


def test_a_system_known_by_its_headline_alone_says_so_where_systems_are_listed(capsys):
    assert main(["list", "systems"]) == 0
    said = {line.split()[0] for line in capsys.readouterr().out.splitlines() if "headline only" in line}
    assert said == {"cold-in-dram", "hotline", "mtrains", "proactive", "scratchpipe"}


@each("system", variant_names("systems"), few=5)
def test_power_lost_around_the_end_of_a_batch_leaves_the_model_of_a_run_without(system):
    ends = line(system)[1].batch_ends
    for at in (0.0, *(float(end) for n in (2, 7) for end in (np.nextafter(ends[n], 0), ends[n]))):
        struck = simulate(short(system, **{"faults.power_loss_at_seconds": (at,)}))
        assert struck.ran and struck.results["Faults"] == 1, struck.outcome
        assert learned(struck) == learned(quiet(system)), at


@each("name", all_variants("faults"))
def test_a_fault_that_strikes_is_told_and_the_run_ends_in_a_sentence(name):
    span = quiet("cxl-b").results["Elapsed [s]"]
    own = f"faults.{name.replace('-', '_')}_at_seconds"  # a fault without knobs of its own strikes as the trace says
    alone = {own: (0.4 * span,)} if own in KNOBS else {"faults.trace": f"{0.4 * span} {name}"}
    beside = {"faults.gpu_crash_at_seconds": (0.4 * span,), "faults.fault_in_recovery_at_seconds": (0.001,)}
    late = {"faults.gpu_crash_at_seconds": (0.4 * span,), "faults.late_detection_share": 1.0}
    struck = simulate(short("cxl-b", **{"fault-in-recovery": beside, "late-detection": late}.get(name, alone)))
    assert struck.events and struck.events[0]["Elapsed [s]"] == pytest.approx(0.4 * span)
    assert struck.ran or struck.outcome.startswith("unrecoverable: ")
    kept = all_variants("faults")[name].kind != "fail-stop" or struck.results["Elapsed [s]"] > span
    assert kept and all(row["What"] for row in struck.events)


@each("system", variant_names("systems"), few=3)
def test_a_system_runs_on_every_part_or_says_why_not(system):
    base = with_values(TINY, {"system": system, "run.training": False})
    for path, part in PARTS:
        result = estimate(with_values(base, {path: part}))
        assert result.ran or result.outcome.endswith(".")
        assert not result.ran or result.results["Step time [ms]"] > 0


@each("metric", all_metrics())
def test_a_metric_is_finite_has_its_unit_and_comes_back_from_the_csv_file(metric):
    assert metric.help.endswith(".") and metric.name.startswith(metric.title) and f"[{metric.unit}]" in f"{metric.name}[]"
    for result in (quiet("cxl-b"), struck_once("cxl-b")):
        (row,) = csv.DictReader(io.StringIO(csv_text([result], "full")))
        value = result.results[metric.name]
        assert (row[metric.name] == "") if value is None else (float(row[metric.name]) == value and math.isfinite(value))
