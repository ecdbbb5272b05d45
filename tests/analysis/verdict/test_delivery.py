"""Weeks to delivery: are they a limit of the verdict, said, left open where unknown, and none for what is owned?"""

import pytest

from engine.__main__ import main
from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.decide import Verdict, VerdictQuestion, decide
from engine.analysis.verdict.delivery import OWNED, delay, delivery_of, delivery_sentence
from engine.analysis.verdict.report.asked import link_of, read_question
from engine.analysis.verdict.report.content import verdict_content, verdict_table
from engine.analysis.verdict.report.sentences import headline, inputs_sentence, notes
from engine.analysis.verdict.requirement import Requirement, read_requirement
from engine.analysis.verdict.stacks import SoftwareChoice
from engine.core.part_files.supply import Delivery, read_delivery
from engine.errors import BadFile, BadInput
from engine.scenario.scenario import Scenario, with_values
from engine.sweep import links
from tests.analysis.verdict.test_decide import model, question
from tests.cases import each
from tests.parts.conftest import folder, shipped

__all__ = ["folder"]
SXM, PCIE = "gpu=h100-sxm,host=server", "gpu=h100-pcie,host=server"
STATED = {"weeks": [36, 52], "date": "2024", "source": "secondary: accounts of lead times"}


def found(*require: str, parts: str = SXM, systems: tuple[str, ...] = ("all-hbm",), scenario: Scenario | None = None) -> Verdict:
    return decide(question(scenario or model(), *require, parts=parts), systems)


def test_a_requirement_of_weeks_is_read_and_written_and_comes_back_from_a_link() -> None:
    assert read_requirement(["weeks=20"]) == Requirement(weeks=20.0) and Requirement(weeks=20.5).texts == ("weeks=20.5",)
    asked = question(model(), "throughput=1000", "weeks=20.5")
    assert "require=weeks" in link_of(asked, "dlrm-kaggle")
    opened = links.open_link(link_of(asked, "dlrm-kaggle"))
    assert read_question(opened.scenario, opened.questions).requirement == asked.requirement
    assert "; at least 1,000 samples/s, delivery in 20.5 weeks; " in inputs_sentence(asked)


@each("text", ["weeks=0", "weeks=-3", "weeks=soon", "weeks=inf", "weeks="])
def test_weeks_that_are_no_positive_number_are_refused_by_name(text):
    with pytest.raises(BadInput, match="weeks="):
        read_requirement([text])


def test_a_machine_whose_soonest_delivery_is_too_late_is_refused_in_words() -> None:
    verdict = found("weeks=20")
    (row,) = verdict.rows
    assert verdict.best_row is None and not row.meets and row.rank[1] == pytest.approx(36 / 20)
    assert row.reason == "An h100-sxm takes 36 to 52 weeks to be delivered; it is needed in 20 weeks."
    assert "meets what is asked: delivery in 20 weeks." in headline(verdict) and row.reason in headline(verdict)
    told = verdict_content(verdict, "dlrm-kaggle")["rows"][0]
    assert told["weeks"] == {"low": 36.0, "high": 52.0} and told["reason"] == row.reason and not told["feasible"]


@each(("weeks", "late"), [(36, True), (51.9, True), (52, False)])
def test_from_its_soonest_delivery_on_it_may_be_named_and_the_answer_says_that_it_may_be_late(weeks, late):
    verdict = found(f"weeks={weeks}")
    assert verdict.best_row is not None
    (said,) = [note for note in notes(verdict) if "to be delivered" in note]
    stated = "An h100-sxm takes 36 to 52 weeks to be delivered (2024; secondary: accounts of lead times)"
    assert said == f"{stated}: it may come later than in the {weeks} weeks asked." if late else f"{stated}."


def test_the_cheapest_machine_in_time_is_named_instead() -> None:
    both = "h100-sxm,h100-pcie,server,amx-2023"
    asked = VerdictQuestion(model(), Requirement(), "time", AllowedParts(both), SoftwareChoice("lean"))
    in_time = VerdictQuestion(model(), Requirement(weeks=35.0), "time", AllowedParts(both), SoftwareChoice("lean"))
    fastest, sooner = (decide(one, ("all-hbm",)).best_row for one in (asked, in_time))
    assert fastest and sooner and fastest.objective_value < sooner.objective_value
    assert [row.scenario and row.scenario.machine.gpu for row in (fastest, sooner)] == ["h100-sxm", "h100-pcie"]


