"""Does a REPL or notebook show a screen's worth of everything, and load nothing from a network?"""

import copy
import importlib.util
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import altair
import numpy as np
import pytest

from engine import api
from engine.core.figures import figure
from engine.scenario.presets import preset, preset_names
from scripts import notebook

NETWORK = ("cdn", "jsdelivr", "unpkg", "<script", "src=")
KINDS = {
    "chart": lambda one: one,
    "layers": lambda one: one + one,
    "side by side": lambda one: one | one,
    "one above the other": lambda one: (one & one).properties(title="Both"),
    "facets": lambda one: one.facet("Training system:N"),
    "interactive": lambda one: one.interactive(),
}


@pytest.fixture(scope="module")
def table() -> api.Table:
    return api.estimate("tiny", system=["pmem", "cxl"], cxl_bandwidth_GBps=[1, 2, 4])


@pytest.fixture
def unconverted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if vl-convert-python were not installed."""
    find = importlib.util.find_spec
    for module in (api.charts, notebook):
        monkeypatch.setattr(module, "find_spec", lambda name: None if name == "vl_convert" else find(name))
    monkeypatch.setitem(sys.modules, "vl_convert", None)


def test_a_value_is_shown_in_a_screen(table: api.Table) -> None:
    for name in preset_names():
        scenario = preset(name).scenario
        group = (scenario.model, scenario.data, scenario.machine, scenario.policy, scenario.run, scenario.faults)
        assert all(len(repr(one)) <= 400 and "\n" not in repr(one) for one in (scenario, *group))
        assert repr(scenario).startswith(f"Scenario({scenario.system}, model {scenario.model.name}")
    assert repr(table) == (
        "Table(6 estimates; varying Training system, CXL bandwidth [GB/s]; "
        f"Step time [ms] {figure(table.frame['Step time [ms]'].min())} to {figure(table.frame['Step time [ms]'].max())})"
    )
    step = table[0].results["Step time [ms]"]
    assert repr(table[0]) == f"Result(pmem, model tiny: step time {figure(step, 'ms')}; {table[0].outcome}; 1 note)"
    full = api.estimate("dlrm-terabyte", system="all-hbm")
    assert "0 ran; the first that did not: machine.num_gpus=1" in repr(full) and len(repr(full)) <= 400 >= len(repr(full[0]))


def test_a_scenario_shows_what_differs(table: api.Table) -> None:
    shown = repr(api.scenario("tiny", batches=20, cxl_bandwidth_GBps=12.5))
    assert "run.batches=20" in shown and "machine.cxl_bandwidth_GBps=12.5" in shown and "num_tables" not in shown
    assert repr(api.scenario("tiny", batches=20).run) == "RunKnobs(batches=20)"


def test_a_table_is_indexed_by_numbers(table: api.Table) -> None:
    assert table[np.int64(1)] is table[1] and len(table[2:4]) == 2
    for odd in ("Step time [ms]", 1.0, None, (1, 2)):
        with pytest.raises(api.BadInput, match=r"take columns from table\.frame"):
            table[odd]


def test_a_long_table_shows_its_first_rows_and_its_last(table: api.Table) -> None:
    assert table._repr_html_() == table.frame.to_html()
    long = api.estimate("tiny", cxl_bandwidth_GBps=[1 + n / 10 for n in range(300)])
    shown = long._repr_html_()
    rows = [f"<th>{n}</th>" in shown for n in range(300)]
    assert rows[:10] == rows[-10:] == [True] * 10 and not any(rows[10:-10])
    assert len(shown) < 20_000 and "300 rows" in shown and len(repr(long)) <= 400


@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_is_shown_without_a_network(kind: str, table: api.Table) -> None:
    shown = KINDS[kind](table.chart())._repr_mimebundle_()
    assert set(shown) == {"application/vnd.vegalite.v6+json", "image/svg+xml", "text/plain"}
    assert not [word for word in NETWORK if word in json.dumps(shown)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_that_was_pickled_or_copied_is_the_same_and_loads_nothing(kind: str, table: api.Table) -> None:
    chart = KINDS[kind](table.chart())
    for again in (pickle.loads(pickle.dumps(chart)), copy.deepcopy(chart), copy.copy(chart)):
        assert again.to_dict() == chart.to_dict() and type(again) is type(chart) and again is not chart
        assert "text/html" not in again._repr_mimebundle_() and "text/html" not in (again & table.chart())._repr_mimebundle_()


@pytest.mark.slow
def test_a_file_of_a_chart_loads_nothing_either(table: api.Table, tmp_path: Path) -> None:
    table.chart().save(tmp_path / "chart.html")
    text = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert "jsdelivr" not in text and 'src="http' not in text and len(text) > 500_000
    assert "jsdelivr" in table.chart().to_html(inline=False)


def test_files_of_a_chart_have_their_scripts_inside_unless_told_otherwise(
    table: api.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = []
    for name in ("to_html", "save"):
        monkeypatch.setattr(altair.Chart, name, lambda self, *_, inline: inside.append(inline))
    table.chart().to_html()
    table.chart().save("chart.html")
    table.chart().to_html(inline=False)
    assert inside == [True, True, False]


def test_a_chart_of_many_points_is_a_picture_of_pixels(table: api.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.charts, "MOST_DRAWN", 10_000)
    assert "image/png" in table.chart()._repr_mimebundle_()


@pytest.mark.usefixtures("unconverted")
def test_without_the_converter_a_chart_says_how(table: api.Table) -> None:
    shown = table.chart()._repr_mimebundle_()
    assert set(shown) == {"application/vnd.vegalite.v6+json", "text/plain"}
    assert "pip install vl-convert-python" in shown["text/plain"]


def test_charts_of_others_and_renderers_that_are_chosen_stay_as_they_are(table: api.Table) -> None:
    assert "text/html" in altair.Chart.from_dict(table.spec())._repr_mimebundle_()
    with altair.renderers.enable("mimetype"):
        assert "image/svg+xml" not in table.chart()._repr_mimebundle_()[0]


def test_a_chart_is_its_specification(table: api.Table) -> None:
    chart = table.chart()
    assert isinstance(chart, altair.Chart) and chart.to_dict()["encoding"] == table.spec()["encoding"]
    for odd in (["Step time [ms]"], None, 3):
        with pytest.raises(api.BadInput, match="a chart shows one"):
            table.chart(odd)


def book(*cells: str) -> dict[str, Any]:
    return {"cells": [{"cell_type": "code", "source": [source], "outputs": []} for source in cells]}


@pytest.mark.usefixtures("unconverted")
def test_a_notebook_runs_with_what_the_package_needs_and_keeps_its_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "emberpool", api)
    file = tmp_path / "book.ipynb"
    cells = book("import emberpool as ep", "ep.estimate('tiny', system=['pmem', 'cxl']).chart()")
    file.write_text(json.dumps(cells), encoding="utf-8")
    assert notebook.main([str(file)]) == 0
    assert "pip install it for those that change" in capsys.readouterr().err
    written = json.loads(file.read_text(encoding="utf-8"))
    written["cells"][1]["outputs"][0]["data"]["image/png"] = "old"
    file.write_text(json.dumps(written), encoding="utf-8")
    assert notebook.main([str(file), "--check"]) == 0 == notebook.main([str(file)])
    assert json.loads(file.read_text(encoding="utf-8")) == written
