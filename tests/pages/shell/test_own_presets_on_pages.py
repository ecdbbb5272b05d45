"""Presets of one's own on pages: listed, opened, saved, edited under an open page, and named by a link."""

import pytest

from engine.scenario import own_presets, presets
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.sweep import links
from pages.shell import own_presets as panel
from pages.ui import session
from tests.apps import address, download_keys, link, opened, text
from tests.pages.conftest import own_store, trusted  # noqa: F401  fixtures

MINE = 'title = "My *own* model"\ndescription = "Half the batch."\npreset = "tiny"\n[knobs]\ndata.batch_size = 8\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of own presets that is in use, with one preset."""
    monkeypatch.setattr(presets, "_own_path", tmp_path)
    monkeypatch.setattr(presets, "_last_look", own_presets.NO_FOLDER)
    monkeypatch.setattr(presets, "_roots", {})
    (tmp_path / "mine.toml").write_text(MINE)
    return tmp_path


def test_start_lists_own_presets_and_opens_one(folder):
    app = opened("start")
    assert "Your presets" in text(app.markdown)
    button = app.button(key="own mine")
    assert button.label == "My \\*own\\* model"
    button.click().run()
    assert not app.exception
    app = opened("design", {"preset": "mine"})
    assert not app.exception and app.session_state[session.SCENARIO] == preset("mine").scenario
    box = app.selectbox(key=session.PRESET_FIELD)
    assert box.value == "mine" and "My *own* model (your own)" in box.options
    assert dict(address(app))["preset"] == "tiny" and dict(address(app))["from"] == "mine"
    assert not any(str(button.key).startswith("chip ") for button in app.button)


def test_start_has_no_heading_without_a_folder():
    assert "Your presets" not in text(opened("start").markdown)


def test_a_broken_file_is_named_and_the_others_stay(folder):
    (folder / "bad.toml").write_text("[knobs]\ndata.batch_size = -3\n")
    (folder / "[x](y).toml").write_text("broken")
    app = opened("start")
    said = text(app.warning)
    assert "bad.toml, a file in the folder of presets, cannot be used" in said and str(folder) not in said
    assert "A file in the folder of presets cannot be used" in said and "[x](y)" not in said and "-3" not in said
    assert app.button(key="own mine") and not app.exception


@pytest.mark.usefixtures("trusted")
def test_who_has_the_token_reads_what_is_wrong(folder):
    (folder / "bad.toml").write_text("[knobs]\ndata.batch_size = -3\n")
    said = text(opened("start").warning)
    assert f"{folder}/bad.toml: Batch size -3 samples is out of range" in said


def test_a_page_follows_the_file(folder):
    app = opened("design", {"preset": "mine"})
    (folder / "mine.toml").write_text(MINE.replace("batch_size = 8", "batch_size = 32"))
    app.run()
    assert "mine has changed; the page shows the new file" in text(app.toast)
    assert app.session_state[session.SCENARIO].data.batch_size == 32
    own = with_values(preset("mine").scenario, {"data.batch_size": 64})
    app.session_state[session.SCENARIO] = own
    (folder / "mine.toml").write_text(MINE.replace("batch_size = 8", "batch_size = 16"))
    app.run()
    assert "your scenario stays as it was" in text(app.toast) and app.session_state[session.SCENARIO] == own
    (folder / "mine.toml").unlink()
    app.run()
    assert not app.exception and app.selectbox(key=session.PRESET_FIELD).value == "tiny"
    assert app.session_state[session.SCENARIO] == own
    assert "Made from the preset mine of its author" in text(app.caption) and dict(address(app))["from"] == "mine"


def test_a_link_opens_where_the_file_is_not(folder):
    changed = with_values(preset("mine").scenario, {"data.seed": 7})
    query = links.link(changed, "mine").partition("?")[2]
    app = opened("design", link(query))
    assert "Made from" not in text(app.caption) and app.selectbox(key=session.PRESET_FIELD).value == "mine"
    presets.use_folder(None)
    presets._roots.clear()
    app = opened("design", link(query))
    assert not app.exception and app.session_state[session.SCENARIO] == changed
    assert "Made from the preset mine of its author; all its values are in this link." in text(app.caption)
    assert app.selectbox(key=session.PRESET_FIELD).value == "tiny"
    assert links.open_link("&".join(f"{key}={content}" for key, content in address(app))).scenario == changed
    assert dict(address(app))["from"] == "mine"
    app.selectbox(key=session.PRESET_FIELD).select("dlrm-kaggle").run()
    assert "from" not in dict(address(app)) and "Made from" not in text(app.caption)


@pytest.mark.parametrize("name", ["<b>x</b>", "[x](http://y)", "a" * 41, "*a*", "a b"])
def test_a_hostile_origin_is_left_out(name):
    app = opened("design", {"preset": "tiny", "from": name})
    assert not app.exception and "Made from" not in text(app.caption)
    assert "is not the name of a preset" in text(app.error) and "from" not in dict(address(app))


def test_a_scenario_is_saved_as_a_preset(folder):
    app = opened("design", {"preset": "tiny", "data.batch_size": "24"})
    button = next(one for one in app.get("download_button") if one.proto.id.endswith(panel.SAVE))
    assert button.proto.disabled
    app.text_input(key=panel.NAME_FIELD).input("tiny").run()
    assert "is the name of a preset that Emberpool ships" in text(app.caption)
    app.text_input(key=panel.NAME_FIELD).input("../evil").run()
    assert "is not a valid name of a preset" in text(app.caption)
    app.text_input(key=panel.NAME_FIELD).input("half").run()
    assert panel.SAVE in download_keys(app)
    button = next(one for one in app.get("download_button") if one.proto.id.endswith(panel.SAVE))
    assert not button.proto.disabled and not app.exception