def test_a_part_without_known_weeks_is_not_refused_and_the_answer_says_so() -> None:
    verdict = found("weeks=1", parts=PCIE, systems=("all-hbm", "cpu-only"))
    assert all(row.meets and row.delivery is None for row in verdict.rows)
    by_system = {row.system: row.scenario for row in verdict.rows}
    assert verdict.best_row and verdict_content(verdict, "dlrm-kaggle")["verdict"]["weeks"] is None
    unknown = "Needed in 1 week: the weeks of delivery of"
    assert delivery_sentence(by_system["all-hbm"], 1.0) == f"{unknown} h100-pcie are not known."
    assert delivery_sentence(by_system["cpu-only"], 1.0) == f"{unknown} these parts are not known."
    assert delivery_sentence(by_system["all-hbm"], None) == "" and any(unknown in note for note in notes(verdict))


def test_gpus_that_are_owned_take_no_weeks() -> None:
    verdict = found("weeks=1", scenario=with_values(model(), {"machine.owned_parts": "h100-sxm"}))
    assert verdict.best_row and verdict.best_row.delivery == OWNED
    assert verdict_content(verdict, "dlrm-kaggle")["verdict"]["weeks"] == {"low": 0.0, "high": 0.0}
    assert not [note for note in notes(verdict) if "deliver" in note]


def test_a_row_has_its_weeks_in_csv(tmp_path, capsys) -> None:
    verdict = found(systems=("all-hbm", "cpu-only"))
    weeks = {row["system"]: row["weeks"] for row in verdict_table(verdict, "dlrm-kaggle")}
    assert weeks == {"all-hbm": "36 to 52", "cpu-only": None}


@each(
    ("changes", "words"),
    [
        ({"weeks": [52, 36]}, r"delivery.weeks = \[52, 36\]; write \[LOW, HIGH\]"),
        ({"weeks": [36]}, "LOW, HIGH"),
        ({"weeks": [1, 2, 3]}, "LOW, HIGH"),
        ({"weeks": 36}, "LOW, HIGH"),
        ({"weeks": [True, 3]}, "LOW, HIGH"),
        ({"weeks": ["1", 3]}, "LOW, HIGH"),
        ({"weeks": [-1, 3]}, "LOW, HIGH"),
        ({"weeks": [1, 521]}, "from 0 to 520"),
        ({"date": "spring"}, "write a year or a month"),
        ({"source": ""}, "delivery.source in one line"),
        ({"low": 3}, "'low' of delivery, which is not known"),
        ({"source": None}, r"lacks source in \[delivery\]"),
    ],
)
def test_a_delivery_that_a_file_states_wrongly_is_refused(changes, words):
    table = {key: entry for key, entry in {**STATED, **changes}.items() if entry is not None}
    with pytest.raises(BadFile, match=words):
        read_delivery("gpu/x", {"delivery": table})
    assert read_delivery("gpu/x", {"delivery": STATED}) == Delivery(36.0, 52.0, "2024", STATED["source"])
    assert read_delivery("gpu/x", {"title": "x"}) is None


def test_own_gpus_may_state_a_delivery_and_other_kinds_may_not(folder, capsys) -> None:
    text = shipped("gpu/h100-sxm").replace("weeks = [36, 52]", "weeks = [1.5, 2.5]")
    path = folder.put("gpu/soon", text)
    assert main(["list", "devices", "--check", str(path)]) == 0
    folder.elsewhere(folder.path)
    own = with_values(model(), {"machine.gpu": "soon", "system": "all-hbm"})
    assert delivery_of(own) == Delivery(1.5, 2.5, "2024", STATED["source"]) and delay(own, 3.0) == 0.5
    assert delivery_sentence(own, None).startswith(f"A {own.machine.gpu} takes 1.5 to 2.5 weeks to be delivered (2024; ")
    wrong = folder.put("media/soon", shipped("media/optane-100") + '\n[delivery]\nweeks = [1, 2]\ndate = "2026"\nsource = "me"\n')
    assert main(["list", "devices", "--check", str(wrong)]) == 2
    assert "says 'delivery', which is not known" in capsys.readouterr().err
