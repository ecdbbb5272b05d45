"""Watts: are they what counters say, also where these begin anew, and is it said where nobody may read them?"""

import pytest

from engine.core import catalog
from engine.measure import power
from engine.measure.power import UNREADABLE, measure_power
from tests.cases import each

LIMIT = 1_000_000_000


class Processors:
    """Two processors whose counters a clock advances: idle while they sleep, active while a load runs."""

    def __init__(self, folder, begin):
        self.folder, self.time = folder, 0.0
        self.energy = dict.fromkeys(("intel-rapl:0", "intel-rapl:1"), begin)
        zones = {"intel-rapl:0": "package-0", "intel-rapl:1": "package-1", "intel-rapl:2": "psys", "intel-rapl:0:0": "dram"}
        for zone, name in zones.items():
            (folder / zone).mkdir(parents=True, exist_ok=True)
            (folder / zone / "name").write_text(f"{name}\n", encoding="ascii")
            (folder / zone / "max_energy_range_uj").write_text(f"{LIMIT}\n", encoding="ascii")
            (folder / zone / "energy_uj").write_text(f"{begin}\n", encoding="ascii")

    def spend(self, seconds, watts):
        self.time += seconds
        for zone in self.energy:
            self.energy[zone] = (self.energy[zone] + round(seconds * watts * 1e6)) % LIMIT
            (self.folder / zone / "energy_uj").write_text(f"{self.energy[zone]}\n", encoding="ascii")


@pytest.fixture
def processors(tmp_path, monkeypatch):
    def build(begin=0, idle=40.0):
        cpus = Processors(tmp_path / "powercap", begin)
        monkeypatch.setattr(power, "COUNTERS", cpus.folder)
        monkeypatch.setattr(power, "sleep", lambda seconds: cpus.spend(seconds, idle))
        monkeypatch.setattr(power, "perf_counter", lambda: cpus.time)
        return cpus

    return build


@each("quick", [False, True])
@each("begin", [0, LIMIT - 30_000_000, LIMIT - 1])
def test_watts_are_those_of_all_processors_also_where_counters_begin_anew(processors, begin, quick):
    cpus = processors(begin)
    found = measure_power(lambda: cpus.spend(0.125, 150.0), quick)
    assert not found.notes and list(found.figures) == ["idle-power", "active-power"]
    assert found.figures["idle-power"].value == pytest.approx(80) and found.figures["active-power"].value == pytest.approx(300)
    assert found.figures["idle-power"].low == pytest.approx(78.4) and found.figures["active-power"].high == pytest.approx(306)
    assert "background work" in found.figures["idle-power"].note
    assert cpus.time == pytest.approx(0.125 + (1.0 if quick else 5.0), rel=0.11)


def test_active_watts_are_never_below_idle_ones(processors):
    cpus = processors(idle=100.0)
    found = measure_power(lambda: cpus.spend(0.1, 50.0))
    assert found.figures["active-power"].value == found.figures["idle-power"].value == pytest.approx(200)
    assert found.figures["active-power"].low <= found.figures["active-power"].value


def test_watts_are_the_host_parts(processors, measured):
    cpus = processors()
    found = measure_power(lambda: cpus.spend(0.1, 150.0))
    measured(host_more=found.figures)
    host = catalog.part_content("host", "measured")
    assert (host["idle-power"]["value"], host["active-power"]["value"]) == (80, 300)
    assert host["idle-power"]["confidence"] == "measured" and catalog.part_content("host", "server")["idle-power"]["value"] == 250


def unreadable(folder):
    (folder / "energy_uj").unlink()
    (folder / "energy_uj").mkdir()  # whoever reads it, root too, is refused


def empty(folder):
    (folder / "energy_uj").write_text("", encoding="ascii")


@each(("zone", "broken"), [("intel-rapl:0", empty), ("intel-rapl:1", unreadable)])
def test_counters_that_cannot_be_read_are_said(processors, zone, broken):
    cpus = processors()
    broken(cpus.folder / zone)
    assert measure_power(lambda: pytest.fail("it was loaded")) == ({}, (UNREADABLE,))


def test_a_machine_without_counters_or_with_ones_that_stand_still_says_so(processors, tmp_path, monkeypatch):
    cpus = processors(idle=0.0)
    assert measure_power(lambda: cpus.spend(0.1, 0.0)) == ({}, (UNREADABLE,))
    watts = iter((40.0, 0.0) + (40.0,) * power.SLICES)
    monkeypatch.setattr(power, "sleep", lambda seconds: cpus.spend(seconds, next(watts)))
    assert measure_power(lambda: cpus.spend(0.1, 50.0)) == ({}, (UNREADABLE,)), "they stood still for one slice"
    monkeypatch.setattr(power, "COUNTERS", tmp_path / "none")
    assert measure_power(lambda: pytest.fail("it was loaded")) == ({}, (UNREADABLE,))
    assert UNREADABLE.startswith("Power is not measured: ")
