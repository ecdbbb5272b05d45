"""Does a stranger's table become data in three presses, for those alone who may say what it means, and is that taken back?"""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from engine.service import progress_file
from engine.service.progress_file import progress
from engine.workload.readers import mapping
from pages.answers import data_file, later, stored_uploads
from pages.data_page import reading
from pages.gate import access
from pages.own_data import guess_panel, ways
from pages.start_page import questions
from tests import apps
from tests.apps import text
from tests.cases import each

RANDOM = np.random.default_rng(2)
TABLE = "shopper,product,paid,price\n" + "".join(
    f"s{RANDOM.integers(30)},{RANDOM.integers(90)},{n % 2},{n % 7}.5\n" for n in range(90)
)
NOT_DESCRIBED = "columns have no description"
MAPPING = {"label": "paid", "ids": ["shopper", "product"], "dense": ["price"]}


@pytest.fixture(autouse=True)
def unknown(monkeypatch, tmp_path):
    """Let no file be known to the server, nothing be kept of other tests, and no token be given."""
    monkeypatch.setattr(data_file, "_FILES", {})
    monkeypatch.setattr(access, "_token", "")
    monkeypatch.setattr(mapping, "KEPT_MAPPINGS", tmp_path / "own" / "mappings")


@pytest.fixture
def path(tmp_path):
    """Return a table that nobody has described."""
    path = tmp_path / "shop.csv"
    path.write_text(TABLE)
    return path


def typed(path: Path):
    """Return Start with a path in its field."""
    return apps.opened("start", None, **{ways.PATH: str(path)})


def test_a_typed_table_is_guessed_accepted_and_shown_in_three_presses(path, trusted):
    app = apps.opened("start").text_input(key=ways.PATH).set_value(str(path)).run()
    assert NOT_DESCRIBED in text(app.markdown) and not app.error
    rows = app.dataframe[0].value
    assert list(rows.columns) == ["shopper", "product", "paid", "price"]
    assert rows.iloc[0].tolist() == TABLE.splitlines()[1].split(",")
    app.button(key="accept guess").click().run()
    assert tomllib.loads(Path(f"{path}.toml").read_text()) == MAPPING
    assert "shop.csv** is ready" in text(app.markdown) and "90 samples; id fields: 2" in text(app.markdown)
    assert "0 of" in text(app.caption) and "rows stay empty" in text(app.caption)
    app.button(key="own popularity").click().run()
    assert not app.exception and not app.error
    assert "Ids are numbered as rows in the order first seen in all tables" in text(app.markdown), (
        "the page of popularity is open"
    )


def test_a_table_of_uneven_lists_is_trained_on_for_the_model_of_another_number_of_tables(tmp_path, trusted):
    path = tmp_path / "shop.csv"
    path.write_text("paid,tags,product\n" + "".join(f"{n % 2},{'|'.join('abcd'[: n % 4 + 1])},{n % 30}\n" for n in range(90)))
    app = typed(path)
    app.button(key="accept guess").click().run()
    app.radio(key=questions.QUESTION_KEY).set_value(1).run()
    app.button(key="own data").click().run()
    assert len(app.session_state["scenario"].data.bag_length_cv) == 2 and not app.error and not app.exception
    assert "your model (2 tables" in text(app.header)


def test_a_guess_can_be_taken_back(path, trusted):
    app = typed(path)
    app.button(key="accept guess").click().run()
    app.button(key="take back").click().run()
    assert not Path(f"{path}.toml").exists() and NOT_DESCRIBED in text(app.markdown)
    Path(f"{path}.toml").write_text('label = "paid"\nids = "shopper"\n')
    app.run()
    assert "id fields: 1" in text(app.markdown) and not any(button.key == "take back" for button in app.button)


def test_what_a_visitor_changes_is_what_is_saved(path, trusted, monkeypatch):
    def edited(table, **_):
        table = table.set_index("Column")
        table.loc["shopper", "Means"] = "left out"
        table.loc["price", "Means"], table.loc["paid", "Means"], table.loc["price", "How"] = "label", "left out", ">= 3"
        return table.reset_index()

    monkeypatch.setattr(guess_panel.st, "data_editor", edited)
    app = typed(path)
    app.button(key="accept guess").click().run()
    assert tomllib.loads(Path(f"{path}.toml").read_text()) == {"label": "price >= 3", "ids": ["product"]}


def test_what_is_changed_for_one_file_is_not_changed_for_the_next(path, trusted, monkeypatch):
    keys = []
    monkeypatch.setattr(guess_panel.st, "data_editor", lambda table, key, **_: keys.append(key) or table)
    app = typed(path)
    (other := path.with_name("other.csv")).write_text(TABLE.replace("shopper", "visitor"))
    app.text_input(key=ways.PATH).set_value(str(other)).run()
    assert len(set(keys)) == 2 and not app.exception


