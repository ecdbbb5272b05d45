"""Is each machine of a verdict paired with software that runs exactly it, at the loop and precision that this software has?"""

from random import Random

import pytest

from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.decide import SystemRow, SystemSearch, Verdict, decide
from engine.analysis.verdict.outlook.bands import verdict_bands
from engine.analysis.verdict.outlook.shortlist import leaders_by_software
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.asked import link_of, read_question
from engine.analysis.verdict.report.content import verdict_content
from engine.analysis.verdict.report.sentences import headline
from engine.analysis.verdict.report.software import (
    loop_seconds,
    loop_sentence,
    model_choice_sentence,
    other_software_sentence,
    state_sentence,
    unwritten_sentence,
)
from engine.analysis.verdict.stacks import SoftwareChoice, Stack, allowed_stacks, stacks
from engine.errors import BadInput
from engine.estimate import estimate
from engine.hardware.framework import FRAMEWORKS
from engine.hardware.software import EXISTING, STATED_LOOP, STATES, every_software, software_of
from engine.registry import variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import settle
from engine.sweep import links
from engine.sweep.questions import LinkQuestions
from engine.systems.buildable import missing_words, software_sentence
from engine.units import MS
from tests.analysis.verdict import drawn
from tests.analysis.verdict.test_decide import FEW, model, question
from tests.cases import draw, each

FAULTS = {"faults.power_loss_mtbf_hours": 200.0, "faults.gpu_crash_mtbf_hours": 300.0}
SOME = ("all-hbm", "torchrec-uvm", "cpu-gpu", "cxl")


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return decide(question(model(), software="exists"), SOME)


def paired(verdict: Verdict) -> list[tuple[Stack, tuple[str, ...]]]:
    """Return the stacks whose software lacks something of the row's machine, with what it lacks."""
    runs = [row for row in (*verdict.rows, *verdict.unwritten) if row.scenario and row.stack.part]
    lacking = [(row.stack, missing_words(row.stack.part, settle(row.scenario), row.protection.name)) for row in runs]  # type: ignore[arg-type]
    return [(stack, words) for stack, words in lacking if words]


def test_every_row_names_software_that_runs_exactly_its_machine(verdict: Verdict) -> None:
    assert len(verdict.rows) >= 5 and paired(verdict) == []
    assert all(row.stack.state in EXISTING for row in verdict.rows)
    assert {row.stack.state for row in verdict.unwritten} == {"none"}
    assert all(row.stack.framework == STATED_LOOP for row in verdict.unwritten)
    assert verdict.best_row in verdict.rows


def test_policies_that_the_scenario_sets_leave_out_software_that_lacks_them() -> None:
    """Vectors in int8 and dedup of a batch's rows: TorchRec has both, HugeCTR neither."""
    asked = with_values(model(rows=40_000_000), {"machine.exchange_precision": "int8", "policy.input_dedup": True})
    found = decide(question(asked, parts="gpu=h100-sxm,host=amx-2023", software="exists"), ("all-hbm",))
    assert paired(found) == [] and found.best_row is not None and found.best_row.stack.software == "torchrec"
    refused = {row.stack.software: row.reason for row in found.rows if row.result is None}
    assert "HugeCTR does not have what this machine needs: input-dedup" in refused["hugectr"]


def test_protections_are_those_of_the_software() -> None:
    found = decide(question(with_values(model(), FAULTS), software="exists"), ("all-hbm", "cxl"))
    assert paired(found) == []
    names = {row.protection.name for row in found.rows if row.result}
    assert names and names <= {"none", "periodic-full", "periodic-ssd", "periodic-overlapped"}


@pytest.mark.slow
def test_no_row_of_drawn_verdicts_pairs_a_machine_with_software_that_lacks_it() -> None:
    wrong = []
    for seed in draw(range(200), 4):
        random = Random(seed)
        scenario = with_values(drawn.model(random), FAULTS if random.random() < 0.3 else {})
        parts, choice = random.choice(("on-sale", "all")), random.choice(("exists", "any", "torchrec", "hugectr"))
        wrong += paired(decide(VerdictQuestion(scenario, parts=AllowedParts(parts), software=SoftwareChoice(choice))))
    assert wrong == []


