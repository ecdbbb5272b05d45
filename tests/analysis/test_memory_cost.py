"""What an amount of money for GPUs and DRAM is best spent on: are prices by hand, caches full, and the fastest way named?"""

import json

import pytest

from engine.__main__ import main
from engine.analysis.enough import memory_cost
from engine.analysis.enough.memory_cost import COUNTS, MEMORY_WAYS, fastest_by_way
from engine.analysis.verdict.space import free_base
from engine.errors import BadKnob, CannotRun
from engine.estimate import estimate
from engine.hardware.devices.gpu import ACCELERATORS, memory_bytes
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.sweep import links
from engine.units import GB, GiB
from tests.cases import each

S = with_values(preset("a100-terabyte").scenario, {"run.training": False, "machine.prices": "recorded"})
CARDS = with_values(S, {"machine.gpu": "h100-pcie"})  # which are bought singly


@each(("base", "most"), [(CARDS, 35_000.0), (CARDS, 90_000.0), (S, 60_000.0), (S, 200_000.0)], few=1)
def test_each_way_is_the_fastest_that_the_amount_buys(base, most):
    found = fastest_by_way(base, most)
    assert [one.step for one in found] == sorted(one.step for one in found)
    assert all(one.price <= most for one in found) and len({one.way for one in found}) == len(found)
    for one in found:
        s = one.result.scenario
        assert estimate(s).results["Step time [ms]"] == pytest.approx(one.step * 1e3)
        boards = 1 if base is CARDS else 4
        assert one.gpus % boards == 0
        more = [count for count in COUNTS if count > one.gpus and count % boards == 0]
        if more:  # the next count costs too much, or is no faster
            larger = memory_cost._fill_cache(with_values(free_base(base), {**MEMORY_WAYS[one.way], "machine.num_gpus": more[0]}))
            assert memory_cost._price(larger)[0] > most or estimate(larger).results["Step time [ms]"] >= one.step * 1e3


def test_the_price_is_that_of_gpus_and_dram_alone():
    (one, *_) = fastest_by_way(CARDS, 35_000.0)
    gpu = ACCELERATORS["h100-pcie"].price.value
    capital = estimate(one.result.scenario).results["Capital cost [USD]"]
    per_GB = (one.price - one.gpus * gpu) / (one.dram_GiB * GiB / GB)
    assert one.gpus * gpu < one.price < capital and 2 < per_GB < 20


def test_caches_fill_the_hbm_that_is_left():
    for one in fastest_by_way(S, 60_000.0):
        if one.hit_rate is None or one.hit_rate > 0.9999:
            continue
        s = one.result.scenario
        assert not settle(s).problems
        larger = with_values(s, {"policy.cache_load_factor": s.policy.cache_load_factor + 0.002})
        assert settle(larger).problems, f"{one.way} leaves room in {memory_bytes(s.machine) / GB:g} GB"


def test_too_little_money_and_parts_without_a_price_are_said():
    with pytest.raises(
        CannotRun, match=r"is possible with 500 USD of 2022 to 2023 of GPUs and host DRAM. 27,.00 USD .* are the least"
    ):
        fastest_by_way(CARDS, 500.0)
    with pytest.raises(CannotRun, match=r"59,.00 USD .* are the least that one takes"):  # four A100, as on the smallest board
        fastest_by_way(S, 59_000.0)
    with pytest.raises(CannotRun, match=r"What it buys does not hold them: machine.num_gpus=1 of h100-pcie holds"):
        fastest_by_way(CARDS, 28_000.0)
    with pytest.raises(BadKnob, match=r"copa-a100 .* no published price"):
        fastest_by_way(with_values(S, {"machine.gpu": "copa-a100"}), 1e6)


def test_the_command_says_and_writes_the_same(tmp_path, capsys):
    asked = ["enough", "--preset", "a100-terabyte", "--memory-cost"]
    assert main([*asked, "60000", "--json", str(tmp_path / "a.json")]) == 0
    told, written = capsys.readouterr().out, json.loads((tmp_path / "a.json").read_text())
    assert written["sentences"]["ways"] == told.splitlines()[0] and "is the fastest: 4 × a100-80" in told
    assert len(written["ways"]) == len(told.splitlines()) - 1
    for way in written["ways"]:
        assert estimate(links.open_link(way["link"]).scenario).results["Step time [ms]"] == pytest.approx(way["step_ms"])
    assert main([*asked, "10"]) == 3 and "No way to hold these tables is possible with 10.0 USD" in capsys.readouterr().err


@each(
    "knobs",
    [{"policy.stashing": "state"}, {"policy.log": "redo"}, {"policy.cache_policy": "hash"}, {"machine.target_throughput": 3e6}],
)
def test_knobs_that_the_ways_bring_or_that_only_others_have_do_not_count(knobs):
    assert [one.step for one in fastest_by_way(with_values(S, knobs), 60_000.0)] == [
        one.step for one in fastest_by_way(S, 60_000.0)
    ]
