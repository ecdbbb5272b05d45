"""The page History: does it list what was run, and let one reopen, compare, export, pin and delete it?"""

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from engine.artefact import read_artefact
from engine.results import csv_table
from engine.results.result import Result
from engine.results.short_table import short_csv_text
from engine.scenario.keys import key
from engine.scenario.scenario import with_values
from engine.service import computations, history
from engine.store import requests, result_rows
from engine.store.database import DEFAULT, open_store
from engine.sweep import links
from engine.sweep.axes import parse
from engine.sweep.questions import LinkQuestions
from engine.sweep.sweep import Sweep
from pages.runs_page import history_charts, history_panel, history_tables
from pages.ui.page_link import host
from tests import apps
from tests.service_fakes import ask, scenario, scenarios

STEP = "Step time [ms]"


def asked(seeds: range, finished: int | None = None, title: str = "") -> int:
    """A request for some seeds, of which the first `finished` have their seed as step time."""
    request = requests.submit(DEFAULT, scenarios(seeds), "estimate", title=title)
    with open_store(DEFAULT) as store:
        names = {key(scenario(seed), "estimate"): seed for seed in seeds[:finished]}
        computations.claim_points(store, request, list(names))
        for name, seed in names.items():
            result = Result(
                scenario(seed), ran=True, outcome="It completed.", results={STEP: float(seed), "AUC": 0.5 + seed / 100}
            )
            computations.close_claims(store, [(name, "kept", result_rows.row_text(result))])
        requests.end_requests(store)
    return request


def page() -> AppTest:
    return apps.opened("runs")


def panel(*requests: int) -> AppTest:
    """The part below the list, with these requests chosen."""

    def script(requests):  # type: ignore[no-untyped-def]
        from engine.service import history
        from engine.store.database import DEFAULT
        from pages.runs_page import history_panel

        history_panel.draw([entry for entry in history.past_requests(DEFAULT) if entry.request in requests])

    return AppTest.from_function(script, args=(requests,)).run()


def test_an_empty_history_says_what_will_stand_there() -> None:
    app = page()
    assert not app.exception and app.header[0].value == "There are no runs yet"
    assert app.markdown[0].value.startswith("Train a system on Design") and not app.dataframe


def test_the_page_lists_the_newest_request_first_and_finds_words() -> None:
    asked(range(1, 4), title="Three *points*")
    asked(range(3, 9), finished=2)
    app = page()
    assert not app.exception
    shown = app.dataframe[0].value
    assert list(shown["What"]) == [history.past_requests(DEFAULT)[0].title, "Three *points*"]
    assert list(shown["How"]) == ["estimated", "estimated"]
    assert list(shown["State"]) == ["running, 33.3 %", "done"] and list(shown["Points"]) == ["2 of 6", "3"]
    assert "The store holds 4 results in " in apps.text(app.markdown)
    app.text_input(key="history words").input("three DONE").run()
    assert list(app.dataframe[0].value["What"]) == ["Three *points*"]
    assert any(one.key == "pin" for one in app.button)  # the only one left is chosen
    app.text_input(key="history words").input("#1 #2").run()
    assert any("2 runs chosen" in text.value for text in app.markdown)
    app.text_input(key="history words").input("nothing like it").run()
    assert "None of 2 runs" in apps.text(app.info)


def test_chosen_requests_are_compared_point_by_point() -> None:
    one, other = asked(range(10, 14)), asked(range(12, 20))
    app = panel(one, other)
    assert not app.exception
    said = apps.chart_words(app)["compared"]
    assert f"#{one} reaches the lowest step time, 10" in said and f"with Data seed 10; #{other} 12" in said
    assert app.selectbox(key="history across").options == [history_tables.RANK, "Data seed"]
    shown = app.dataframe[0].value
    assert list(shown["Request"][:4]) == [f"#{one}", f"#{one}", f"#{other}", f"#{one}"]
    app.selectbox(key="history metric").select("AUC").run()
    assert list(app.dataframe[0].value["AUC"]) == sorted(shown["AUC"], reverse=True)


def test_the_best_auc_of_each_request_is_told_with_its_own_error() -> None:
    frame = pd.DataFrame({"Request": ["#1", "#1", "#2"], "AUC": [0.7111, 0.7645, 0.7], "AUC error": [0.12, 0.0012, 0.0123]})
    assert history_tables.finding(frame, "AUC") == "#1 reaches the highest AUC, 0.7645 ± 0.0012; #2 0.700 ± 0.012"
    assert "0.764; #2 0.700" in history_tables.finding(frame.drop(columns="AUC error"), "AUC")