@each(
    ("choice", "allowed"),
    [
        (
            "exists",
            {"torchrec", "dynamicemb", "hugectr", "distributed-embeddings", "pytorch-dlrm", "dlrm-reference", "cached-embedding"},
        ),
        ("hugectr", {"hugectr"}),
        ("tensorflow", {"distributed-embeddings"}),
        ("bagpipe", {"bagpipe"}),
    ],
)
def test_a_choice_allows_the_software_that_it_names(choice: str, allowed: set[str]) -> None:
    named = SoftwareChoice(choice)
    assert {stack.software for stack in allowed_stacks(model(), named)} == allowed
    others = [stack for stack in stacks(model(), named) if not named.allows(stack)]
    assert {stack.system for stack in others} == {*variant_names("systems")} and not {stack.software for stack in others} - {""}


def test_any_software_may_be_written_and_a_paper_s_code_is_said() -> None:
    every = SoftwareChoice("any")
    assert all(every.allows(stack) for stack in stacks(model(), every))
    states = {stack.system: stack.state for stack in stacks(model(), every) if not stack.software}
    assert (states["bagpipe"], states["cxl"], states["torchrec-uvm"]) == ("paper code", "none", "none")


def test_sequences_take_software_that_has_their_layers() -> None:
    named = {stack.software for stack in stacks(preset("nvidia-hstu").scenario, SoftwareChoice())} - {""}
    assert named == {"dynamicemb", "generative-recommenders"}


@each("text", ["ms", "ms=", "ms=0", "ms=-1", "ms=nan", "ms=1e9", "hugectrs", "any=1", "ms=1_0", "nvtabular"])
def test_software_that_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"^software="):
        read_question(model(), LinkQuestions(software=text))


def test_own_software_has_its_loop_on_every_system_and_comes_back_from_its_link() -> None:
    asked = question(model(), software="ms=2.5")
    found = decide(asked, ("all-hbm", "cxl"))
    assert {row.system for row in found.rows} == {"all-hbm", "cxl"} and not found.unwritten
    for row in found.rows:
        assert row.scenario and loop_seconds(row.scenario) == pytest.approx(2.5 * MS) and row.step >= 2.5 * MS * (1 - 1e-9)
    assert "by your own software (a loop of 2.50 ms a step)" in headline(found)
    opened = links.open_link(link_of(asked, "dlrm-kaggle"))
    assert opened.questions.software == "ms=2.5" and read_question(opened.scenario, opened.questions) == asked
    assert {row["software_state"] for row in verdict_content(found, "tiny")["rows"]} == {"own"}


@each(
    ("gpu", "software", "layers"),
    [
        ("h100-pcie", "torchrec", "tf32"),
        ("h100-pcie", "hugectr", "fp16"),
        ("v100", "torchrec", "fp32"),
        ("v100", "hugectr", "fp16"),
    ],
)
def test_layers_have_the_precision_of_published_runs_that_the_gpu_has(gpu: str, software: str, layers: str) -> None:
    parts = f"all,gpu={gpu},host=amx-2023"
    found = decide(question(model(tables=4), parts=parts, software=software), ("all-hbm",))
    (row,) = found.rows
    assert row.scenario and row.scenario.machine.matrix_precision == layers
    assert f"layers in {layers} and rows in fp32" in headline(found)


def test_a_precision_that_is_asked_for_or_set_is_kept() -> None:
    asked = read_question(model(tables=4), LinkQuestions(software="torchrec", precision="fp16", parts=FEW))
    held = question(with_values(model(tables=4), {"machine.matrix_precision": "bf16"}), software="torchrec")
    for one, layers in ((asked, "fp16"), (held, "bf16")):
        (row,) = decide(one, ("all-hbm",)).rows
        assert row.scenario and row.scenario.machine.matrix_precision == layers
    with pytest.raises(BadInput, match="precision"):
        read_question(model(), LinkQuestions(precision="fp8"))


