"""The document's table of memories for MLPerf's DLRMv4 says what the engine says."""

import pytest

from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from tests import ROOT

CXL = "dlrm-v4-cxl"
ROWS = (
    ("dlrm-v4-mi350x", {}),
    ("dlrm-v4-uvm", {}),
    (CXL, {"system": "dram-hbm-nodes"}),
    (CXL, {"system": "dram"}),
    (CXL, {}),
    (CXL, {"machine.near_data_compute": True}),
)


def stated_rows():
    """Return GPUs, step, rate and energy of each row of the document's table."""
    text = (ROOT / "docs" / "model" / "sequences.md").read_text(encoding="utf-8")
    lines = text.split("### HBM, host memory or CXL memory")[1].split("\n##")[0].splitlines()
    table = [line.strip("|").split("|")[1:] for line in lines if line.startswith("|")][2:]
    return [[float(cell.replace(",", "")) for cell in row] for row in table]


def test_each_row_has_the_estimates_numbers():
    for (name, knobs), (gpus, step, rate, joules) in zip(ROWS, stated_rows(), strict=True):
        s = with_values(preset(name).scenario, knobs)
        results = estimate(s).results
        assert s.machine.num_gpus == gpus and s.data.batch_size == 1024 * gpus
        assert results["Step time [ms]"] == pytest.approx(step, rel=0.005)
        assert results["Throughput [samples/s]"] / gpus == pytest.approx(rate, rel=0.005)
        assert results["Energy [J]"] / s.data.batch_size == pytest.approx(joules, rel=0.005)


def test_the_log_hides_behind_the_layers():
    logged, unlogged = (estimate(with_values(preset(CXL).scenario, {"system": name})) for name in ("cxl", "dram"))
    checkpoint = [row["Exposed [s]"] for row in logged.breakdown if row["Stage"] == "Checkpoint"]
    assert sum(checkpoint) < 0.001 * logged.results["Step time [ms]"] / 1e3
    assert logged.results["Step time [ms]"] < 1.2 * unlogged.results["Step time [ms]"]