def test_a_chosen_request_reopens_as_what_was_asked() -> None:
    request = asked(range(5, 6))
    link = panel(request).get("link_button")[0].proto.url
    assert links.open_link(link).scenario == scenario(5)


def test_a_link_brings_the_requests_that_are_compared_and_says_which_are_not_here() -> None:
    here = [links.link(scenario(seed), page="search") for seed in (1, 2)]
    these = [requests.submit(DEFAULT, [scenario(n)], "estimate", link=link) for n, link in zip((1, 2), here, strict=True)]
    runs = (*(f"estimate:{link}" for link in here), f"full:{here[0]}")
    words = links.query(scenario(9), questions=LinkQuestions(runs=runs))
    app = apps.opened("runs", {name: list(runs) if name == "run" else value for name, value in words})
    assert not app.exception and app.text_input(key="history words").value == " ".join(f"#{one}" for one in these)
    assert "1 of the compared runs is not on this server" in app.warning[0].value
    (missing,) = [one.proto for one in app.get("link_button") if "1 of 1" in one.proto.label]
    assert missing.url == here[0] and "a full run" in missing.label
    assert sorted(app.query_params["run"]) == sorted(runs[:2]), "the address says what is compared now"
    nameless = asked(range(30, 32))  # no link finds two seeds again that nobody put on an axis
    app.text_input(key="history words").input(f"#{nameless}").run()
    assert "run" not in app.query_params and any("2 estimates" in text.value for text in app.markdown)
    app.text_input(key="history words").input("").run()
    assert "run" not in app.query_params and not app.exception


def test_a_link_brings_the_words_and_the_metric_and_reopens_a_full_sweep_as_one() -> None:
    swept = Sweep(scenario(1), (parse("data.seed:1,2"),))
    for how in ("full", "estimate"):
        requests.submit(DEFAULT, swept, how, link=history.reopening(swept), title=f"my {how}")
    asked_for = {"find": "my full", "metric": "AUC"}
    app = apps.opened("runs", asked_for)
    assert app.text_input(key="history words").value == "my full" and len(app.dataframe[0].value) == 1
    assert asked_for.items() <= dict(app.query_params).items() | {(name, held[0]) for name, held in app.query_params.items()}
    reopened = links.open_link(app.get("link_button")[0].proto.url)
    assert (reopened.questions.mode, reopened.axes) == ("full", ("data.seed:1,2",))
    app.text_input(key="history words").input("my").run()
    assert app.query_params["find"] in ("my", ["my"])


@pytest.mark.usefixtures("trusted")
def test_pinning_and_deleting_ask_the_store_and_tell_what_goes() -> None:
    one, other = asked(range(1, 5)), asked(range(3, 9))
    for pinned in (1, 0):
        panel(one).button(key="pin").click().run()
        assert ask(DEFAULT, "SELECT pinned FROM requests ORDER BY id") == [(pinned,), (0,)]
    app = panel(one)
    assert any("and 2 results that no other run has" in text.value for text in app.markdown)
    app.button(key="delete").click().run()
    assert [entry.request for entry in history.past_requests(DEFAULT)] == [other]
    assert ask(DEFAULT, "SELECT count(*) FROM results") == [(6,)]
    gone = panel(other)
    history.delete(DEFAULT, [other], requests.COMMAND)
    gone.button(key="delete").click().run()
    assert not gone.exception and "someone may have deleted it" in gone.toast[0].value


def test_a_request_whose_results_have_gone_says_so() -> None:
    request = asked(range(3))
    ask(DEFAULT, "DELETE FROM results")
    app = panel(request)
    assert not app.exception and "No point has a result now; reopen the run" in app.caption[-1].value
    assert list(page().dataframe[0].value["State"]) == ["evicted"]


