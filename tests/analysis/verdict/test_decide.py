"""Is the verdict the best machine that can be built, told by the numbers of its own link?"""

import json
from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import pytest

from engine.__main__ import main
from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.decide import SystemSearch, Verdict, decide, verdicts
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.asked import link_of, read_question
from engine.analysis.verdict.report.content import verdict_content
from engine.analysis.verdict.report.sentences import headline, notes, reason_sentence, row_title
from engine.analysis.verdict.requirement import Requirement, read_requirement
from engine.analysis.verdict.search import search
from engine.analysis.verdict.space import CACHE_SHARE, COPIES, GPU, GPUS, GPUS_PER_NODE, free_base
from engine.analysis.verdict.stacks import SoftwareChoice
from engine.campaign.expectation import expectation
from engine.campaign.fault_stream import hazards_of
from engine.errors import BadInput
from engine.estimate import estimate
from engine.insight.quantities import POWER, number
from engine.insight.running_costs import running_costs
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import settle
from engine.sweep import links
from engine.sweep.questions import LinkQuestions
from engine.systems.buildable import does_not_fit
from engine.systems.kernels.densest import densest_in_hbm
from tests.cases import each

FEW = "gpu=h100-pcie,host=amx-2023"  # parts with little to search


def model(tables: int = 20, rows: int = 1_000_000, pooling: int = 4) -> Scenario:
    """Return a model of equal tables on the default machine."""
    knobs = {"model.num_tables": tables, "model.num_embeddings": (rows,), "model.pooling": (pooling,), "data.batch_size": 1024}
    return with_values(preset("dlrm-kaggle").scenario, knobs)


def question(scenario: Scenario, *require: str, parts: str = FEW, lose: str = "", software: str = "lean") -> VerdictQuestion:
    """Return a question about a scenario, by default for one loop that drives every system."""
    return VerdictQuestion(scenario, read_requirement(require, lose), "cost", AllowedParts(parts), SoftwareChoice(software))


SOME = ("all-hbm", "torchrec-uvm", "cxl", "cpu-only", "hotline")


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return decide(question(model()), SOME)


def test_each_row_has_the_numbers_that_its_link_gives(verdict: Verdict) -> None:
    rows = verdict_content(verdict, "dlrm-kaggle")["rows"]
    assert len(rows) == len(verdict.space)
    for row, told in zip(verdict.rows, rows, strict=True):
        if row.scenario is None:
            assert told["link"] is None and told["reason"] and not told["feasible"]
            continue
        opened = links.open_link(told["link"]).scenario
        result = estimate(opened)
        assert (told["step_ms"], told["throughput"]) == (
            result.results["Step time [ms]"],
            result.results["Throughput [samples/s]"],
        )
        assert told["meter_watts"] == number(POWER, result) and told["watts"] == result.results["Average power [W]"]
        assert told["capital_usd"] == pytest.approx(result.results["Capital cost [USD]"], rel=1e-12)
        costs = running_costs(result)
        assert costs and told["usd_per_billion_useful_samples"] == pytest.approx(costs.per_billion_samples, rel=1e-9)
        assert sum(told["split"].values()) == pytest.approx(costs.per_billion_samples, rel=1e-9)


def test_every_row_that_runs_can_be_built_of_parts_that_may_be_used(verdict: Verdict) -> None:
    for row in verdict.rows:
        if row.scenario is not None:
            assert does_not_fit(settle(row.scenario)) == ()
            assert row.scenario.machine.host == "amx-2023"
            assert sum(verdict_content(verdict, "tiny")["rows"][0]["machine"].values()) > 0


def test_the_verdict_is_the_cheapest_row_or_within_two_percent_of_it(verdict: Verdict) -> None:
    best = verdict.best_row
    assert best is not None and best.objective_value <= 1.02 * min(row.objective_value for row in verdict.rows if row.meets)
    assert verdict.families[0] is best and len({row.family for row in verdict.families}) == len(verdict.families)
    assert headline(verdict).startswith("Keep the tables") and reason_sentence(verdict) and list(notes(verdict))


def test_the_first_verdict_is_of_a_quick_search_of_all_systems() -> None:
    first = next(verdicts(question(model()), SOME))
    assert first.num_searched == 0 and not first.is_complete and first.best_row is not None


@pytest.mark.parametrize("system", ["all-hbm", "torchrec-uvm", "cxl"])
def test_no_searched_setting_has_a_value_that_beats_it(verdict: Verdict, system: str) -> None:
    row = next(row for row in verdict.rows if row.system == system)
    assert row.scenario is not None and row.result is not None
    own, tried = running_costs(row.result), 0
    for knob, stops in verdict.space[row.stack].items():
        for stop in stops:
            other = with_values(row.scenario, {knob: stop})
            result = estimate(other)
            if result.ran and not does_not_fit(settle(other)):
                tried += 1
                costs = running_costs(result)
                assert (
                    costs
                    and own
                    and costs.per_billion_samples
                    and own.per_billion_samples
                    and costs.per_billion_samples >= own.per_billion_samples * (1 - 1e-9)
                ), (knob, stop)
    assert tried > 10


