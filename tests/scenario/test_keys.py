"""Is a scenario that was changed, and the text and key of it, what one built from nothing has?"""

from dataclasses import fields, replace
from hashlib import blake2b

from hypothesis import example, given
from hypothesis import strategies as st

from engine import version
from engine.errors import BadKnob
from engine.scenario import knobs
from engine.scenario.keys import changed_knobs, group_texts, key, texts
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, Scenario, values, with_values
from tests.strategies import changes, scenarios


def rebuilt(scenario):
    """Return an equal scenario, every group and value of which has been made and checked anew."""
    groups = {item.name: getattr(scenario, item.name) for item in fields(scenario) if item.name != "system"}
    return Scenario(system=scenario.system, **{name: replace(group) for name, group in groups.items()})


def by_hand(scenario, how):
    given = {
        path: value for path, value in values(scenario).items() if not (KNOBS[path].added_later and value == KNOBS[path].default)
    }
    lines = [f"{path}={knobs.write(KNOBS[path], value)}" for path, value in given.items()]
    return blake2b("\n".join([how, version.MODEL, *lines]).encode(), digest_size=16).hexdigest()


@given(st.lists(scenarios, min_size=1, max_size=4))
def test_keys_are_those_of_the_whole_text_whichever_scenario_was_written_before(some):
    for scenario in (*some, *reversed(some)):
        assert key(scenario, "full") == by_hand(scenario, "full")
        assert key(rebuilt(scenario), "estimate") == by_hand(scenario, "estimate")
        assert list(texts(scenario)) == list(KNOBS)


@given(scenarios, changes())
@example(preset("a100-terabyte").scenario, {"model.name": "rm1", "model.num_tables": 1})  # allowed together only
def test_a_changed_scenario_equals_one_that_is_checked_as_a_whole(scenario, some):
    try:
        changed = with_values(scenario, some)
    except BadKnob:
        return
    assert rebuilt(changed) == changed
    assert all(values(changed)[path] == knobs.check(KNOBS[path], value) for path, value in some.items())


def test_numbers_that_are_equal_have_one_text():
    base = preset("optane-kaggle").scenario
    whole = replace(base, machine=replace(base.machine, cxl_bandwidth_GBps=48))
    assert texts(whole)["machine.cxl_bandwidth_GBps"] == "48.0"
    assert key(whole, "full") == key(with_values(base, {"machine.cxl_bandwidth_GBps": 48.0}), "full")


@given(scenarios, scenarios)
def test_what_differs_makes_one_scenario_from_another(one, other):
    found = list(changed_knobs(group_texts(one), group_texts(other)))
    assert with_values(one, {path: knobs.parse(KNOBS[path], text) for path, text, _ in found}) == other
    assert with_values(one, {path: value for path, _, value in found}) == other
    assert not list(changed_knobs(group_texts(other), group_texts(rebuilt(other))))