@each("line", [2, 9000], few=1)
def test_a_stray_mark_anywhere_in_the_first_rows_is_no_dead_end(line, path, trusted):
    Path(f"{path}.toml").unlink(missing_ok=True)
    rows = [f"s{n % 30},{n % 90},{n % 2},film {n}\n" for n in range(10_000)]
    rows[line - 2] = f's1,2,{line % 2},"45 single\n'
    path.write_text("shopper,product,paid,title\n" + "".join(rows))
    app = typed(path)
    assert app.selectbox(key=next(box.key for box in app.selectbox if box.key.startswith("marks "))).value == "none"
    app.button(key="accept guess").click().run()
    assert "10,000 samples" in text(app.markdown) and 'quotes = "none"' in Path(f"{path}.toml").read_text()


def test_a_visitor_says_what_quotation_marks_are(path, trusted):
    app = typed(path)
    box = next(box for box in app.selectbox if box.key.startswith("marks "))
    box.set_value("multiline").run()
    app.button(key="accept guess").click().run()
    assert tomllib.loads(Path(f"{path}.toml").read_text()) == MAPPING | {"quotes": "multiline"} and "is ready" in text(
        app.markdown
    )


def test_an_upload_is_accepted_for_its_visitor_and_kept_with_its_mapping(monkeypatch):
    app = apps.opened("start")
    field = [("shop.csv", TABLE.encode(), "text/csv")]
    app.file_uploader(key=ways.UPLOAD).set_value(field).run()
    app.button(key="accept guess").click().run()
    assert "shop.csv** is ready" in text(app.markdown) and not app.error
    app.button(key="take back").click().run()
    assert NOT_DESCRIBED in text(app.markdown)
    app.button(key="accept guess").click().run()
    app.button(key="own data").click().run()
    digest = app.session_state["scenario"].data.digest
    (kept,) = (upload.path for upload in stored_uploads.stored_uploads(digest))
    assert kept.read_text() == TABLE and tomllib.loads(Path(f"{kept}.toml").read_text()) == MAPPING
    monkeypatch.setattr(access, "visitor", lambda: "a stranger")
    stranger = apps.opened("start")
    stranger.file_uploader(key=ways.UPLOAD).set_value(field).run()
    assert NOT_DESCRIBED in text(stranger.markdown), "another visitor's guess is another visitor's"


def test_without_the_token_a_file_named_at_start_is_shown_but_not_described(path, monkeypatch):
    monkeypatch.setattr(ways, "given_file", lambda: data_file.register(path, data_file.START))
    app = apps.opened("start")
    assert NOT_DESCRIBED in text(app.markdown) and access.TOKEN_HINT in text(app.caption)
    assert not any(button.key == "accept guess" for button in app.button) and 'label = "paid"' in text(app.code)


def test_a_file_without_labels_can_be_fitted_and_not_trained_on(tmp_path, trusted):
    path = tmp_path / "visits.csv"
    path.write_text("shopper,product\n" + "".join(f"s{n % 17},{n % 23}\n" for n in range(300)))
    app = typed(path)
    assert "No column is the label" in text(app.caption)
    app.button(key="accept guess").click().run()
    assert "no labels" in text(app.markdown) and "no run can train on it" in text(app.caption)
    assert not any(button.key == "own data" for button in app.button) and any(button.key == "fit" for button in app.button)


def test_a_mapping_that_cannot_be_saved_is_said(path, trusted, monkeypatch, tmp_path):
    app = typed(path)
    Path(f"{path}.toml").write_text("")  # by somebody else, meanwhile
    app.button(key="accept guess").click().run()
    assert "has changed since" in text(app.error) and Path(f"{path}.toml").read_text() == ""
    app.button(key="accept guess").click().run()
    assert "exists already" in text(app.error) and Path(f"{path}.toml").read_text() == ""


def test_a_file_that_changes_after_it_was_looked_at_gets_no_mapping(path, trusted):
    app = typed(path)
    path.write_text("one,two\n" + "1,2\n" * 60)
    app.button(key="accept guess").click().run()
    assert not Path(f"{path}.toml").exists() and {"one", "two"} == set(app.dataframe[0].value.columns)
    path.unlink()
    app.button(key="accept guess").click().run()
    assert not Path(f"{path}.toml").exists() and "is not a file" in text(app.error)


def chosen(monkeypatch, **meanings):
    """Choose the meanings of columns, and how, in the table."""

    def edited(table, **_):
        table = table.set_index("Column")
        for column, (meaning, how) in meanings.items():
            table.loc[column, ["Means", "How"]] = meaning, how
        return table.reset_index()

    monkeypatch.setattr(guess_panel.st, "data_editor", edited)


FAULTY = {
    "no ids": ({"shopper": ("left out", ""), "product": ("number", "")}, "No column has ids"),
    "two labels": ({"shopper": ("label", "")}, "2 columns have the meaning label"),
    "two times": ({"shopper": ("time", ""), "price": ("time", "")}, "2 columns have the meaning time"),
    "a rule": ({"paid": ("label", ">= abc")}, "compares with something that is not a number"),
    "a mark": ({"shopper": ("list of ids", '"')}, "cannot separate ids"),
    "two marks": ({"shopper": ("list of ids", ";"), "product": ("list of ids", "|")}, "a mapping has one mark"),
    "no number": ({"shopper": ("number", "")}, "is not a finite number"),
    "a time's format": ({"price": ("time", "%Q")}, "time"),
}


