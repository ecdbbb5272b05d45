"""The editor of tables: does it take pasted lists as one, refuse them in a sentence, and show lists where knobs stand?"""

import pandas as pd
import pytest

from engine.embedding_tables.table_list import text_of
from engine.errors import BadInput
from engine.scenario.scenario import with_values
from engine.sweep import links
from engine.units import MiB
from pages.design_page import details
from pages.embedding_tables import pasted_tables, table_editor
from pages.start_page import own_tables, questions
from tests import apps
from tests.apps import text
from tests.cases import each
from tests.embedding_tables.unlike_tables import mixed_scenario

LIST = "Name\tRows\tDim\tLookups\tPrecision\nusers\t5 M\t128\t1\tFP16\nitems\t200000\t64\t20\tfp32\n"
PASTE, APPLY = "tables pasted {}", "apply tables {}"
TORCHREC = (
    "[EmbeddingBagConfig(num_embeddings=1000, embedding_dim=64, name='t1', data_type=<DataType.FP16: 'FP16'>, "
    "feature_names=['f0', 'f1'], pooling=<PoolingType.SUM: 'SUM'>), EmbeddingBagConfig(num_embeddings=50, embedding_dim=16, "
    "name='t2', feature_names=['f2'])]"
)


def asked(app):
    return app.session_state["scenario"]


def start():
    return apps.opened("start", **{own_tables.OPEN: True})


def design(query="preset=tiny", **state):
    return apps.opened("design", apps.link(query), **{details.TABLES: True, **state})


def paste(app, here, written):
    return app.text_area(key=PASTE.format(here)).set_value(written).run()


@each("place", range(2), few=1)
def test_tables_pasted_on_start_are_asked_about_with_one_press(place):
    app = start()
    app.radio(key=questions.QUESTION_KEY).set_value(place).run()
    paste(app, "start", LIST)
    assert "2 tables, 5,200,000 rows, 1.33 GB with optimizer state: 1.28 GB 128 wide, 51.2 MB 64 wide" in text(app.markdown)
    app.button(key=APPLY.format("start")).click().run()
    model = asked(app).model
    assert not app.exception and not app.error and not app.title
    assert (model.num_embeddings, model.embedding_dim, model.pooling) == ((5_000_000, 200_000), (128, 64), (1, 20))
    assert (model.row_precision, model.optimizer, model.bottom_mlp[-1]) == (("fp16", "fp32"), "sgd", 128)
    assert (asked(app).data.batch_size, asked(app).data.popularity) == (4096, "kaggle"), "the form's own"
    app.button(key="undo").click().run()
    assert asked(app).model.num_tables == 26


def test_a_torchrec_list_gives_an_answer_in_three_actions():
    """Open the section, paste, press."""
    app = start()
    paste(app, "start", TORCHREC)
    assert "2 tables, 1,050 rows" in text(app.markdown)
    app.button(key=APPLY.format("start")).click().run()
    assert asked(app).model.embedding_dim == (64, 16) and asked(app).model.features == (2, 1) and not app.exception
    app = start()
    paste(app, "start", "[EmbeddingBagConfig(")
    assert app.error and asked(app).model.num_tables == 26


@each("written", ("[EmbeddingBagConfig(", '{"tables": []}', "num_embeddings=5", "[]", TORCHREC))
def test_what_torchrec_writes_goes_to_its_reader(written):
    assert pasted_tables.TORCHREC.search(written) or written.startswith(pasted_tables.LIST_BEGINS)


def test_a_table_with_torchrecs_headings_is_still_a_table():
    found = pasted_tables.tables_of("name,num_embeddings,embedding_dim\nt,5,8\n")
    assert found.changes["model.num_embeddings"] == (5,) and found.names == ("t",)


def test_nothing_is_applied_until_the_list_is_good_and_pressed():
    app = design()
    before = asked(app)
    assert app.button(key=APPLY.format("design")).disabled, "nothing differs yet"
    paste(app, "design", "Rows,Dim\n5,8\nmany,8\n")
    assert "Line 3: column Rows: 'many' is not a number" in text(app.error) and asked(app) == before
    paste(app, "design", LIST)
    assert not app.error and asked(app) == before and not app.button(key=APPLY.format("design")).disabled
    app.button(key="reset tables design").click().run()
    assert app.button(key=APPLY.format("design")).disabled and asked(app) == before


def results_shown(app):
    """Return the names in the table of results, which stands below the grid."""
    return {*next(one.value for one in app.dataframe if "Embedding time [ms]" in one.value)["Table"]}


def test_applied_tables_are_in_the_link_and_their_names_beside_the_results():
    app = design(**{"rows section": True})
    paste(app, "design", LIST)
    app.button(key=APPLY.format("design")).click().run()
    assert not app.exception and asked(app).model.embedding_dim == (128, 64)
    assert dict(apps.address(app))["model.embedding_dim"] == "128;64"
    assert results_shown(app) == {"users", "items"} and "embedding time" in text(app.markdown)
    assert "Embedding work keeps" in text(app.caption)
    app.session_state["knob model.num_embeddings"] = "7;9"
    app.run()
    assert results_shown(app) == {"1", "2"}, "names are of other tables now"


