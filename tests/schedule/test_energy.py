"""Do the books balance: energy, time and batches, with faults and without?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.uncertainty import tornado, uncertain_constants
from engine.core.work import Copy, HomeWrites, Move, RowUpdates, Stream
from engine.estimate import estimate
from engine.hardware.device import joules, seconds
from engine.results.report import run_report
from engine.run.run import follow_run
from engine.run.shared_training import untrained_resolve
from engine.scenario.scenario import with_values
from engine.schedule.machine import schedule
from engine.schedule.timeline import work_done
from engine.simulate import simulate
from engine.training.loop import Scores
from tests.cases import SELECTION, each, examples
from tests.machines import LOGGING, PRESETS, SYSTEMS, every_machine, flow, ready, scenario, task_graph, uneven

BATCHES = 12
SMALL = {} if SELECTION.all else {"data.batch_size": 64}  # histories of a whole batch take seconds to count
MACHINES = dict(every_machine())
same = {"rel": 1e-9, "abs": 1e-15}


def total(rows, column):
    """Return the sum of a table's column."""
    return sum(row[column] for row in rows)


@each("answer", [estimate, simulate], few=14)
@each("system", SYSTEMS)
@each("name", PRESETS)
def test_the_tables_of_a_result_sum_to_its_energy_and_step_time(name, system, answer):
    result = answer(scenario(name, system, **{"run.batches": 8, "run.training": False, **SMALL}))
    says = result.results
    assert total(result.breakdown, "Energy [J]") == pytest.approx(says["Energy per batch [J]"], **same)
    assert 1e3 * total(result.breakdown, "Exposed [s]") == pytest.approx(says["Step time [ms]"], **same)
    assert total(result.devices, "Energy [J]") == pytest.approx(says["Energy [J]"], **same)
    assert says["Average power [W]"] * says["Elapsed [s]"] == pytest.approx(says["Energy [J]"], **same)
    for row in result.devices:
        assert row["Static energy [J]"] + row["Dynamic energy [J]"] == pytest.approx(row["Energy [J]"], **same)
        assert 0 <= row["Busy [%]"] <= (200 if row["Device"] in ("cxl", "gpu", "pmem") else 100) + 1e-6


@each("answer", [estimate, simulate], few=14)
@each("system", SYSTEMS)
@each("name", ["trainingcxl-rm1", "optane-kaggle"])
def test_at_a_plug_and_in_a_room_every_joule_costs_what_fans_supplies_and_cooling_draw_for_it(name, system, answer):
    """By hand: supplies at the load of CPUs and GPU in full work, between their published points."""
    prototype = name.startswith("trainingcxl")
    watts, rating = (169 + 250, 750) if prototype else (625 + 400, 3200)
    low, high = (0.9, 0.87) if prototype else (0.94, 0.96)  # between half and full load, or a fifth and half
    bottom, top = (0.5, 1.0) if prototype else (0.2, 0.5)
    supplies = low + (high - low) * (watts / rating - bottom) / (top - bottom)
    for level, cooling, drawn in (
        ("node", "air", 1 / (1 - (0.0 if prototype else 0.1)) / supplies),
        ("node", "liquid", 1 / supplies),
        ("room", "air", 1.3 / (1 - (0.0 if prototype else 0.1)) / supplies),
    ):
        knobs = {"run.batches": 8, "run.training": False, "machine.cooling": cooling}
        inside, meter = (answer(scenario(name, system, **knobs, **{"machine.energy_level": at})) for at in ("device", level))
        for at_meter, at_device in ((meter.breakdown, inside.breakdown), (meter.devices, inside.devices)):
            assert total(at_meter, "Energy [J]") == pytest.approx(drawn * total(at_device, "Energy [J]"), **same)
        for key in ("Energy [J]", "Energy per batch [J]", "Average power [W]"):
            assert meter.results[key] == pytest.approx(drawn * inside.results[key], **same)
        assert meter.results["Energy [J]"] == pytest.approx(total(meter.devices, "Energy [J]"), **same)
        for key in ("Step time [ms]", "Capital cost [USD]", "Static energy share [%]"):
            assert meter.results[key] == pytest.approx(inside.results[key], **same)


def test_the_energy_level_is_named_in_every_result_and_its_constants_are_doubted_there_alone():
    inside, wall = (scenario("optane-kaggle", "cxl", **{"machine.energy_level": level}) for level in ("device", "room"))
    assert [estimate(asked).as_json()["energy_level"] for asked in (inside, wall)] == ["device", "room"]
    assert {"wall.pue"} <= {swing.name for swing in tornado(wall, "Energy per batch [J]")}
    assert not [name for name in uncertain_constants(inside) if name.startswith("wall.")]
    cooler = estimate(with_values(wall, {"machine.assume": (("wall.pue", 1.1),)})).results["Energy [J]"]
    assert cooler == pytest.approx(1.1 / 1.3 * estimate(wall).results["Energy [J]"], **same)