def test_each_software_that_exists_has_a_row_and_a_band_of_its_own(verdict: Verdict) -> None:
    bands = verdict_bands(verdict, SystemSearch(verdict.question, SOME).aim, 20)
    leading = leaders_by_software([row for row in verdict.rows if row.meets])
    assert {row.stack.software for row in leading} == {row.stack.software for row in verdict.rows if row.meets}
    assert all(bands.rows[row.stack].low <= row.objective_value * 1.001 for row in leading)
    said = other_software_sentence(verdict, bands)
    assert "HugeCTR" in said or "HugeCTR" in headline(verdict)
    assert said.count(" times") + said.count(" the same") == len(leading) - 1 and "a billion" in said


def test_what_would_have_to_be_written_stands_beside_the_verdict(verdict: Verdict) -> None:
    best = min(row.objective_value for row in verdict.unwritten if row.meets)
    said = unwritten_sentence(verdict)
    assert verdict.best_row
    assert ("would be" in said and "software would have to be written" in said) == (
        best < verdict.best_row.objective_value / 1.02
    )
    content = verdict_content(verdict, "dlrm-kaggle")
    assert content["verdict"]["software_state"] in EXISTING
    assert {"none"} < {row["software_state"] for row in content["rows"]} and len(content["rows"]) == len(verdict.space)


def stack_row(scenario: Scenario, stack: Stack) -> SystemRow:
    """Return a row of a scenario's own machine."""
    return SystemRow(stack, "HBM", scenario=scenario, step=(estimate(scenario).results["Step time [ms]"] or 0.0) * MS)


def test_a_loop_of_more_than_a_third_of_the_step_is_said_with_the_captured_one() -> None:
    small = with_values(
        preset("dlrm-kaggle").scenario, {"system": "all-hbm", "machine.framework": "torchrec", "data.batch_size": 512}
    )
    said = loop_sentence(stack_row(small, Stack("all-hbm", "torchrec", "torchrec")))
    captured = estimate(with_values(small, {"machine.framework": STATED_LOOP})).results["Step time [ms]"] or 0.0
    assert "other hardware changes little" in said and f"{captured:.3g} ms" in said
    large = with_values(small, {"data.batch_size": 65_536, "machine.framework": "hugectr"})
    assert "no other hardware makes a step shorter" in loop_sentence(stack_row(large, Stack("all-hbm", "hugectr", "hugectr")))
    graph = with_values(large, {"machine.assume": (("host.input-a-value", 0.1),)})
    assert loop_sentence(stack_row(graph, Stack("all-hbm", "hugectr", "hugectr"))) == ""


def test_one_choice_of_the_model_that_takes_half_a_step_is_said() -> None:
    many = {
        "model.num_tables": 1500,
        "model.num_embeddings": (1000,),
        "model.pooling": (1,),
        "system": "all-hbm",
        "run.training": False,
    }
    dots = with_values(preset("dlrm-kaggle").scenario, {**many, "machine.framework": STATED_LOOP})
    said = model_choice_sentence(stack_row(dots, Stack("all-hbm", "", STATED_LOOP)))
    assert "1,125,750 pairs a sample" in said or "top layer" in said
    assert model_choice_sentence(stack_row(with_values(dots, {"model.num_tables": 4}), Stack("all-hbm", "", STATED_LOOP))) == ""


def test_the_catalogue_of_software_names_systems_loops_and_states() -> None:
    known = {*variant_names("systems")}
    for one in every_software():
        assert {*one.runs} <= known and one.state in STATES and one.framework in FRAMEWORKS
        assert {*one.older_loops} <= {*FRAMEWORKS}
    assert {name for name in known if not software_of(name)} == {"remote-no-cache"}


@each(("name", "said"), [("torchrec-terabyte", "TorchRec trains so"), ("cxl-memory", "a stated loop as of a captured graph")])
def test_a_scenario_says_which_software_trains_it(name: str, said: str) -> None:
    assert said in software_sentence(settle(preset(name).scenario))


def test_frozen_software_is_said() -> None:
    found = decide(question(model(tables=4), software="hugectr"), ("all-hbm",))
    (row,) = found.rows
    assert "HugeCTR is public, but without a release" in state_sentence(row, found.question.software)
