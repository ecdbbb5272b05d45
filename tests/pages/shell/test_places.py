"""Does each place have its script, and does every page take its part of a link, whichever page is opened first?"""

import ast

from streamlit.runtime.pages_manager import PagesManager

from engine.crashcheck.view import line_of
from pages.failures_page.crash_viewer import PROTOCOLS
from pages.shell.places import NEW_PLACES, OPEN_SECTIONS, PLACES
from pages.ui.page_link import script
from tests import ROOT, apps
from tests.apps import address, link, opened

AXES = ("machine.cxl_bandwidth_GBps:4.0,8.0,16.0", "system:cxl,pmem")
CRASH = line_of(PROTOCOLS["Undo log"], "adr", 5, "everything")


def test_each_place_and_old_address_has_a_script_and_each_script_is_one():
    scripts = {str(path.relative_to(ROOT)) for path in (ROOT / "pages").glob("*.py")} - {script("__init__")}
    assert scripts == {script(place) for place in (*PLACES, *NEW_PLACES)}
    assert set(NEW_PLACES.values()) <= set(PLACES) and set(OPEN_SECTIONS) <= set(NEW_PLACES) and not set(NEW_PLACES) & set(PLACES)


def test_a_page_that_a_cold_server_starts_without_its_frame_begins_again_with_it(monkeypatch):
    monkeypatch.setattr(apps.app_test, "PagesManager", PagesManager)  # which finds the folder of pages beside app.py
    app = opened("runs", link("preset=tiny"))
    assert not app.exception and app.header and app.sidebar.expander and ("preset", "tiny") in address(app)
    definitions = ast.Import | ast.ImportFrom | ast.Assign | ast.FunctionDef
    for path in (ROOT / "pages").glob("[a-z]*.py"):
        statements = ast.parse(path.read_text(encoding="utf-8")).body[1:]  # after the docstring
        first = next(statement for statement in statements if not isinstance(statement, definitions))
        assert ast.unparse(first) == "frame.guard()", path


def test_a_link_that_opens_on_one_page_is_taken_up_by_all_others():
    axes = "".join(f"&axis={axis}" for axis in AXES)
    app = opened("start", link(f"preset=tiny{axes}&where=Energy per batch [J]<=100&pins=2&view=lines&find=done&crash={CRASH}"))
    parts = {}
    for place in ("search", "failures", "runs", "design"):
        assert not app.switch_page(script(place)).run().exception
        parts[place] = [(key, value) for key, value in address(app) if key in ("axis", "where", "pins", "view", "find", "crash")]
    searched = [*(("axis", axis) for axis in AXES), ("pins", "2"), ("view", "lines"), ("where", "Energy per batch [J]<=100")]
    assert sorted(parts["search"]) == sorted(searched)
    assert parts["failures"] == [("crash", CRASH)] and parts["runs"] == [("find", "done")]
    assert parts["design"] == [("axis", "system:pmem,cxl")], "in the order of the palette"
