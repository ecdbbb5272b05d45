"""Text of others, of a link, a store or a file: is it shown as text, with nothing in it that browsers bring to life?"""

import re
from pathlib import Path

import pytest

from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.store import requests
from pages.answers import data_file, runs
from pages.own_data import ways
from pages.shell.places import PLACES
from tests import apps
from tests.cases import each

HOSTILE = (
    "[evil](https://evil.example) ![i](//evil.example/i) <b>evil</b> www.evil.example a@evil.example :fire: $x^2$ `c` **evil**"
)
ALIVE = re.compile(r"https?://evil|www\.evil|@evil|(?<!\\)(?:\[evil|\]\(|!\[|<b>|:fire|\$x|`c|\*\*evil)")
# What Streamlit draws as it stands: code, what is typed into fields, what is chosen from lists, and what Vega draws.
AS_IT_STANDS = (".code_text", ".default", ".value", ".set_value", ".options", ".spec", ".url")
QUESTIONS = ["preset", "v", "model", "where", "only", "metric", "view", "pareto", "pins", "sample", "against", "within"]
KNOBS = ["system", "model.name", "machine.pmem", "machine.assume", "data.batch_size", "data.zipf_exponents", "faults.trace"]


def texts(message, path=""):
    """Yield each text of a message of Streamlit's, with its fields' names."""
    for field, held in message.ListFields():
        if hasattr(held, "items"):
            continue  # a map of settings
        for one in held if not isinstance(held, str | bytes) and hasattr(held, "__iter__") else [held]:
            if hasattr(one, "ListFields"):
                yield from texts(one, f"{path}.{field.name}")
            elif isinstance(one, str):
                yield f"{path}.{field.name}", one


def alive(app):
    """Return what of a page is alive, and where a press would lead away."""
    assert not app.exception
    shown = [one for node in app._tree if getattr(node, "proto", None) for one in texts(node.proto)]
    assert shown
    marked = [(where, text) for where, text in shown if not where.endswith(AS_IT_STANDS) and ALIVE.search(text)]
    return marked + [(where, text) for where, text in shown if where.endswith(".url") and not re.match(r"/[a-z]|$", text)]


@pytest.mark.parametrize("page", ["data", *(pytest.param(page, marks=pytest.mark.slow) for page in PLACES if page != "data")])
def test_a_page_shows_a_hostile_knob_as_text(page):
    app = apps.opened(page, {"preset": "tiny", "data.digest": HOSTILE})
    apps.ANSWERS.found()
    assert not alive(app.run())


@each("name", [*QUESTIONS, *KNOBS, "find", "run", "crash", "axis", "mode", HOSTILE], few=3)
def test_a_hostile_parameter_is_refused_in_plain_words(name):
    app = apps.opened("runs" if name == "find" else "search", {name: HOSTILE})
    assert app.error or name in ("find", "model")
    assert not alive(app)


def test_hostile_values_of_an_axis_are_shown_as_text():
    axes = [f"data.digest:{HOSTILE},other", "machine.cxl_bandwidth_GBps:1,2"]
    app = apps.opened("search", {"preset": "tiny", "axis": axes})
    assert not app.error and not alive(app)


@each("link", ["@evil.example/search?preset=tiny", "//evil.example/search?a", "https://evil.example", "javascript:alert(1)"])
def test_what_a_store_says_is_shown_as_text_and_leads_nowhere(link, monkeypatch, tmp_path):
    monkeypatch.setattr(runs, "STORE", tmp_path / "store.sqlite")
    asked = with_values(preset("tiny").scenario, {"data.digest": HOSTILE})
    number = requests.submit(runs.STORE, [asked], "estimate", title=HOSTILE, link=link)
    app = apps.opened("runs", {"find": f"#{number}"})
    assert "evil" in apps.text(app.markdown) and not alive(app)


@each("page", ["start", "data"])
def test_the_name_of_a_file_is_shown_as_text(page, monkeypatch):
    named = data_file.DataFile(Path(HOSTILE.replace("/", "_") + ".txt"), "0" * 64)
    monkeypatch.setattr(data_file, "start_file", lambda: named)
    app = apps.opened(page, {"preset": "tiny"})
    assert "evil" in str(app.button) + apps.text(app.markdown) and not alive(app)


NAMES = [f"{HOSTILE}.csv", "../../../etc/passwd", "..\\..\\a.csv", "a\x00\x1b[31m\n.csv", "\u202evsc.gpj", "ü" * 300, "", ".."]


@each("name", NAMES, few=2)
def test_the_name_of_an_upload_is_neither_a_path_nor_markup(name):
    """Of one that is read, of one that is refused for its content, and of two that belong to nothing."""
    app, table = apps.opened("start"), b"a,b\n" + b"0,1\n1,2\n" * 40
    for files in ([(name, table)], [(name, b"\x00\xff" * 40)], [(name, table), (f"{name}.toml", b"label = 'nothing'")]):
        app.file_uploader(key=ways.UPLOAD).set_value([(*file, "text/csv") for file in files]).run()
        assert not alive(app) and "\u202e" not in apps.text([*app.markdown, *app.error])
    stored = [path for path in Path.cwd().rglob("*") if path.is_file() and ".emberpool/uploads/" in str(path)]
    assert stored or len(name) > 200
    for path in stored:
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,245}", path.name) and path.parent.parent.name == "uploads", path
