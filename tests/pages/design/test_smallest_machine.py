"""The smallest machine on the page: does the answer follow the page, is it the engine's, and can it be taken?"""

from engine.analysis.enough.question import Target, ask, baseline_of
from engine.analysis.enough.smallest import enough
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from tests import apps


def test_the_answer_follows_the_page_and_a_press_takes_its_machine():
    app = apps.opened(query={"preset": "optane-rm1"})
    assert "searching ..." in apps.text(app.markdown) and not [one for one in app.button if one.key == "take"]
    apps.ANSWERS.found()
    app.run()
    scenario = preset("optane-rm1").scenario
    answer = enough(ask(scenario, baseline_of(scenario, "dram"), Target(0.1)))
    assert not app.exception and "searching ..." not in apps.text(app.markdown)
    app.button(key="take").click().run()
    assert app.session_state["scenario"] == with_values(scenario, answer.both.machine.changes) != scenario