@each("what", FAULTY, few=5)
def test_meanings_that_cannot_be_read_are_said_before_they_are_saved(what, path, trusted, monkeypatch):
    meanings, words = FAULTY[what]
    chosen(monkeypatch, **meanings)
    app = typed(path)
    assert words in text(app.warning) and app.button(key="accept guess").disabled and not app.exception


def test_meanings_that_no_run_can_train_on_are_taken_back_beside_the_error(path, trusted, monkeypatch):
    chosen(monkeypatch, paid=("label", ">= 7"))
    app = typed(path)
    app.button(key="accept guess").click().run()
    assert "is ready" not in text(app.markdown) and app.error
    app.button(key="take back").click().run()
    assert not Path(f"{path}.toml").exists() and NOT_DESCRIBED in text(app.markdown)


def test_a_mapping_that_somebody_has_changed_since_is_theirs(path, trusted):
    app = typed(path)
    app.button(key="accept guess").click().run()
    there = Path(f"{path}.toml")
    there.write_text(there.read_text() + 'rows = "hashed"\n')
    app.run()
    assert not any(button.key == "take back" for button in app.button) and "is ready" in text(app.markdown)


def test_an_upload_has_a_mapping_of_its_visitor_alone(path, monkeypatch):
    written = mapping._write

    def refused(there, text):
        if there.parent == path.parent:
            raise PermissionError
        return written(there, text)

    monkeypatch.setattr(mapping, "_write", refused)
    assert mapping.save(path, "label = 'paid'\nids = 'shopper'\n").parent == mapping.KEPT_MAPPINGS
    app = apps.opened("start")
    field = app.file_uploader(key=ways.UPLOAD)
    field.set_value([("shop.csv", TABLE.encode(), "text/csv"), ("shop.toml", b"", "text/plain")]).run()
    assert NOT_DESCRIBED in text(app.markdown) and not app.error
    app.button(key="accept guess").click().run()
    assert "id fields: 2" in text(app.markdown) and not app.error


def test_a_header_without_a_name_of_its_own_is_refused(tmp_path, trusted):
    path = tmp_path / "twice.csv"
    path.write_text("a,a,a\n" + "x1,y1,z1\n" * 60)
    app = typed(path)
    assert "no column name in the header is unique" in text(app.error) and not app.exception


@each("header", ["{}", "a,{}", "c0,{}"], few=1)
def test_a_wide_table_and_one_with_names_missing_are_described(header, tmp_path, trusted):
    names = [f"c{n}" for n in range(1, 120)] if header != "{}" else ["", "", "paid", "price"]
    width = len(header.format(",".join(names)).split(","))
    rows = "".join(",".join(str((n * k) % 7 if k > 1 else n % 2) for k in range(width)) + "\n" for n in range(90))
    path = tmp_path / "wide.csv"
    path.write_text(f"{header.format(','.join(names))}\n{rows}")
    app = typed(path)
    assert NOT_DESCRIBED in text(app.markdown) and not app.error and len(app.dataframe[0].value) == 8


def test_followed_work_says_how_far_it_is_and_stops_once_nobody_waits(monkeypatch):
    monkeypatch.setattr("engine.service.progress_file.EVERY_SECONDS", 0.0)
    place, seen = progress_file.create(), []

    def work(number, watch):
        for step in range(number):
            watch(step / number, f"step {step}")
            seen.append(progress(place))
            if step == 3:
                progress_file.remove(place)
        return number

    with pytest.raises(progress_file.WorkStopped):
        progress_file.run_watched(place, work, 10)
    assert seen == [(step / 10, f"step {step}") for step in range(3)] + [(0.3, "step 3")]
    assert progress(place) == (0.0, "") and not Path(place).exists()


def test_a_long_reading_shows_its_share_and_is_cancelled_until_it_is_asked_for_again(path, trusted, monkeypatch):
    Path(f"{path}.toml").write_text('label = "paid"\nids = "shopper"\n')
    reading._file_result.cache_clear()
    monkeypatch.setattr(reading, "BAR_AFTER", 0.0)
    bars = []

    def slowly(find, place, *given, meanwhile):
        Path(place).write_text("0.5 reading shop.csv")
        meanwhile()
        bars.append(Path(place).exists())
        return find(place, *given)

    monkeypatch.setattr(later, "worker_result", slowly)
    app = typed(path)
    assert bars == [True] and "is ready" in text(app.markdown)
    file = data_file.register(path, data_file.TYPED)
    app.session_state[reading.CANCELLED] = ("shape_of", (str(path), file.digest))
    app.run()
    assert "was cancelled" in text(app.info) and "is ready" not in text(app.markdown)
    app.button(key="read again").click().run()
    assert "is ready" in text(app.markdown) and not app.info
