"""Parts of one's own on pages: choices, a file edited under an open page, a link of a sender's, its file to save."""

import os
from collections import OrderedDict

import pytest

from engine.core import catalog
from engine.core.part_files import use
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, with_values
from engine.sweep import links
from engine.sweep.axes import parse
from pages.answers import later
from pages.gate import launch
from pages.search_page import axes_panel
from pages.shell import own_parts
from pages.ui import session
from tests.apps import address, link, opened, text
from tests.pages.conftest import own_store, trusted  # noqa: F401  fixtures
from tests.parts.conftest import shipped

CRYSTAL = {"preset": "optane-rm1", "machine.pmem": "crystal"}


def step(app):
    """Return the step time as the page shows it."""
    return next(metric.value for metric in app.metric if metric.label == "Step time")


def slower(folder):
    """Make the medium's in-place updates slow."""
    return folder.put("media/crystal", shipped("media/optane-100").replace("value = 0.8472972972972973\n", "value = 0.6\n"))


def test_a_part_is_a_choice_and_a_page_follows_its_file(folder):
    use.use_folder(folder.path)
    app = opened("design", CRYSTAL, **{"strips added": ("machine.pmem",)})
    assert not app.exception
    box = app.selectbox(key=session.widget("machine.pmem"))
    assert box.value == "crystal" and "crystal" in box.options and not any("~" in option for option in box.options)
    first, held = step(app), dict(address(app))
    assert held["machine.pmem"].startswith("crystal~") and held["part"].startswith("media:crystal:")
    path = slower(folder)
    app.run()
    assert step(app) != first and "crystal has changed" in text(app.toast)
    assert dict(address(app))["machine.pmem"] != held["machine.pmem"]
    changed = step(app)
    path.write_text("broken")
    app.run()
    assert not app.exception and step(app) == changed
    assert "A file in the folder of parts cannot be used" in text(app.warning) and str(folder.path) not in text(app.warning)
    folder.put("media/crystal", shipped("media/optane-100").replace("value = 6.6\n", "value = 8\n"))
    app.run()
    assert step(app) == first and not app.warning


@pytest.mark.usefixtures("trusted")
def test_who_has_the_token_reads_what_is_wrong_with_a_file(folder):
    folder.put("media/crystal", "broken")
    catalog.FOLDERS = (*catalog.FOLDERS, folder.path)
    assert "crystal.toml is not valid TOML" in text(opened("design").warning)
    far = shipped("media/optane-100").replace("value = 6.6\n", "value = 66000\n").replace("high = 8.5\n", "high = 85000\n")
    folder.put("media/crystal", far)
    assert "read-rate = 66,000 GB/s" in text(opened("design").warning)


def test_a_senders_part_is_shown_with_its_numbers_and_its_file(folder):
    use.use_folder(folder.path)
    scenario = with_values(preset("optane-rm1").scenario, {"machine.pmem": "crystal", "machine.gpu": "mine"})
    query = links.link(scenario).partition("?")[2]
    own = step(opened("design", link(query)))
    folder.elsewhere()
    app = opened("design", link(query), **{"strips added": ("machine.pmem",)})
    assert not app.exception and step(app) == own
    assert "a part of the link's sender" in text(app.info)
    labels = [one.label.replace("\\", "") for one in app.expander if "sender" in one.label]
    assert [label.split(",")[0] for label in labels] == [
        f"A part of the sender's: {what}" for what in ("fabric own-link", "gpu mine", "media crystal")
    ]
    box = app.selectbox(key=session.widget("machine.pmem"))
    assert box.value == scenario.machine.pmem and box.value in box.options
    app.run()
    assert not app.exception and step(app) == own and dict(address(app))["machine.pmem"] == scenario.machine.pmem


