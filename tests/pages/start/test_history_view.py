"""Histories of a file on Data: how they were read, their lengths beside the law, and the way to bags or to another cap."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.insight.fitting.fit import fit_file, lookups_of
from engine.insight.fitting.histories import report
from engine.insight.fitting.histories.fit import HistoryWindow
from engine.scenario.presets import preset
from engine.scenario.scenario import is_sequential, with_values
from engine.workload.readers.file_tables import SampleShape, knob_changes
from engine.workload.readers.guess import Guess
from engine.workload.readers.mapping_text import as_toml
from pages.answers import data_file
from pages.data_page import history_view
from pages.gate import access
from pages.own_data import ways
from tests import apps
from tests.apps import chart_words, text


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file be known to the server, and no token be given."""
    monkeypatch.setattr(data_file, "_FILES", {})
    monkeypatch.setattr(access, "_token", "")


@pytest.fixture
def listens(tmp_path: Path) -> Path:
    """Return a file of Yambda's form with a row for each of 30 users."""
    random = np.random.default_rng(3)
    sizes = random.integers(20, 60, 30)
    lists = {name: [random.integers(0, top, size) for size in sizes] for name, top in (("item_id", 200), ("is_organic", 2))}
    played = [random.integers(0, 101, size) for size in sizes]
    times = [np.arange(size) for size in sizes]
    frame = pd.DataFrame({"uid": np.arange(30), "timestamp": times, **lists, "played_ratio_pct": played})
    frame.to_parquet(tmp_path / "listens.parquet", index=False)
    return tmp_path / "listens.parquet"


def test_histories_are_shown_cut_switched_off_and_used(listens: Path, trusted: None) -> None:
    app = apps.opened("data", {"preset": "tiny"}, **{ways.PATH: str(listens)})
    assert "listens.parquet** is ready: yambda" in text(app.markdown) and not app.error
    app.button(key="fit").click().run()
    assert not app.exception and not app.error
    assert "Each row has the events of a user as lists (uid). The history of a sample has the events (item_id)" in text(
        app.markdown
    ).replace("\\", "")
    fit = fit_file(lookups_of(listens, histories=True), window=HistoryWindow(None, 16)).histories
    assert fit and report.batch_sentence(fit) in text(app.markdown).replace("\\", "")
    assert any(words.startswith("The fitted law of lengths is off by at most") for words in chart_words(app).values())
    counted = next(frame.value for frame in app.dataframe if "file [%]" in frame.value)
    assert counted["file [%]"].tolist() == pytest.approx([100 * fit.counted.events, 100 * fit.counted.rows[0]])
    app.number_input(key=history_view.CAP_KEY).set_value(25).run()
    assert "are at the cap of 25" in text(app.markdown)
    app.toggle(key=history_view.BAGS_KEY).set_value(True).run()
    assert "Each row has the events" not in text(app.markdown) and not app.exception
    app.toggle(key=history_view.BAGS_KEY).set_value(False).run()
    app.button(key="take fit").click().run()
    fitted = app.session_state["scenario"]
    assert fitted.model.feature_kind == ("bag", "sequence", "bag") and fitted.data.history_cap == 25 and not app.exception


def test_a_fault_of_histories_leaves_the_way_to_bags(tmp_path: Path, trusted: None) -> None:
    path = tmp_path / "log.csv"
    pd.DataFrame({"item": np.arange(90) % 40}).to_csv(path, index=False)
    Path(f"{path}.toml").write_text('history = ["item"]\n', encoding="utf-8")
    app = apps.opened("data", {"preset": "tiny"}, **{ways.PATH: str(path)})
    app.button(key="fit").click().run()
    assert "no column of its user is named" in text(app.error) and not app.exception
    app.toggle(key=history_view.BAGS_KEY).set_value(True).run()
    assert "fitted to 90 samples" in text(app.markdown) and not app.error


def test_a_cap_that_is_too_long_can_be_lowered(tmp_path: Path, trusted: None) -> None:
    path = tmp_path / "log.csv"
    pd.DataFrame({"user": 1, "item": np.arange(30_000) % 40}).to_csv(path, index=False)
    Path(f"{path}.toml").write_text('user = "user"\nhistory = ["item"]\n', encoding="utf-8")
    app = apps.opened("data", {"preset": "tiny", "data.history_cap": "1000000"}, **{ways.PATH: str(path)})
    app.button(key="fit").click().run()
    assert "set Longest history to 10,000 events or less" in text(app.error) and not app.exception
    app.number_input(key=history_view.CAP_KEY).set_value(100).run()
    assert "are at the cap of 100" in text(app.markdown) and not app.error


def test_the_curves_of_lengths_end_at_all_histories(listens: Path) -> None:
    fit = fit_file(lookups_of(listens, histories=True), window=HistoryWindow(30, 16)).histories
    assert fit
    frame = history_view.lengths(fit)
    counts = np.cumsum(fit.lengths) / fit.lengths.sum()
    of_file = frame[frame["name"] == history_view.FILE]
    assert of_file["y"].tolist() == pytest.approx([100 * counts[length] for length in of_file["x"]])
    assert frame.groupby("name")["y"].last().tolist() == pytest.approx([100, 100]) and of_file["x"].iloc[-1] == 30


def test_meanings_that_a_visitor_chose_make_a_mapping_of_histories() -> None:
    guesses = [Guess("who", "user"), Guess("what", "event", " "), Guess("where", "id"), Guess("at", "time")]
    assert as_toml(guesses) == 'ids = ["where"]\ntime = "at"\nuser = "who"\nhistory = ["what"]\nlists = " "\n'


def test_a_model_of_histories_becomes_one_of_bags_to_train_on_a_log() -> None:
    base = with_values(
        preset("dlrm-v4-mi350x").scenario,
        {"model.num_tables": 2, "model.feature_kind": ("bag", "sequence"), "model.num_embeddings": (9,), "model.pooling": (1, 30),
         "data.bag_length_cv": (), "data.zipf_exponents": (), "data.hot_rank_factor": ()},
    )  # fmt: skip
    log = SampleShape("log.csv", 1, (1, 1), (0.0, 0.0), (9, 9))
    suited = with_values(base, knob_changes(base, log))
    assert not is_sequential(suited.model) and suited.model.pooling == (1,)
    lists = SampleShape("lists.parquet", 1, (1, 30), (0.0, 0.0), (9, 9))
    assert is_sequential(with_values(base, knob_changes(base, lists)).model)
    other = with_values(base, knob_changes(base, SampleShape("log.csv", 1, (1, 1, 1), (0.0,) * 3, (9, 9, 9))))
    assert other.model.num_tables == 3 and not is_sequential(other.model)