def test_a_press_that_streamlit_repeats_changes_nothing_more(monkeypatch):
    """It calls callbacks again where the run after them was interrupted: the second call must not bring old tables back."""
    twice = table_editor._apply

    def repeated(*args):
        try:
            twice(*args)
        finally:
            twice(*args)

    monkeypatch.setattr(table_editor, "_apply", repeated)
    app = design()
    paste(app, "design", LIST)
    app.button(key=APPLY.format("design")).click().run()
    assert asked(app).model.embedding_dim == (128, 64)


def test_rows_are_read_with_what_was_changed_added_and_deleted_by_the_numbers_that_the_grid_shows():
    frame = pd.DataFrame({"Table": ["a", "b", "c"], "Rows": ["10", "20", "30"]}, index=pd.RangeIndex(1, 4))
    edits = {"edited_rows": {0: {"Rows": "11"}, "2": {"Rows": None}}, "added_rows": [{"Rows": "40"}], "deleted_rows": [1]}
    rows = table_editor.edited_rows(frame, edits)
    assert [(row.place, row.cells.get("Table"), row.cells.get("Rows")) for row in rows] == [
        ("Row 1", "a", "11"),
        ("Row 3", "c", None),
        ("Added row 1", None, "40"),
    ]
    assert [row.place for row in table_editor.edited_rows(frame, {})] == ["Row 1", "Row 2", "Row 3"]


def test_where_a_list_is_in_force_a_knob_of_words_is_a_text_and_one_word_makes_it_a_choice_again():
    s = with_values(
        mixed_scenario(3), {"model.optimizer": ("sgd", "adam", "adam"), "model.row_precision": "fp32", "system": "cxl"}
    )
    app = apps.opened("runs", dict(links.query(s, "tiny")), **{"group model": True})
    assert app.text_input(key="knob model.optimizer").value == "sgd;adam*2"
    assert app.text_input(key="knob model.embedding_dim").value == "64*2;4"
    assert app.selectbox(key="knob model.row_precision").value == "fp32"
    app.session_state["group model"], app.session_state["find"] = False, "optimizer"  # whose knob alone is drawn from here on
    app.run()
    app.text_input(key="knob model.optimizer").set_value("sgd*2;adagrad").run()
    assert asked(app).model.optimizer == ("sgd", "sgd", "adagrad") and not app.exception
    app.text_input(key="knob model.optimizer").set_value("sgd*2;adagard").run()
    assert "did you mean adagrad" in text(app.caption) and asked(app).model.optimizer == ("sgd", "sgd", "adagrad")
    app.text_input(key="knob model.optimizer").set_value("adam").run()
    assert asked(app).model.optimizer == "adam" and app.selectbox(key="knob model.optimizer").value == "adam"
    app.selectbox(key="knob model.optimizer").set_value("sgd").run()
    assert asked(app).model.optimizer == "sgd" and not app.exception


def test_the_chips_and_the_headline_speak_of_lists():
    app = design(links.text_of(links.query(mixed_scenario(7), "tiny")))
    chips = [button.label.replace("\\", "") for button in app.button if str(button.key).startswith("chip model.")]
    assert any(label.startswith("Rows per table 7 values") for label in chips), chips
    assert "your model (7 tables" in text(app.header).replace("\\", "")


def test_a_csv_that_was_uploaded_comes_with_its_lines():
    s = mixed_scenario(4)
    found = pasted_tables.tables_of(text_of(s.model, ("a", "b", "c", "d")), "mine.csv")
    assert found.names == ("a", "b", "c", "d") and found.changes["model.pooling"] == s.model.pooling
    with pytest.raises(BadInput, match=r"mine\.csv:2: column Rows"):
        pasted_tables.tables_of("Rows\nx\n", "mine.csv")
    with pytest.raises(BadInput, match=r"mine\.csv:1: the text is UTF-16"):
        pasted_tables.file_text(b"\xff\xfe", "mine.csv")
    with pytest.raises(BadInput, match=r"mine.csv has 1\.00 MiB, and a file of tables at most 1\.00 MiB; upload"):
        pasted_tables.file_text(b"1" * (MiB + 1), "mine.csv")


def test_an_uploaded_list_of_tables_leaves_the_memory():
    app = start()
    app.file_uploader(key="tables uploaded start").set_value(("mine.csv", b"Rows\n5000\n", "text/csv")).run()
    assert app.session_state["tables uploaded start"].getvalue() == b"" and not app.exception


def test_a_press_that_ends_a_paste_asks_about_what_was_pasted():
    """A field is taken over as it loses the focus to the button: both reach the same run."""
    app = start()
    app.text_area(key=PASTE.format("start")).set_value("rows\tdim\n30000000\t128\n40000\t16\n")
    app.button(key=APPLY.format("start")).click().run()
    assert not app.exception and asked(app).model.embedding_dim == (128, 16)
