"""The smallest machine on the page: does the answer follow the page, is it the engine's, and can it be taken?"""

import pytest

from engine.analysis.enough.question import Target, baseline_of, make_question
from engine.analysis.enough.smallest import find_smallest
from engine.insight.decomposition import RELAXED
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from tests import apps


@pytest.mark.slow
def test_the_answer_follows_the_page_and_a_press_takes_its_machine():
    app = apps.opened(query={"preset": "optane-rm1", RELAXED: "on"})
    assert "searching ..." in apps.text(app.markdown) and not [one for one in app.button if one.key == "take"]
    apps.ANSWERS.found()
    app.run()
    scenario = with_values(preset("optane-rm1").scenario, {RELAXED: True})
    answer = find_smallest(make_question(scenario, baseline_of(scenario, "dram"), Target(0.1)))
    assert not app.exception and "searching ..." not in apps.text(app.markdown)
    switched = {path: on for path, on in answer.cheapest.machine.changes.items() if path in answer.switched}
    assert switched[RELAXED] is False and f"knob {RELAXED}" in {one.key for one in app.main.selectbox}
    assert "and relaxed lookup off:" in apps.text(app.markdown)
    assert "relaxed lookup off; the other numbers on this page do not." in apps.text(app.caption), "else two truths on one page"
    app.button(key="take").click().run()
    assert app.session_state["scenario"] == with_values(scenario, answer.cheapest.machine.changes) != scenario
    apps.ANSWERS.found()
    assert "This answer holds with" not in apps.text(app.run().caption)


def test_a_system_that_never_relaxes_has_no_strip_for_it():
    app = apps.opened(query={"preset": "tiny", "system": "pmem"})
    assert f"knob {RELAXED}" not in {one.key for one in app.main.selectbox} and not app.exception
