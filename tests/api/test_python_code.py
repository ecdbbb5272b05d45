"""Python code of a page's question: it runs as it stands, and answers as the page does."""

import contextlib
import io
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import api
from engine.analysis.verdict.decide import decide
from engine.analysis.verdict.report.asked import read_question
from engine.analysis.verdict.report.content import verdict_content
from engine.api import python_code
from engine.core.part_files import use
from engine.estimate import estimate
from engine.estimates import estimates
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import values, with_values
from engine.simulate import simulate
from engine.sweep.axes import parse
from engine.sweep.questions import LinkQuestions
from engine.sweep.sweep import Sweep
from tests import ROOT
from tests.parts.conftest import folder  # noqa: F401  a fixture
from tests.strategies import scenarios

TINY = with_values(preset("tiny").scenario, {"machine.cxl_bandwidth_GBps": 12.3, "run.batches": 25})


@pytest.fixture(autouse=True)
def in_process(monkeypatch):
    """Let `import emberpool` be this checkout's interface, whose modules are imported already."""
    monkeypatch.setitem(sys.modules, "emberpool", api)


def executed(code):
    """Return the names that code leaves, and what it prints."""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "snippet", "exec"), names)
    return names, printed.getvalue()


@given(scenarios, st.sampled_from(preset_names()))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_code_makes_the_same_scenario_from_any_preset(scenario, base):
    code = python_code.estimate_code(scenario, base).partition("table =")[0]
    names, _ = executed(code)
    assert values(names["scenario"]) == values(scenario)


def test_the_code_estimates_runs_and_sweeps_as_the_page_does():
    names, printed = executed(python_code.estimate_code(TINY, "tiny"))
    assert names["table"][0].results == estimate(TINY).results and "Step time [ms]" in printed
    names, printed = executed(python_code.run_code(TINY, "dlrm-kaggle"))
    assert names["table"][0].results == simulate(TINY).results and "'Account'" in printed
    axes = ("machine.cxl_bandwidth_GBps:8:32:3", "system:pmem,cxl")
    names, _ = executed(python_code.sweep_code(TINY, "tiny", axes))
    points = estimates(list(Sweep(TINY, tuple(map(parse, axes)))))
    assert [result.results for result in names["table"]] == [result.results for result in points] and len(points) == 6
    names, _ = executed(python_code.sweep_code(TINY, "tiny", axes[:1], LinkQuestions(sample="sobol:4", mode="full")))
    assert len(names["table"]) == 4 and all(result.training for result in names["table"])
    assert python_code.sweep_code(TINY, "tiny", ()) == python_code.estimate_code(TINY, "tiny")


def test_the_code_decides_as_the_page_does():
    questions = LinkQuestions(require=("throughput=100000", "budget=90000"), lose="nothing", parts="gpu=h100-pcie", prices="2024")
    names, printed = executed(python_code.decision_code(TINY, "tiny", questions))
    page = verdict_content(decide(read_question(TINY, questions)), "dlrm-kaggle")
    assert names["answer"] == page and printed == page["sentence"] + "\n"


def test_own_parts_and_long_lists_come_by_the_link(folder):  # noqa: F811
    use.use_folder(folder.path)
    scenario = with_values(TINY, {"machine.gpu": "mine"})
    code = python_code.estimate_code(scenario, "tiny")
    expected = estimate(scenario).results
    folder.elsewhere()
    with pytest.warns(UserWarning, match="mine is a part of the link's sender"):
        names, _ = executed(code)
    assert "ep.load(" in code and names["table"][0].results == expected
    tables = 100
    long_lists = with_values(
        preset("dlrm-kaggle").scenario, {"model.num_tables": tables, "model.num_embeddings": tuple(range(1000, 1000 + tables))}
    )
    code = python_code.estimate_code(long_lists, "dlrm-kaggle")
    assert "ep.load(" in code and values(executed(code)[0]["scenario"]) == values(long_lists)


def test_the_code_runs_in_a_new_python():
    code = python_code.estimate_code(TINY, "tiny")
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Step time [ms]" in run.stdout and not run.stderr
