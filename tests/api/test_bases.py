"""Is a scenario the same by whatever it is named, and is everything else refused in a sentence?"""

import io
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engine import api
from engine.scenario.scenario import KNOBS, values
from tests.cases import each

TINY = api.scenario("tiny", batches=20, cxl_bandwidth_GBps=12.5)
SPREAD: dict[str, Any] = {
    "cxl_bandwidth_GBps": [None, 8, 12.5],
    "system": ["pmem", "cxl"],
    "bottom_mlp": [(5, 4, 4), (5, 8, 4)],
    "num_embeddings": [1000, (10, 20, 30)],
    "near_data_compute": [True, False],
}
STRANGERS: dict[str, Any] = {
    "nothing": None,
    "number": 3,
    "bytes": b"tiny",
    "list": ["tiny"],
    "empty list": [],
    "set": {"tiny"},
    "function": len,
    "class": api.Scenario,
    "array": np.zeros(3),
    "frame": pd.DataFrame({"system": ["pmem"]}),
    "named tuple": namedtuple("Row", "system")("pmem"),
    "empty text": " ",
    "unknown name": "Tinny",
    "broken link": "/design?nonsense=1",
    "missing file": Path("/no/such.toml"),
    "unknown knob": {"systemm": "pmem"},
    "numbered row": {0: "pmem"},
    "series of numbers": pd.Series([1.0, 2.0]),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "scenario": api.scenario,
    "estimate": api.estimate,
    "run": api.run,
    "sweep": lambda base: api.sweep(base, "system=pmem"),
    "enough": api.enough,
    "link": api.link,
    "cite": api.cite,
}


@pytest.fixture(scope="module")
def table() -> api.Table:
    return api.estimate("tiny", batches=20, **SPREAD)


def test_a_scenario_is_the_same_by_whatever_it_is_named(tmp_path: Path) -> None:
    result = api.estimate(TINY)[0]
    (tmp_path / "mine.toml").write_text(
        'preset = "tiny"\n[knobs]\nrun.batches = 20\nmachine.cxl_bandwidth_GBps = 12.5\n', encoding="utf-8"
    )
    named = [
        result,
        api.estimate(TINY),
        api.link(result),
        f"  http://localhost:8501{api.link(result)}\n",
        {"preset": "tiny", "run.batches": 20, "CXL bandwidth [GB/s]": 12.5},
        pd.Series({"preset": "tiny", "batches": 20, "machine__cxl_bandwidth_GBps": np.float64(12.5)}),
        tmp_path / "mine.toml",
        f"{tmp_path}/mine.toml",
    ]
    assert [api.scenario(base) for base in named] == [TINY] * len(named)
    assert api.cite(result) == api.cite(TINY) == api.cite("tiny", batches=20, cxl_bandwidth_GBps=12.5)
    assert api.scenario({"cxl_bandwidth_GBps": 9}) == api.scenario(cxl_bandwidth_GBps=9)


def test_a_row_is_its_own_point_whatever_was_sorted_or_filtered(table: api.Table) -> None:
    points = [result.scenario for result in table]
    frame = table.frame
    assert len(points) == 48 and [api.scenario(row) for _, row in frame.iterrows()] == points
    turned = frame[frame["Training system"] == "cxl"].sort_values("Step time [ms]", ascending=False).reset_index()
    assert all(api.scenario(turned.iloc[n]) == points[turned["index"][n]] for n in range(len(turned)))
    best = frame.loc[frame["Step time [ms]"].idxmin()]
    assert api.link(best) == table.links[int(frame["Step time [ms]"].argmin())]


def test_a_row_of_several_models_keeps_what_was_set_beside_them() -> None:
    table = api.estimate("dlrm-kaggle", learning_rate=0.25, model__name=["tiny", "dlrm-kaggle"], batch_size=[256, 512])
    assert [values(one.scenario)["model.learning_rate"] for one in table] == [0.25] * 4
    assert [api.scenario(row) for _, row in table.frame.iterrows()] == [one.scenario for one in table]


def test_rows_of_tables_of_one_scenario_can_be_put_together(table: api.Table) -> None:
    other = api.estimate("tiny", batches=20, **{**SPREAD, "system": ["dram", "ssd"]})
    both = pd.concat([table.frame, other.frame])
    assert [api.scenario(row) for _, row in both.iterrows()] == [one.scenario for one in (*table, *other)]
    mixed = pd.concat([table.frame, api.estimate("tiny", batches=30, **SPREAD).frame])
    with pytest.raises(api.BadInput, match="does not say which base scenario it belongs to"):
        api.scenario(mixed.iloc[0])


def test_a_row_of_the_csv_is_its_own_point(table: api.Table) -> None:
    rows = pd.read_csv(io.StringIO(table.csv))
    assert [api.scenario(row) for _, row in rows.iterrows()] == [one.scenario for one in table]


def test_a_frame_is_written_to_files_as_any_other(table: api.Table, tmp_path: Path) -> None:
    table.frame.to_parquet(tmp_path / "table.parquet")
    again = pd.read_parquet(tmp_path / "table.parquet")
    assert api.scenario(again.iloc[5]) == table[5].scenario


def test_a_row_that_does_not_say_all_of_its_point_is_refused(table: api.Table) -> None:
    row = table.frame.iloc[3]
    with pytest.raises(api.BadInput, match=r"lacks 'Training system', which its table varies"):
        api.link(row.drop("Training system"))
    with pytest.raises(
        api.BadInput, match=r"without the table's attrs does not say which base scenario it belongs to; give table\[0\]"
    ):
        api.link({"Step time [ms]": row["Step time [ms]"], "Training system": row["Training system"]})
    with pytest.raises(api.BadInput, match="A table of 48 points is not one scenario"):
        api.link(table)


@each("stranger", STRANGERS)
@each("function", FUNCTIONS)
def test_what_names_no_scenario_is_refused_everywhere(function: str, stranger: str) -> None:
    with pytest.raises(api.BadInput, match=r"[.?]$"):
        FUNCTIONS[function](STRANGERS[stranger])


def test_a_link_is_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    for stranger in (TINY, 3, None, b"/design"):
        with pytest.raises(api.BadInput, match="is not a link"):
            api.load(stranger)


def test_titles_name_one_knob_each_and_no_result(table: api.Table) -> None:
    titles = [knob.title for knob in KNOBS.values()]
    assert len(set(titles)) == len(titles) and not set(titles) & set(table[0].results)


@pytest.mark.parametrize("name", ["a\0.toml", "\ud800.toml", "a" * 5000 + ".toml"])
def test_a_scenario_of_a_name_that_no_file_can_have_is_a_sentence(name: str) -> None:
    for base in (name, Path(name)):
        with pytest.raises(api.BadInput, match="cannot be read") as refused:
            api.scenario(base)
        str(refused.value).encode()


def test_a_row_that_is_its_own_preset_is_refused() -> None:
    alone: dict[str, Any] = {"cxl_bandwidth_GBps": 8}
    alone["preset"] = alone
    outer: dict[str, Any] = {"preset": {"preset": {"preset": alone}}}
    alone_twice = {"preset": outer, "batches": 3}
    for row in (alone, outer, alone_twice):
        with pytest.raises(api.BadInput, match="A row cannot be its own preset"):
            api.scenario(row)
    nested = {"preset": {"preset": "tiny", "batches": 20}, "cxl_bandwidth_GBps": 8}
    assert api.scenario(nested) == api.scenario("tiny", batches=20, cxl_bandwidth_GBps=8)
