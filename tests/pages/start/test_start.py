"""Start: does each question lead to its answer, and is one's own model applied as one, and refused in words?"""

import gzip
import hashlib
from xml.etree import ElementTree

import numpy as np
import pytest

from engine.errors import BadFile
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from pages.answers import data_file
from pages.own_data import ways
from pages.start_page import models, own_model, picture, questions
from tests import apps
from tests.apps import text
from tests.cases import each
from tests.workload.readers import made_up_criteo
from tests.workload.readers.test_formats import INDICES, LENGTHS, a_trace


def asked(app):
    return app.session_state["scenario"]


def test_ones_own_model_is_sized_while_it_is_written_and_applied_as_one():
    app = apps.opened("start")
    assert not app.exception and "40 tables, 51.2 GB, 800 lookups a sample" in text(app.markdown)
    app.text_input(key="own model.num_embeddings").set_value("five").run()
    assert "number" in text(app.caption) and app.button(key="own").disabled
    app.text_input(key="own model.num_embeddings").set_value("2.5 M")
    app.text_input(key="own model.embedding_dim").set_value("32").run()
    assert "40 tables, 12.8 GB, 800 lookups a sample" in text(app.markdown)
    before = asked(app)
    app.radio(key=questions.QUESTION_KEY).set_value(1).run()
    app.button(key="own").click().run()
    found = asked(app)
    assert (found.model.num_tables, found.model.num_embeddings, found.model.embedding_dim) == (40, (2_500_000,), 32)
    assert (found.model.pooling, found.data.batch_size, found.model.bottom_mlp) == ((20,), 4096, (13, 512, 256, 64, 32))
    assert (
        found.system == "cxl" and "your model (40 tables, 12.8 GB)" in text(app.header) and "slower than DRAM" in text(app.header)
    )
    app.button(key="undo").click().run()
    assert asked(app) == before


@pytest.mark.slow
@each("place", range(len(questions.QUESTIONS)), few=2)
def test_a_question_leads_to_the_place_that_answers_it(place):
    app = apps.opened("start")
    app.radio(key=questions.QUESTION_KEY).set_value(place).run()
    chosen = questions.QUESTIONS[place]
    key = "result trainingcxl-rm1" if chosen is questions.PAPERS else "card trainingcxl-rm1"
    assert [button.key for button in app.button if str(button.key).startswith("result")] or chosen is not questions.PAPERS
    app.button(key=key).click().run()
    assert not app.exception and asked(app).model == preset("trainingcxl-rm1").scenario.model and not app.title


@each(
    ("written", "read"),
    [
        ("5 M", "5000000"),
        ("5e6", "5000000"),
        ("5,000,000", "5000000"),
        ("1k; 2.5K", "1000;2500"),
        ("8 million", "8000000"),
        ("x", "x"),
    ],
)
def test_numbers_are_read_as_people_write_them(written, read):
    assert own_model.exact_numbers(written) == read


def test_every_model_is_offered_under_its_paper_and_drawn():
    assert sorted(name for members in models.by_paper().values() for name in members) == sorted(preset_names())
    for name in preset_names():
        drawn = ElementTree.fromstring(picture.of_preset(name))
        bars = [float(bar.get("height")) for bar in drawn if bar.tag.endswith("rect")]
        assert 1 <= len(bars) <= picture.MAX_TABLES and bars == sorted(bars, reverse=True) and max(bars) <= picture.HEIGHT


def test_ones_own_file_is_trained_on_by_its_digest_and_a_missing_one_is_refused(tmp_path, trusted):
    path = tmp_path / "train.csv.gz"
    path.write_bytes(gzip.compress(made_up_criteo.csv(made_up_criteo.rows(60))))
    app = apps.opened("start", None, **{ways.PATH: str(path)})
    assert "criteo, 60 samples; id fields: 26 (" in text(app.markdown)
    app.button(key="own data").click().run()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert asked(app).data.digest == digest and not app.exception and not app.warning
    assert data_file.path_for(with_values(preset("tiny").scenario, {"data.digest": digest})) == path
    with pytest.raises(BadFile, match="is not a file"):
        data_file.register(tmp_path)
    lacking = apps.opened("start", None, **{ways.PATH: str(tmp_path / "none")})
    assert "is not a file on this computer" in text(lacking.error)
    path.write_bytes(b"one,two\n1,2\n")
    lacking.text_input(key=ways.PATH).set_value(str(path)).run()
    assert "its first rows" in text(lacking.markdown) and not lacking.exception


@pytest.mark.slow
def test_a_file_of_another_shape_brings_a_model_of_it_and_can_be_fitted(tmp_path, trusted):
    random = np.random.default_rng(3)
    users, items, stars = (random.integers(1, most, 400) for most in (30, 50, 6))
    rows = "".join(f"{user},{item},{star},{n}\n" for n, (user, item, star) in enumerate(zip(users, items, stars, strict=True)))
    path = tmp_path / "ratings.csv"
    path.write_text(f"userId,movieId,rating,timestamp\n{rows}")
    app = apps.opened("start")
    app.text_input(key="data path").set_value(str(path)).run()
    assert "movielens, 400 samples; id fields: 2 (userId, movieId), dense features: 1" in text(
        app.markdown
    ) and "by timestamp" in text(app.markdown)
    app.button(key="own data").click().run()
    seen = (len(set(users)), len(set(items)))
    assert asked(app).model.num_embeddings == seen and asked(app).model.bottom_mlp[0] == 1 and asked(app).data.digest
    again = apps.opened("start")
    again.text_input(key="data path").set_value(str(path)).run()
    again.button(key="fit").click().run()
    assert "fitted to 400 samples" in text(again.markdown) and "Only 400 samples were counted" in text(again.warning)
    again.button(key="take fit").click().run()
    assert len(asked(again).data.zipf_exponents) == 2 and not asked(again).data.digest and not again.exception
    data = apps.opened("data", {"preset": "tiny", "data.digest": data_file.register(path).digest})
    assert "cannot be counted for this model" in text(data.header) and "dense features" in text(data.markdown)
    assert "2 tables" in data.button(key="take shape").label
    data.button(key="take shape").click().run()
    assert not data.error and asked(data).model.num_tables == 2
    numbers = next(
        one.value for one in data.dataframe if any(name.startswith("Misses, generator: ") for name in one.value.columns)
    )
    assert len(numbers) and any(button.key == "fit" for button in data.button)


def test_a_trace_can_be_fitted_and_not_trained_on(tmp_path, trusted):
    a_trace(tmp_path / "batch.pt", LENGTHS, INDICES)
    app = apps.opened("start", None, **{ways.PATH: str(tmp_path / "batch.pt")})
    assert "is a trace of lookups without labels" in text(app.markdown) and not any(one.key == "own data" for one in app.button)
    app.button(key="fit").click().run()
    app.button(key="take fit").click().run()
    assert asked(app).model.num_tables == 3 and not app.exception