def test_curves_are_thinned_and_ordered_from_best_to_worst() -> None:
    frame = pd.DataFrame({"Request": "#1", "AUC": [0.5 + n / 1e4 for n in range(2000)]})
    marks = history_tables.marks(frame, "AUC", history_tables.RANK)
    assert len(marks) == history_tables.MOST_MARKS
    assert marks["value"].is_monotonic_decreasing and marks["place"].iloc[[0, -1]].tolist() == [0.0, 100.0]
    assert {"request", "place", "value"} == set(marks.columns)
    spec = history_charts.compared("AUC", history_tables.RANK, ("#1",), True)
    fields = {one["field"] for one in (spec["encoding"][name] for name in ("x", "y", "color"))}
    assert fields == set(marks.columns)


def test_a_request_shows_what_it_holds_of_a_knob_that_only_another_one_varies() -> None:
    one = asked(range(10, 12))
    swept = [with_values(scenario(5), {"data.batch_size": size}) for size in (64, 128)]
    other = requests.submit(DEFAULT, swept, "estimate")
    with open_store(DEFAULT) as store:
        for number, point in enumerate(swept):
            result = Result(point, ran=True, outcome="It completed.", results={STEP: number + 1.0, "AUC": 0.5})
            result_rows.store_results(store, [(key(point, "estimate"), result_rows.row_text(result))])
    frame = history_tables.points(DEFAULT, history.past_requests(DEFAULT))
    rows = frame[["Request", "Data seed", "Batch size [samples]"]].itertuples(index=False, name=None)
    held = scenario(5).data.batch_size
    assert sorted(rows) == [(f"#{one}", 10, held), (f"#{one}", 11, held), (f"#{other}", 5, 64), (f"#{other}", 5, 128)]
    assert history_tables.finding(frame, STEP) == (
        f"#{other} reaches the lowest step time, 1.00 ms with Batch size 64 samples, Data seed 5; #{one} 10.0 ms"
    )


def test_points_of_all_requests_stand_in_one_table_and_late_ones_join_them() -> None:
    asked(range(10, 14))
    asked(range(12, 20), finished=5)
    frame = history_tables.points(DEFAULT, history.past_requests(DEFAULT))
    assert sorted(frame["Data seed"]) == sorted(frame[STEP]) == [10, 11, 12, 12, 13, 13, 14, 15, 16]
    late = Result(scenario(19), ran=True, outcome="It completed.", results={STEP: 19.0, "AUC": 0.7})
    with open_store(DEFAULT) as store:
        result_rows.store_results(store, [(key(scenario(19), "estimate"), result_rows.row_text(late))])
    frame = history_tables.points(DEFAULT, history.past_requests(DEFAULT))
    assert sorted(frame[STEP]) == [10, 11, 12, 12, 13, 13, 14, 15, 16, 19]


def test_files_hold_every_result_whole_or_of_very_many_points_what_varies(monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked(range(1, 4))
    (entry,) = history.past_requests(DEFAULT)
    results = [result for _, result in result_rows.stored_results(DEFAULT, scenarios(range(1, 4)), "estimate") if result]
    assert history_panel._csv_text([entry], "estimate") == csv_table.csv_text(results, "estimate")
    assert history_panel._json_lines([entry]).splitlines() == [result_rows.result_text(result) for result in results]
    assert history_panel._short_csv_text([entry]) == short_csv_text(results, host())
    monkeypatch.setattr(history_panel, "MOST_SHORT", 2)
    assert history_panel._short_csv_text([entry]).startswith("Request,Data seed,")
    monkeypatch.setattr(history_panel, "MOST_WHOLE", 2)
    short = list(csv.DictReader(io.StringIO(history_panel._csv_text([entry], "estimate"))))
    assert [(row["Request"], row["Data seed"], row[STEP]) for row in short] == [
        (f"#{request}", f"{n}", f"{n}.0") for n in (1, 2, 3)
    ]
    assert apps.download_keys(panel(request)) == ["file CSV", "file CSV, every column", "file JSON"]


def test_a_single_run_is_saved_as_a_zip_that_can_be_verified(tmp_path: Path) -> None:
    request = asked(range(5, 6))
    assert apps.download_keys(panel(request)) == ["file CSV", "file CSV, every column", "file Zip", "file JSON"]
    (entry,) = history.past_requests(DEFAULT)
    path = tmp_path / "run.zip"
    path.write_bytes(history_panel._run_zip([entry]))
    artefact = read_artefact(path)
    assert artefact.fidelity == "estimate" and artefact.content["results"][STEP] == 5.0
    assert links.open_link(artefact.link).scenario == scenario(5)