FULL = {
    "host": 625,
    "chassis": 60 + 2 * 20 + 10,  # two sockets: board, network cards, boot drives
    "gpu": 400,
    "pmem": 6 * (5.2 + 6.6 * 1.45),  # an interleave set
    "near-data": 75,
    "ssd": 18,
    "pcie": 2 * 26 * 0.12,
    "gpu-port": 0,
    "cxl": 10 + 30 + 2 * 50 * 0.12,
    "dram": 16 * (5 + 25.6 * 0.8 * 0.16),  # a DIMM a channel
    "expander-dram": 6 * 16 * 2**30 / 1e9 * 0.06 + 6 * 25.6 * 0.8 * 0.16,  # six channels of the smallest DIMM
}


@each("answer", [estimate, simulate])
@each("system", SYSTEMS)
def test_at_constant_power_a_run_costs_the_full_watts_of_each_device_for_its_whole_time(system, answer):
    knobs = {"run.batches": 8, "run.training": False, "machine.cxl_bandwidth_GBps": 50.0}
    always = answer(scenario("optane-kaggle", system, **knobs, **{"machine.constant_power": True}))
    usual = answer(scenario("optane-kaggle", system, **knobs))
    assert always.results["Step time [ms]"] == usual.results["Step time [ms]"]
    for row in always.devices:
        assert row["Energy [J]"] == pytest.approx(FULL[row["Device"]] * always.results["Elapsed [s]"], **same), row["Device"]
    assert total(always.breakdown, "Energy [J]") == pytest.approx(always.results["Energy per batch [J]"], **same)
    assert always.results["Energy [J]"] > usual.results["Energy [J]"]


@each("name", PRESETS)
def test_dram_draws_static_power_of_its_own_but_that_of_the_prototypes_host_whose_watts_include_its_memory(name):
    def static(system):
        rows = estimate(scenario(name, system, **{"machine.all_powered": True})).devices
        return {row["Device"]: row["Static energy [J]"] for row in rows}

    inside, behind = static("ssd"), static("dram")
    for dram in (inside["dram"], behind["dram"]):
        assert (dram == 0) == name.startswith("trainingcxl")
    assert min(inside["expander-dram"], behind["expander-dram"]) > 0
    assert min(inside["host"], behind["host"]) > 0


def test_a_drives_home_writes_cost_its_power_for_their_time_once_as_all_its_work_does():
    asked = scenario("optane-kaggle", "ssd")
    machine, amounts = ready(asked), flow(asked, BATCHES)
    drive, line = machine.devices["ssd"], schedule(machine, amounts)
    works = [demand.work for task in task_graph(machine, amounts).tasks for demand in task.demands if demand.device == "ssd"]
    (home,) = [work for work in works if isinstance(work, HomeWrites)]
    assert joules(drive, home) == 0 and seconds(drive, home)[0] == pytest.approx(amounts.rows[0] / 1.5e6, **same)
    busy = sum(float(np.ravel(seconds(drive, work))[0]) for work in works)
    assert line.steady.busy["ssd"] == pytest.approx(busy, **same)
    assert line.steady.dynamic["ssd"] == pytest.approx((18 - 4) * busy, **same)


def price(machine, amounts):
    """Return joules beyond static power, (batches, tasks): amounts, and the swing of a device while it works."""
    tasks = task_graph(machine, amounts).tasks
    found = np.zeros((amounts.batches, len(tasks)))
    for k, task in enumerate(tasks):
        for demand in task.demands:
            device = machine.devices[demand.device]
            swing = 0.0 if demand.excluded_from_busy else device.busy_watts
            found[:, k] += joules(device, demand.work) + swing * seconds(device, demand.work)
    return found


@each("name", MACHINES, few=60)
def test_a_run_costs_the_joules_of_its_work_and_the_watts_of_its_devices(name):
    machine, amounts = ready(MACHINES[name]), uneven(flow(MACHINES[name], BATCHES))
    line, prices = schedule(machine, amounts), price(machine, amounts)
    each = np.where(np.isnan(line.end), 0.0, prices)
    spent = work_done(line, line.makespan).joules.sum()
    under_way = np.nansum(prices[np.isnan(line.end) & ~np.isnan(line.start)])
    assert each.sum() * (1 - 1e-9) <= spent <= (each.sum() + under_way) * (1 + 1e-9)
    average = line.steady
    watts = sum(device.idle_watts for device in machine.devices.values())
    assert sum(average.static.values()) == pytest.approx(watts * average.step, **same)
    assert under_way or sum(average.dynamic.values()) == pytest.approx(each[2:].sum() / (BATCHES - 2), **same)


@each("system", SYSTEMS)
def test_energy_spent_grows_with_time_from_nothing_to_all_of_it(system):
    machine = ready(scenario("trainingcxl-rm1", system))
    line = schedule(machine, flow(scenario("trainingcxl-rm1", system), BATCHES))
    instants = np.linspace(0, line.makespan, 40)
    spent = [work_done(line, at).joules.sum() for at in instants]
    assert spent[0] == 0
    assert (np.diff(spent) >= 0).all()
    assert spent[20] / spent[-1] == pytest.approx(0.5, abs=0.1)