def test_under_faults_each_row_has_the_share_and_price_of_its_campaign() -> None:
    """Power losses and crashes: the closed form of the offered link's campaign is the row's, to 1e-9."""
    rates = {"faults.power_loss_mtbf_hours": 100.0, "faults.gpu_crash_mtbf_hours": 300.0}
    found = decide(question(with_values(model(), rates)), ("all-hbm", "cxl", "cpu-only"))
    rows = [row for row in verdict_content(found, "dlrm-kaggle")["rows"] if row["link"]]
    assert len({row["protection"] for row in rows}) > 1 and all(row["lost_on_failure"]["worst_fault"] for row in rows)
    for row in rows:
        opened = links.open_link(row["link"]).scenario
        hazards = hazards_of(opened)
        told = expectation(opened, row["protection"], hazards, opened.faults.campaign_days)
        assert row["useful_share"] == pytest.approx(told.useful_share, rel=1e-9)
        assert row["lost_on_failure"] == {
            "batches": told.lost_batches,
            "minutes": pytest.approx(told.minutes),
            "worst_fault": told.worst_fault,
        }
        plain = estimate(opened).results["Capital cost [USD]"]
        assert row["capital_usd"] == pytest.approx((plain or 0.0) + (told.price or 0.0), rel=1e-12)


@pytest.mark.slow
def test_where_nothing_may_be_lost_to_a_power_loss_a_persistent_medium_wins() -> None:
    scenario = with_values(model(), {"faults.power_loss_mtbf_hours": 24.0})
    strict, free = (decide(question(scenario, lose=lose), SOME).best_row for lose in ("nothing", ""))
    assert strict and strict.family in ("Persistent memory", "Drives") and strict.protection.lost_batches == 0
    assert free and free.objective_value <= strict.objective_value


def test_as_fast_as_a_system_asks_for_its_pace_on_the_scenario_s_own_parts() -> None:
    """The machine named may be one that nobody sells: it is a yardstick, with the faster of near-data compute on and off."""
    own = with_values(model(), {"machine.gpu": "v100", "machine.pmem": "optane-100"})
    asked = SystemSearch(question(own, "as=dram"), ("dram", "all-hbm"))
    lean = {"machine.framework": "lean"}
    tried = [
        estimate(
            with_values(asked.question.base, {**lean, "system": "dram", "policy.row_dedup": dedup, "policy.sharding": sharding})
        )
        for dedup in ("memory", "off", "gpu")
        for sharding in (None, "row-wise", "planner")
    ]
    fastest = max(result.results["Throughput [samples/s]"] or 0.0 for result in tried)
    assert asked.aim.throughput >= fastest * (1 - 1e-9)
    best = decide(asked.question, ("all-hbm",)).best_row
    assert best is None or (
        best.result and (best.result.results["Throughput [samples/s]"] or 0.0) >= asked.aim.throughput * 0.999
    )


def test_copies_of_rows_are_chosen_for_each_machine_whatever_the_scenario_says() -> None:
    asked = with_values(preset("torchrec-terabyte").scenario, {COPIES: 0.0, GPUS: 16, "system": "all-hbm"})
    searched = with_values(free_base(asked), {GPUS: 16, "machine.network_bandwidth_GBps": 2.0})
    assert settle(searched).placement.replicas.rows > 0


def test_search_finds_the_least_of_a_space_with_a_ladder_that_is_not_monotone() -> None:
    stops = {GPU: ("a", "b"), GPUS: (8, 1, 2, 4, 16), GPUS_PER_NODE: (8, 1, 2), CACHE_SHARE: (0.1, 0.2, 0.4, 0.7)}
    dip = {8: 5.0, 1: 9.0, 2: 3.0, 4: 6.0, 16: 1.0}

    def rank(setting: Sequence[tuple[str, object]]) -> tuple[float, ...]:
        one = dict(setting)
        return (
            0.0,
            dip[int(str(one[GPUS]))] + (one[GPU] == "a") + abs(float(str(one[CACHE_SHARE])) - 0.4) + (one[GPUS_PER_NODE] != 2),
        )

    every = [tuple(zip(stops, values, strict=True)) for values in product(*stops.values())]
    assert search(stops, lambda settings: list(map(rank, settings))) == min(every, key=rank)


