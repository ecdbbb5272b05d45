"""Software on Start and Decide: is it asked, carried, undone and refused, and is what would have to be written shown apart?"""

from collections.abc import Iterator
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.decide import TIE_FACTOR, Verdict, verdicts
from engine.analysis.verdict.outlook.bands import CostBand, VerdictBands
from engine.analysis.verdict.outlook.shortlist import winner
from engine.analysis.verdict.outlook.variants import VariedCase
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.stacks import SoftwareChoice
from engine.hardware.software import EXISTING, STATE_WORDS
from engine.scenario.presets import preset
from engine.sweep import links
from pages.answers import later
from pages.decide_page import answer_panel, decide_charts, decide_tables, form, questions, software_fields
from pages.decide_page.decide_charts import TO_BE_WRITTEN
from pages.decide_page.software_fields import CHOICES, LOOP_MS, PRECISION, SOFTWARE
from tests import apps
from tests.analysis.verdict.test_decide import FEW, model
from tests.apps import text
from tests.cases import each

SYSTEMS = ("all-hbm", "torchrec-uvm", "cxl")


def asked_words(app: AppTest) -> tuple[str, ...]:
    """Return the software and precision of the link in the address bar."""
    return tuple("".join(app.query_params.get(name, "")) for name in ("software", "precision"))


@each(
    ("software", "precision", "fields"),
    [
        ("", "", ("exists", "", "")),
        ("torchrec", "bf16", ("torchrec", "", "bf16")),
        ("any", "tf32", ("any", "", "tf32")),
        ("ms=2.5", "", ("ms", "2.5", "")),
        ("dynamicemb", "", ("dynamicemb", "", "")),
    ],
)
def test_software_and_precision_come_back_from_a_link_and_return_to_it(software, precision, fields):
    written = {"software": software, "precision": precision}
    app = apps.opened("decide", {"preset": "tiny"} | {name: word for name, word in written.items() if word})
    assert not app.exception and tuple(app.session_state[key] for key in (SOFTWARE, LOOP_MS, PRECISION)) == fields
    assert asked_words(app) == (software, precision)
    titles = app.selectbox(key=SOFTWARE).options
    assert len(titles) == len({*CHOICES, fields[0]}) and CHOICES.get(fields[0], fields[0]) in titles


def test_own_software_without_a_number_is_hinted_at_and_counts_only_with_it():
    app = apps.opened("decide", {"preset": "tiny"})
    assert app.text_input(key=LOOP_MS).disabled
    app.selectbox(key=SOFTWARE).set_value("ms").run()
    assert software_fields.NO_NUMBER in text(app.caption) and asked_words(app) == ("", "")
    app.text_input(key=LOOP_MS).set_value("2.5").run()
    assert software_fields.NO_NUMBER not in text(app.caption) and asked_words(app) == ("ms=2.5", "")
    app.text_input(key=LOOP_MS).set_value("soon").run()
    assert not app.exception and "No verdict" in text(app.header) and "ms=N" in text(app.markdown)


def test_undo_takes_the_software_back_and_leaves_the_model():
    app = apps.opened("decide", {"preset": "tiny"})
    app.selectbox(key=SOFTWARE).set_value("hugectr").run()
    app.selectbox(key=PRECISION).set_value("fp16").run()
    assert asked_words(app) == ("hugectr", "fp16")
    app.button(key="undo").click().run()
    assert asked_words(app) == ("hugectr", "")
    app.button(key="undo").click().run()
    assert asked_words(app) == ("", "") and app.session_state[SOFTWARE] == "exists"
    assert app.session_state["scenario"] == preset("tiny").scenario


def test_a_precision_that_the_machine_has_is_named_as_its_own():
    app = apps.opened("decide", {"preset": "tiny", "machine.matrix_precision": "bf16"})
    assert app.selectbox(key=PRECISION).options[0] == "bf16, as set"


def test_the_loop_of_a_link_has_no_chip_since_software_decides_it():
    app = apps.opened("decide", {"preset": "tiny", "machine.framework": "hugectr", "machine.service_life_years": "3"})
    chips = [str(button.key) for button in app.button if str(button.key).startswith("chip ")]
    assert chips == ["chip machine.service_life_years"]


def test_start_asks_for_software_and_decide_answers_for_it():
    app = apps.opened("start")
    assert not app.exception and not [field for field in app.text_input if field.key == LOOP_MS]
    app.selectbox(key=SOFTWARE).set_value("ms").run()
    assert software_fields.NO_NUMBER in text(app.caption)
    app.text_input(key=LOOP_MS).set_value("4").run()
    app.selectbox(key=software_fields.PRECISION).set_value("bf16").run()
    app.button(key="card dlrm-kaggle").click().run()
    assert not app.exception and app.selectbox(key=form.PARTS) and asked_words(app) == ("ms=4", "bf16")
    elsewhere = apps.opened("start")
    elsewhere.radio(key="question").set_value(1).run()
    assert not [field for field in elsewhere.selectbox if field.key == SOFTWARE]


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return next(verdicts(VerdictQuestion(model(), parts=AllowedParts(FEW)), SYSTEMS))


