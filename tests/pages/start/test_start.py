"""Start: does each question lead to its answer, and is one's own model applied as one, and refused in words?"""

import gzip
import hashlib
from xml.etree import ElementTree

import pytest

from engine.errors import BadFile
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from pages.data import data_file
from pages.start import models, own_data, own_model, picture, questions
from tests import apps
from tests.apps import text
from tests.cases import each


def asked(app):
    return app.session_state["scenario"]


def test_ones_own_model_is_sized_while_it_is_written_and_applied_as_one():
    app = apps.opened("start")
    assert not app.exception and "40 tables, 51.2 GB, 800 lookups a sample" in text(app.markdown)
    app.text_input(key="own model.num_embeddings").set_value("five").run()
    assert "number" in text(app.caption) and app.button(key="own").disabled
    app.text_input(key="own model.num_embeddings").set_value("2.5 M").run()
    app.text_input(key="own model.embedding_dim").set_value("32").run()
    assert "40 tables, 12.8 GB, 800 lookups a sample" in text(app.markdown)
    before = asked(app)
    app.button(key="own").click().run()
    found = asked(app)
    assert (found.model.num_tables, found.model.num_embeddings, found.model.embedding_dim) == (40, (2_500_000,), 32)
    assert (found.model.pooling, found.data.batch_size, found.model.bottom_mlp) == ((20,), 4096, (13, 512, 256, 64, 32))
    assert (
        found.system == "cxl" and "your model (40 tables, 12.8 GB)" in text(app.header) and "slower than DRAM" in text(app.header)
    )
    app.button(key="undo").click().run()
    assert asked(app) == before


@each("place", range(len(questions.QUESTIONS)), few=2)
def test_a_question_leads_to_the_place_that_answers_it(place):
    app = apps.opened("start")
    app.radio(key=questions.CHOSEN).set_value(place).run()
    app.button(key="card trainingcxl-rm1").click().run()
    chosen = questions.QUESTIONS[place]
    assert not app.exception and asked(app).model == preset("trainingcxl-rm1").scenario.model and not app.title
    assert not chosen.opens or app.session_state[chosen.opens]


@each(
    ("written", "read"), [("5 M", "5000000"), ("5e6", "5000000"), ("5,000,000", "5000000"), ("1k; 2.5K", "1000;2500"), ("x", "x")]
)
def test_numbers_are_read_as_people_write_them(written, read):
    assert own_model.exact(written) == read


def test_every_model_is_offered_under_its_paper_and_drawn():
    assert sorted(name for members in models.by_paper().values() for name in members) == sorted(preset_names())
    for name in preset_names():
        drawn = ElementTree.fromstring(picture.of_preset(name))
        bars = [float(bar.get("height")) for bar in drawn if bar.tag.endswith("rect")]
        assert 1 <= len(bars) <= picture.MOST and bars == sorted(bars, reverse=True) and max(bars) <= picture.HEIGHT


def test_ones_own_file_is_trained_on_by_its_digest_and_a_missing_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(own_data, "at_home", lambda: True)
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(b"0\t" + b"\t" * 38 + b"\n"))
    app = apps.opened("start")
    app.text_input(key="data path").set_value(str(path)).run()
    app.button(key="own data").click().run()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert asked(app).data.digest == digest and not app.exception and not app.warning
    assert data_file.path_for(with_values(preset("tiny").scenario, {"data.digest": digest})) == path
    with pytest.raises(BadFile, match="is no file"):
        data_file.known(tmp_path)
    lacking = apps.opened("start")
    lacking.text_input(key="data path").set_value(str(tmp_path / "none")).run()
    assert "is no file on this computer" in text(lacking.error)


def test_an_uploaded_file_is_kept_under_its_digest_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(own_data, "FOLDER", tmp_path / "uploads")
    one, other = (own_data.kept("../train.txt", content) for content in (b"one", b"other"))
    assert (one.path.read_bytes(), other.path.read_bytes()) == (b"one", b"other") and one.path.parent == tmp_path / "uploads"
    assert own_data.kept("again.txt", b"one") == one and len(list((tmp_path / "uploads").iterdir())) == 2
    assert own_data.kept("train.gz", b"packed").path.suffix == ".gz"


@each(("address", "home"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("10.0.0.7", False)])
def test_a_path_is_asked_for_only_where_nobody_else_can_ask(address, home, monkeypatch):
    monkeypatch.setattr(own_data.st, "get_option", lambda _: address)
    assert own_data.at_home() == home