def test_a_requirement_beyond_all_machines_is_named_with_the_nearest(tmp_path, capsys, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("engine.commands.decide.verdicts", partial(verdicts, systems=("all-hbm", "cxl")))
    words = ["decide", "--preset", "tiny", "--parts", FEW, "--require", "throughput=1e12", "--json", str(tmp_path / "out.json")]
    assert main(words) == 3
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["verdict"] is None and "at least 1.00 trillion samples/s" in found["sentence"] and "%" in found["sentence"]
    assert all(not row["feasible"] and row["reason"] for row in found["rows"])
    assert "No machine" in capsys.readouterr().out


def test_a_question_comes_back_from_its_link() -> None:
    asked = LinkQuestions(
        require=("throughput=1e6", "budget=50000"),
        lose="batches=10",
        objective="capital",
        parts=FEW,
        prices="2024",
        software="hugectr",
        precision="bf16",
    )
    one = read_question(model(), asked)
    opened = links.open_link(link_of(one, "dlrm-kaggle"))
    assert read_question(opened.scenario, opened.questions) == one and one.base.machine.prices == "2024"
    assert one.requirement == Requirement(throughput=1e6, budget=50000.0, lost_batches=10.0)


@each(
    ("require", "lose", "parts"),
    [
        (["speed=1"], "", ""),
        (["throughput=fast"], "", ""),
        (["throughput=-1"], "", ""),
        (["as=nothing"], "", ""),
        (["days=7"], "", ""),
        (["budget=1", "budget=2"], "", ""),
        ([], "little", ""),
        ([], "batches=nan", ""),
        ([], "", "h1000"),
        ([], "", "gpu=amx-2023"),
        ([], "", "trainingcxl"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(require: list[str], lose: str, parts: str) -> None:
    with pytest.raises(BadInput, match=r"=.*[.?]$"):
        read_question(model(), LinkQuestions(require=tuple(require), lose=lose, parts=parts))


def test_named_parts_leave_their_kind_no_other_unless_a_state_is_written_too() -> None:
    assert AllowedParts("v100").parts_of_knob("gpu") == ("v100",)
    assert AllowedParts("v100").parts_of_knob("host") == AllowedParts().parts_of_knob("host")
    assert {"v100", "h100-sxm"} <= {*AllowedParts("on-sale,v100").parts_of_knob("gpu")}
    assert AllowedParts("all,gpu=h200").parts_of_knob("gpu") == ("h200",)
    assert "fpga" not in AllowedParts("all").parts_of_knob("near_data_logic") and AllowedParts("fpga").parts_of_knob(
        "near_data_logic"
    ) == ("fpga",)
    assert set(AllowedParts().parts_of_knob("pmem")) < set(AllowedParts("all").parts_of_knob("pmem"))


def test_tables_have_the_kernels_that_pay() -> None:
    """The densest tables lie in HBM, the largest is looked up by the host: cheaper than all tables there, and said so."""
    rows = (400_000_000, *(1_000_000,) * 7)
    knobs = {"model.num_tables": 8, "model.num_embeddings": rows, "model.pooling": (2, *(10,) * 7), "data.batch_size": 8192}
    asked = question(with_values(preset("dlrm-kaggle").scenario, knobs))
    searched = decide(asked, ("cpu-gpu",))
    (row,) = searched.rows
    assert row.scenario and row.result and row.scenario.policy.kernel == ("host", *("hbm",) * 7)
    assert row_title(row) == "CPU-GPU (kernels hbm 7, host 1)" and row_title(row) in headline(searched)
    assert links.open_link(links.link(row.scenario, "dlrm-kaggle")).scenario.policy.kernel == row.scenario.policy.kernel
    alone = estimate(with_values(row.scenario, {"policy.kernel": "auto"}))
    assert alone.results["Step time [ms]"] > 1.2 * row.result.results["Step time [ms]"]


def test_the_densest_tables_come_first_and_fill_no_more_than_their_share() -> None:
    knobs = {"model.num_tables": 6, "model.num_embeddings": (10, 2000, 300, 40, 5000, 60), "model.pooling": (1, 9, 9, 9, 1, 1)}
    s = with_values(preset("dlrm-kaggle").scenario, knobs)
    density, nbytes = np.array([1, 9, 9, 9, 1, 1]) / (10, 2000, 300, 40, 5000, 60), np.array((10, 2000, 300, 40, 5000, 60))
    found = densest_in_hbm(s, "uvm-cache")
    assert len(set(found)) == len(found) == 2
    for kernels in found:
        held = np.array([kernel == "hbm" for kernel in kernels])
        assert set(kernels) == {"hbm", "uvm-cache"} and density[held].min() >= density[~held].max()
        assert nbytes[held].sum() <= 0.9 * nbytes.sum()
    assert not densest_in_hbm(model(tables=1), "host")