def test_a_saved_part_is_the_senders_to_the_digest(folder, tmp_path):
    use.use_folder(folder.path)
    scenario = with_values(preset("optane-rm1").scenario, {"machine.gpu": "mine"})
    text = links.link(scenario)
    folder.elsewhere()
    for part in links.open_link(text).parts:
        saved = tmp_path / "saved" / part.kind / f"{part.name}.toml"
        saved.parent.mkdir(parents=True)
        saved.write_text(own_parts.file_text(part))
    folder.elsewhere(tmp_path / "saved")
    use.look_at_folder()
    assert with_values(preset("optane-rm1").scenario, {"machine.gpu": "mine"}) == scenario
    assert links.open_link(text).banner == ""


def test_a_part_of_the_same_name_here_stays_and_the_links_is_beside_it(folder):
    use.use_folder(folder.path)
    scenario = with_values(preset("optane-rm1").scenario, {"machine.pmem": "crystal"})
    query, own = links.link(scenario).partition("?")[2], step(opened("design", CRYSTAL))
    slower(folder)
    folder.elsewhere(folder.path)
    app = opened("design", link(query), **{"strips added": ("machine.pmem",)})
    assert step(app) == own and "with other values than your part of that name" in text(app.info)
    box = app.selectbox(key=session.widget("machine.pmem"))
    assert {"crystal", scenario.machine.pmem} < set(box.options)
    box.select("crystal").run()
    assert step(app) != own and not app.exception


def test_what_stands_beside_the_medium_in_force_follows_its_file_too(folder):
    use.use_folder(folder.path)
    app = opened("design", {"preset": "optane-rm1"}, **{"strips added": ("machine.pmem",)})

    def reference():
        return KNOBS["machine.pmem"].choices.scenario_name("crystal")

    def drawn():
        """Return the data of the medium's strip as bytes."""
        name = f"over {KNOBS['machine.pmem'].label};"
        (strip,) = (chart for chart in app.get("vega_lite_chart") if name in chart.proto.alt)
        return strip.proto.SerializeToString()

    first = reference()
    assert first.encode() in drawn()
    slower(folder)
    app.run()
    assert reference().encode() in drawn() and first.encode() not in drawn()


def test_an_answer_found_beside_a_page_is_of_the_folder_as_it_is(folder, monkeypatch):
    use.use_folder(folder.path)
    monkeypatch.setattr(later, "_shared_answers", OrderedDict())
    first = later.cached_result(catalog.own_folder)
    assert later.cached_result(catalog.own_folder) is first
    slower(folder)
    use.look_at_folder()
    assert later.cached_result(catalog.own_folder) is not first


def test_an_axis_that_was_typed_by_name_follows_the_file(folder):
    use.use_folder(folder.path)
    base, axes = preset("optane-rm1").scenario, ("machine.pmem:crystal,optane-100",)
    first = axes_panel.sweep_of(base, axes, "")
    assert axes_panel.sweep_of(base, axes, "") is first and first.axes[0] == parse(axes[0])
    slower(folder)
    use.look_at_folder()
    assert axes_panel.sweep_of(base, axes, "").axes[0].values[0] != first.axes[0].values[0]


def test_a_hostile_link_says_what_is_left_out_of_it(folder):
    app = opened("design", {"machine.gpu": "mine", "part": f"gpu:mine:{16 * '0'}:{'A' * 100}"})
    assert not app.exception and "The link's parts cannot be read. The part gpu mine is damaged" in text(app.error)
    assert app.metric, "the page stands without them"


def test_the_explorer_starts_with_a_folder_that_its_processes_have_too_or_not_at_all(folder, monkeypatch, capsys):
    monkeypatch.setenv(catalog.VARIABLE, "")
    assert launch.main(["--parts", str(folder.path / "none")]) == 2
    assert "none cannot be read as a folder of parts: No such file or directory" in capsys.readouterr().err
    launch._take_parts(f" {folder.path} ")
    assert os.environ[catalog.VARIABLE] == str(folder.path) and "crystal" in catalog.part_names_of("media")
