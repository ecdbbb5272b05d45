"""The section on latency: does it draw its pictures, and do its sentences tell what its tables hold?"""

from functools import cache

import pytest
from streamlit.testing.v1 import AppTest

from engine.core.figures import figure
from engine.hardware.devices.gpu import memory_bytes
from engine.insight.memory import gpu_memory
from engine.insight.memory.near_data import NearDataPair
from engine.scenario.presets import preset, preset_names
from pages.design_page import details
from pages.memory import findings, memory_charts, memory_tables
from tests import apps
from tests.apps import fields, text
from tests.machines import scenario

found = cache(lambda name, system="cxl", **knobs: findings.memory_findings(scenario(name, system, **knobs)))


def pair(memory, controllers, on, off, logic=0.001, link=(0.0, 0.001)):
    return NearDataPair(memory, controllers, on, off, logic, link)


@pytest.mark.slow
def test_the_section_draws_its_pictures_and_gives_each_as_csv():
    """Modules of nv-cmm have eight lanes each, 25.8 GB/s, and so the sentence; an expander of dram has sixteen."""
    app = AppTest.from_file(str(apps.APP))
    app.query_params.update({"preset": "dlrm-terabyte"})
    app.session_state[details.MEMORY] = True
    app = app.switch_page("pages/design.py").run()
    said = text(app.markdown) + text(app.caption)
    files = {f"csv emberpool-{name}" for name in ("latency", "near-data", "load", "table-size")}
    assert files <= {*apps.download_keys(app)}
    assert not app.exception and "dram is 5 % slower from 673 ns on" in said
    for system, rate, answer in (("cxl-b", "25.8", "2.54 µs"), ("dram", "51.7", "1.27 µs")):
        told = next(line for line in said.splitlines() if line.startswith(f"- {system} is 5 % slower from"))
        assert f"keep the link at {rate} GB/s only while an access under load takes at most {answer}" in told
    assert "it costs most, 44.7 %, with 4 DRAM channels: pooled vectors and gradients cross the link in" in said


def test_every_chart_draws_only_columns_that_its_table_has():
    links, pairs, parts, sizes = found("trainingcxl-rm1")
    rows = memory_tables.latency(links, scenario("trainingcxl-rm1", "cxl"))
    drawn = {
        "latency": (memory_charts.latency(), rows),
        "near": (memory_charts.near_data(), memory_tables.near_data(pairs)),
        "load": (memory_charts.load(), memory_tables.load(parts)),
        "sizes": (memory_charts.sizes(), memory_tables.sizes(sizes)),
    }
    for name, (spec, table) in drawn.items():
        assert fields(spec) <= set(table.columns) and len(table) > 5, name
    assert rows.loses.dropna().tolist() == ["702 ns", "620 ns"]
    assert rows.name.dropna().tolist() == ["cxl-b, cxl-d", "cxl", "dram"]


@pytest.mark.parametrize("name", preset_names())
def test_a_gpus_memory_by_kind_is_drawn_for_every_preset_that_has_a_gpu(name):
    asked = preset(name).scenario
    kinds = gpu_memory.gpu_memory(asked)
    capacity = memory_bytes(asked.machine)
    frame = memory_tables.gpu_memory(kinds, capacity)
    spec = memory_charts.gpu_memory(tuple(frame.label))
    assert fields(spec) <= {*frame.columns, "rank"} and (frame.held >= 0).all() and len(frame) == 5
    assert dict(zip(frame.kind, 1e9 * frame.held, strict=True)) == pytest.approx(kinds)
    assert frame.label.tolist() == [f"{kind.capitalize()}: {figure(nbytes / 1e9, 'GB')}" for kind, nbytes in kinds.items()]
    assert (frame.capacity == capacity / 1e9).all()
    assert frame.held.sum() <= capacity / 1e9, gpu_memory.gpu_memory_finding(kinds, capacity)


def test_lines_that_end_close_together_share_a_name():
    assert memory_tables.line_names({"a": 1.0, "b": 1.05, "c": 2.0}, 0.1) == {"b": "a, b", "c": "c"}


def test_the_sentences_say_what_hides_the_link_or_fails_to():
    told = {one.system: memory_tables.loss_sentence(one) for one in found("trainingcxl-rm1")[0]}
    assert "cxl-b is 5 % slower from 620 ns on (with the fewest accesses in flight from 120 ns" in told["cxl-b"]
    assert (
        "1,024 lines in flight keep the link at 67.3 GB/s only while an access under load takes at most 974 ns" in told["cxl-b"]
    )
    assert "no task waits for it; hidden time: 1.15 ms of MLP log beside Top MLP" in told["cxl"]


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (
            (pair("expander-dram", 1, 1.2, 1.0), pair("expander-dram", 2, 0.9, 1.0)),
            ("takes 1.00 ms for a batch", "dram between 1 and 2."),
        ),
        (
            (pair("expander-dram", 1, 1.2, 1.0, link=(0.003, 0.001)),),
            ("saves nothing; it costs most, 20 %, with 1 DRAM channel", "3.00 ms", "each row is sent once, in 1.00 ms."),
        ),
        ((pair("optane-100", 4, 0.9, 1.0),), ("10 % of the step time, with 4 modules of optane-100, and costs nothing on any",)),
    ],
)
def test_where_near_data_changes_sign_is_told_with_its_cause(pairs, words):
    said = " ".join(memory_tables.near_data_sentences(pairs))
    assert all(one in said for one in words), said
