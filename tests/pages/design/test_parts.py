"""Parts on Design: bars for each GPU with the slowest marked, only the slowest of many, and a section where there are several."""

from engine.analysis.part_loads import part_loads
from pages.design_page import details
from pages.systems import parts_panel
from tests import apps
from tests.systems.test_balance import made_up


def test_a_bar_a_part_and_of_many_the_slowest_alone():
    few = parts_panel.bars(part_loads(made_up(**{"policy.plan": "0;1;1;2"})))
    assert list(dict.fromkeys(few.part)) == ["GPU 0", "GPU 1", "GPU 2"]
    assert set(few[few.slowest].part) == {"GPU 1"}
    found = part_loads(made_up(**{"machine.num_gpus": 48, "policy.sharding": "table-wise"}))
    many = parts_panel.bars(found)
    assert many.part.nunique() == parts_panel.MAX_BARS and "GPU 2" in set(many[many.slowest].part)


def test_ways_of_sharding_stand_from_the_fastest_on_and_one_is_in_force():
    found = parts_panel.sharding_rows(part_loads(made_up(**{"policy.plan": "0;1;1;2"})))
    assert found.step.is_monotonic_increasing and list(found[found.chosen].way) == ["policy.plan"]


def test_design_asks_whether_work_is_shared_evenly_where_there_are_several_parts():
    link = {"preset": "torchrec-terabyte", "system": "all-hbm", "policy.sharding": "table-wise"}
    app = apps.opened(query=link, **{details.PARTS: True})
    assert not app.exception
    said = [one.value for one in app.markdown]
    assert any("is the slowest" in one for one in said), said
    labels = [one.label for one in apps.opened(query={"preset": "tiny", "machine.pmem_capacity_GB": "128"}).expander]
    assert labels and not any(label.startswith("Is the work shared evenly?") for label in labels)
