"""Do floats add up alike on every Python, and do results, rows and links say with which arithmetic they were made?"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from engine.commands import sweep_tables
from engine.commands.sweep_arguments import SweepQuestions
from engine.core import process
from engine.core.arithmetic import MAX_KERNEL_LETTERS, arithmetic, remaining_share, total
from engine.core.points.per_point import PerPoint
from engine.errors import BadLink
from engine.results.result import from_json
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.store import metric_columns, requests, result_rows
from engine.store.database import open_store, transaction
from engine.sweep import links
from engine.sweep.axes import parse
from engine.sweep.sweep import Sweep
from pages.search_page.points import sweep_table
from tests import ROOT

OTHER = "OpenBLAS-Elsewhere.NumPy-baseline"
BATCHES = {"run.batches": 30, "run.evaluations": 1}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [([0.1] * 10, 0.9999999999999999), ([1e16, 1.0, -1e16], 0.0), ([2, 0.1, 0.2, 0.3], 2.6), ([3, 4], 7), ([], 0)],
)
def test_a_total_rounds_after_each_addition_whatever_the_python(terms, expected):
    """Expected is what `sum` of Python 3.11 gives; that of 3.12 gives 1.0 for the first and 1.0 for the second."""
    assert repr(total(iter(terms))) == repr(expected)
    columns = total([PerPoint(np.array([term, 2.0 * term])) for term in terms])
    assert not terms or columns.values.tolist() == [expected, 2.0 * expected]


def test_a_thread_pool_that_an_import_brings_is_limited_too(monkeypatch):
    looks = []
    monkeypatch.setattr(process, "ThreadpoolController", lambda: looks.append(0) or SimpleNamespace(limit=lambda limits: limits))
    process._thread_pools.cache_clear()
    assert [process.single_thread(), process.single_thread()] == [1, 1] and len(looks) == 1  # a look takes milliseconds
    monkeypatch.setitem(sys.modules, "tests.a_further_module", None)
    assert process.single_thread() == 1 and len(looks) == 2
    process._thread_pools.cache_clear()


def test_a_result_names_its_kernels_and_says_so_where_they_are_others():
    here = simulate(with_values(preset("tiny").scenario, BATCHES))
    assert here.arithmetic == arithmetic() and here.as_json()["arithmetic"] == arithmetic() and here.notes == here.warnings
    there = from_json({**here.as_json(), "arithmetic": OTHER}, here.scenario)
    assert OTHER in there.notes[-1] and arithmetic() in there.notes[-1]
    assert replace(there, training=()).notes == here.warnings  # what trains nothing is the same everywhere


def test_a_link_names_its_kernels_and_opens_with_a_word_where_they_are_others():
    text = links.link(preset("tiny").scenario, "tiny")
    assert arithmetic() in text and links.open_link(text).banner == ""
    assert OTHER in links.open_link(text.replace(arithmetic(), OTHER)).banner
    with pytest.raises(BadLink, match="arithmetic="):
        links.open_link(text.replace(arithmetic(), "<a>"))


def test_a_shared_training_keeps_the_name_of_who_trained_it(tmp_path):
    scenario, shelf = with_values(preset("tiny").scenario, BATCHES), {}
    simulate(scenario, shelf=shelf)
    (name,) = shelf
    shelf[name] = replace(shelf[name], arithmetic=OTHER)
    assert simulate(with_values(scenario, {"machine.cxl_bandwidth_GBps": 7.0}), shelf=shelf).arithmetic == OTHER


@pytest.mark.slow
def test_time_and_energy_are_the_same_under_another_kernel_to_the_byte():
    """A kernel that any x86 has; elsewhere OpenBLAS ignores the wish, and there is nothing to compare."""
    call = [sys.executable, "-m", "engine", "run", "--preset", "tiny", "--json", "-"]
    call += [word for path, value in BATCHES.items() for word in ("--set", f"{path}={value}")]
    done = subprocess.run(call, cwd=ROOT, env={**os.environ, "OPENBLAS_CORETYPE": "Nehalem"}, capture_output=True, check=True)
    there = from_json(json.loads(done.stdout))
    here = simulate(with_values(preset("tiny").scenario, BATCHES))
    if there.arithmetic == arithmetic():
        pytest.skip("this computer has one kernel only")
    learned = {"AUC", "AUC error", "Loss", "AUC (training)", "AUC error (training)", "Loss (training)"}
    assert {name for name, value in here.results.items() if value != there.results[name]} <= learned
    assert (here.ledger, here.breakdown, here.devices) == (there.ledger, there.breakdown, there.devices)
    assert [row["Loss"] for row in there.training] == pytest.approx([row["Loss"] for row in here.training], rel=1e-4)


def test_a_table_that_was_trained_on_two_kinds_of_processors_says_so(store):
    runs = [with_values(preset("tiny").scenario, {**BATCHES, "data.seed": seed}) for seed in (1, 2, 3)]
    runs[2] = with_values(runs[2], {"run.training": False})  # the same everywhere
    request = requests.submit(store, runs, "full")
    for kernels, words in ((arithmetic(), ""), (OTHER, f"({' and '.join(sorted((arithmetic(), OTHER)))})")):
        with open_store(store) as connection, transaction(connection):
            rows = [(key(run, "full"), result_rows.row_text(replace(simulate(run), arithmetic=kernels))) for run in runs[1:]]
            connection.execute("DELETE FROM results")
            result_rows.store_results(connection, [(key(runs[0], "full"), result_rows.row_text(simulate(runs[0]))), *rows])
        note = sweep_table.finished_table(pd.DataFrame(index=range(3)), metric_columns.columns_of_request(store, request)).attrs[
            sweep_table.NOTE
        ]
        assert words in note and bool(note) == bool(words)
        found = sweep_tables.survey(
            Sweep(runs[0], (parse("data.seed=1,2"),)),
            "full",
            lambda asked: (result for _, result in result_rows.stored_results(store, asked, "full")),
            SweepQuestions(),
        )
        assert found.kernels == {arithmetic(), kernels}


def test_the_name_has_python_and_numpy_and_fits_into_a_link():
    assert f"NumPy-{np.__version__.rpartition('.')[0]}-" in arithmetic()
    assert arithmetic().endswith(".Python-{}.{}".format(*sys.version_info))
    other = arithmetic().replace(".Python-3.", ".Python-3.9")
    for banner in (
        links.open_link(f"preset=tiny&arithmetic={name}").banner for name in (other, arithmetic().replace("NumPy-", "NumPy-9"))
    ):
        assert "Loss and AUC can differ" in banner and "time and energy are the same" in banner
    assert links.open_link(f"preset=tiny&arithmetic={arithmetic()}").banner == "" and len(arithmetic()) < MAX_KERNEL_LETTERS


def test_what_remains_of_a_whole_is_0_where_it_is_only_rounding():
    missed = np.array([1.0, 1 - 1e-14, 1 + 1e-14, 0.25])
    np.testing.assert_array_equal(remaining_share(missed), [0.0, 0.0, 0.0, 0.75])
    assert not np.signbit(remaining_share(missed)).any() and remaining_share(3, 4) == 0.25