@each("answer", [estimate, simulate])
@each(("writers", "share"), [(1, 1), (4, 1), (8, 0.78), (12, 0.56), (24, 0.56)])
def test_the_media_stores_whole_lines_for_rows_in_place_and_more_where_writers_crowd(answer, writers, share):
    knobs = {"run.batches": 8, "run.training": False, "machine.pmem_writers_per_module": writers}
    asked = scenario("optane-rm4", "cxl-d", **knobs)
    says = answer(asked).results
    flags, mlp = 8 * 4, 8 * flow(asked, 1).mlp_bytes
    rows = (says["PMEM written [GB]"] * 1e9 - mlp - 64 * flags) / (64 + 72)
    assert says["PMEM media written [GB]"] * 1e9 == pytest.approx((rows * (256 + 72) + mlp) / share + 256 * flags, rel=1e-9)


def struck(system, instants, **knobs):
    """Return a run and its accounts, with power losses at these shares of its fault-free time."""
    plain = scenario("trainingcxl-rm4", system, **knobs)
    amounts = flow(plain, 20)
    span = schedule(ready(plain), amounts).makespan
    at = tuple(sorted(span * x for x in instants))
    faults = {"faults.power_loss_at_seconds": at, "faults.detect_seconds": 0.02, "faults.restart_seconds": 0.03}
    machine = ready(scenario("trainingcxl-rm4", system, **knobs, **faults))

    done, _ = follow_run(machine, amounts, None, untrained_resolve(machine))
    return done, run_report(done, amounts, Scores())


@examples(30)
@given(system=st.sampled_from(SYSTEMS), instants=st.lists(st.floats(0, 3), max_size=4))
def test_elapsed_time_is_training_and_downtime_and_energy_is_static_and_dynamic(system, instants):
    done, accounts = struck(system, instants)
    assert done.completed, done.outcome
    trained = sum(segment.length_seconds for segment in done.segments)
    down = sum(crash.outage.resume_seconds - crash.outage.stop_seconds for crash in done.crashes)
    assert done.elapsed == pytest.approx(trained + down, **same)
    assert accounts.joules == pytest.approx(sum(accounts.static.values()) + sum(accounts.dynamic.values()), **same)
    watts = sum(device.idle_watts for device in done.machine.devices.values())
    assert sum(accounts.static.values()) == pytest.approx(watts * done.elapsed, **same)
    for before, crash, after in zip(done.segments, done.crashes, done.segments[1:], strict=False):
        assert before.begin_seconds + before.length_seconds == pytest.approx(crash.outage.stop_seconds, **same)
        assert (after.begin_seconds, after.first_batch) == (crash.outage.resume_seconds, crash.resumption.embedding_batch)
        assert crash.outage.resume_seconds - crash.outage.stop_seconds >= 0.05 + crash.outage.restore_seconds - 1e-9


def _begins(line):
    """Return when each batch first asks for more than a transfer, (N,); what takes no time is no beginning."""
    work = [k for k, task in enumerate(line.graph.tasks) if task.stage != "Transfer"]
    starts = np.where(line.durations[:, work] > 0, line.start[:, work], np.inf)
    return np.nanmin(starts, axis=1)


@examples(30)
@given(system=st.sampled_from(SYSTEMS), instants=st.lists(st.floats(0, 3), max_size=4))
def test_every_batch_begun_is_committed_once_or_lost(system, instants):
    done, _ = struck(system, instants)
    begun = sum(np.sum(_begins(s.timeline) < s.length_seconds) if s.cut else len(s.timeline.start) for s in done.segments)
    assert begun == 20 + sum(crash.batches_lost for crash in done.crashes)


@each("system", LOGGING)
def test_a_recovery_reads_the_row_log_puts_rows_back_and_loads_the_mlp(system):
    done, _ = struck(system, [0.5])
    crash, devices, amounts = done.crashes[0], done.machine.devices, flow(scenario("trainingcxl-rm4", system), 20)
    memory, rows, row, mlp = devices["ssd" if system == "ssd" else "pmem"], amounts.rows[0], amounts.row_bytes, amounts.mlp_bytes
    over_link = seconds(devices["pcie"], Copy(mlp, handoffs=1)) if "pcie" in devices else seconds(devices["cxl"], Move(mlp))
    read, back = seconds(memory, Stream(rows * (row + 8), write=False)), seconds(memory, RowUpdates(rows, row))
    load = max(seconds(memory, Stream(mlp, write=False)), over_link)
    assert crash.outage.restore_seconds == pytest.approx(float(read + back + load), **same)
    assert crash.outage.resume_seconds - crash.outage.stop_seconds == pytest.approx(
        0.02 + 0.03 + crash.outage.restore_seconds, **same
    )