def test_unwritten_rows_stand_last_with_the_state_of_their_software(verdict):
    table = decide_tables.all_rows(verdict, "dlrm-kaggle", None)
    named = len(verdict.rows)
    assert len(table) == named + len(verdict.unwritten) and verdict.unwritten
    states = {STATE_WORDS[state] for state in EXISTING}
    is_public = [state in states for state in table["State of the software"]]
    assert is_public == [True] * named + [False] * len(verdict.unwritten)
    assert table["Software"].iloc[0] == verdict.rows[0].stack.part.title


def test_bars_of_unwritten_software_are_drawn_apart_and_dashed(verdict):
    best = verdict.best_row
    bands = VerdictBands({best.stack: CostBand(0.1, 0.2, 1.0)}, 10)
    frame = decide_tables.family_rows(verdict, bands)
    unwritten = frame[~frame["exists"]]
    assert set(unwritten["family"]) == {row.family for row in verdict.unwritten if row.cost} and len(unwritten)
    assert (unwritten["part"] == TO_BE_WRITTEN).all() and (unwritten["amount"] == unwritten["total"]).all()
    for family, total in zip(unwritten["family"], unwritten["total"], strict=True):
        least = min(row.cost.total for row in verdict.unwritten if row.family == family and row.meets)
        assert least <= total <= TIE_FACTOR * least
    assert (frame["low"].dropna() == 0.1).all() and set(frame["family"][frame["low"].notna()]) == {best.family}
    assert frame["software"].iloc[0].startswith(f"{best.stack.part.title}, layers in")
    parts = tuple(dict.fromkeys(frame["part"]))
    spec = decide_charts.family_bars("USD", tuple(frame["family"]), parts)
    dashed = [layer for layer in spec["layer"] if "strokeDash" in layer.get("mark", {})]
    assert len(dashed) == 1 and spec["encoding"]["yOffset"]["field"] == "exists"
    plain = decide_charts.family_bars("USD", ("HBM",), tuple(part for part in parts if part != TO_BE_WRITTEN))
    assert "yOffset" not in plain["encoding"] and not [layer for layer in plain["layer"] if "strokeDash" in layer.get("mark", {})]


def test_a_changed_question_names_the_software_of_its_winner(verdict):
    best = verdict.best_row
    case = VariedCase("popularity", 1.0, "avazu", winner(verdict.question, {best.stack: (best.setting,)}))
    table = decide_tables.case_rows([case], verdict)
    assert list(table["Software"]) == [best.stack.part.title] * 2


def test_asked_for_any_software_no_row_stands_apart():
    own = next(verdicts(VerdictQuestion(model(), parts=AllowedParts(FEW), software=SoftwareChoice("any")), ("cxl",)))
    frame = decide_tables.family_rows(own, None)
    assert not own.unwritten and frame["exists"].all() and TO_BE_WRITTEN not in set(frame["part"])


@pytest.fixture
def decided(verdict: Verdict, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """Yield Decide with the verdict of a quick search, and a model of which one choice decides."""
    monkeypatch.setattr(later, "_futures", type(later._futures)())
    monkeypatch.setattr(questions, "first_verdict", lambda question: verdict)
    monkeypatch.setattr(questions, "whole_verdict", lambda question: verdict)
    monkeypatch.setattr(questions, "popularity_cases_of", lambda verdict: ())
    for name, sentence in SENTENCES.items():
        monkeypatch.setattr(answer_panel, name, partial(_sentence, sentence))
    link = links.link(model(), "dlrm-kaggle", "decide", questions=form.LinkQuestions(parts=FEW))
    app = apps.opened("decide", apps.link(link.partition("?")[2]))
    apps.ANSWERS.found()
    yield app.run()


SENTENCES = {
    "model_choice_sentence": "One choice decides.",
    "loop_sentence": "The loop is long.",
    "unwritten_sentence": "Another would be cheaper.",
    "state_sentence": "It is frozen.",
    "other_software_sentence": "Others cost more.",
}


def _sentence(sentence: str, *arguments: object) -> str:
    return sentence


def test_a_choice_of_the_model_is_said_before_the_machine_and_software_after_it(decided, verdict):
    assert not decided.exception
    texts = [element.value for element in decided.main if element.type in ("header", "markdown", "caption")]
    (*_, place) = [number for number, line in enumerate(texts) if line.startswith("Keep the tables")]
    said = [next(number for number, line in enumerate(texts) if sentence in line) for sentence in SENTENCES.values()]
    assert said[0] < place < min(said[1:])
    assert said[1] == said[2] < said[3] == said[4]
    assert f"by {verdict.best_row.stack.part.title}, layers in" in texts[place + 1]
