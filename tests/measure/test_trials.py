"""Trials: are predictions fixed before training, and are they what the constants say by hand?"""

import json

import numpy as np
import pytest

from engine.__main__ import main
from engine.core import catalog
from engine.errors import BadInput
from engine.estimate import estimate
from engine.measure import host, machine_limits
from engine.measure.here import shapes, trials
from engine.measure.here.shapes import ModelShape, draw_shape, refusal_reason, shape_scenario
from engine.sweep import links
from engine.workload.accesses import expected_accesses
from tests.cases import each
from tests.measure.conftest import MADE_UP, figures

SHAPE = ModelShape(6, 5000, 16, 4, 256, (13, 64, 16), (32, 1), "sgd")


def test_measured_parts_are_files_of_the_catalogue(measured):
    for path in measured():
        catalog.check_part(path.parent.name, path, catalog.part_content(path.parent.name, "measured"))
    assert {path.parent.name for path in measured()} == {"host", "dram", "host-software", "framework"}
    assert catalog.part_content("host", "measured")["fp32-peak-a-core"]["confidence"] == "measured"
    assert catalog.part_content("host", "measured")["dram"].startswith("measured~")
    watts = catalog.part_content("host", "measured")["idle-power"]
    assert watts["confidence"] == "unsourced" and watts["source"].startswith("not measured here: that of server, ")


def test_an_interrupt_keeps_what_was_trained_and_says_so(measured, monkeypatch, tmp_path):
    measured()
    file, steps = tmp_path / "here.json", iter((0.01, 0.02))

    def train(shape, seed):
        try:
            return next(steps)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("engine.commands.validate.step_seconds", train)
    monkeypatch.setattr("engine.commands.validate.pytorch", lambda: type("torch", (), {"__version__": "0"}))
    assert main(["validate", "--here", "--shapes", "4", "--json", str(file)]) == 130
    assert [one["measured"] for one in json.loads(file.read_text(encoding="utf-8"))["rows"]] == [0.01, 0.02, None, None]


def test_a_folder_that_takes_no_file_is_refused_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("engine.commands.measure.measure_host", lambda *_: pytest.fail("it was measured"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    for words in (["--out", str(tmp_path / "file")], ["--out", str(tmp_path), "--drive", str(tmp_path / "none")]):
        assert main(["measure", *words]) == 2
        assert "No file can be written in" in capsys.readouterr().err


@each("optimizer", ["sgd", "adagrad"])
def test_embedding_work_is_the_sum_of_its_operators(measured, optimizer):
    """By hand: lookups of both halves, and what updates take more; layers apart."""
    measured()
    s = shape_scenario(SHAPE._replace(optimizer=optimizer))
    lookups, nbytes = 6 * 256 * 4, 6 * 256 * 4 * 64
    lines = float(expected_accesses(s).unique_rows.sum()) * (1 + 64 / 64)
    host_seconds = 30e-6 * 6 + lookups * 2e-9 + nbytes * 0.5 / 40e9 + lines * 5e-9
    call, lookup, byte, line = (100, 80, 0.05, 13) if optimizer == "sgd" else (400, 250, 0.07, 80)
    update = call * 1e-6 * 6 + (lookups * lookup + nbytes * byte + lines * line) * 1e-9
    update += lookups * 2e-9 + nbytes * 0.5 / 40e9
    embedding = sum(row["Exposed [s]"] for row in estimate(s).breakdown if row["Stage"] == "Embedding")
    fixed = catalog.part_content("host", "measured")["embedding-software-per-batch"]["value"] * 1e-6
    assert embedding == pytest.approx(host_seconds + update + fixed, rel=1e-3)


def test_interaction_is_products_and_pairs(measured):
    measured()
    with_dot = estimate(shape_scenario(SHAPE)).results["Step time [ms]"]
    few = shape_scenario(SHAPE._replace(tables=3))
    assert estimate(few).results["Step time [ms]"] < with_dot
    flop, pairs = 6 * 256 * 7 * 7 * 16, 256 * 7 * 6 / 2
    assert flop * 0.02e-9 + pairs * 9e-9 < with_dot / 1e3


def test_predictions_are_fixed_by_seed_and_written_before_training(measured, monkeypatch, tmp_path, capsys):
    measured()
    file, seen = tmp_path / "here.json", []

    def train(shape, seed):
        seen.append(json.loads(file.read_text(encoding="utf-8")))
        return 0.01 * len(seen)

    monkeypatch.setattr("engine.commands.validate.step_seconds", train)
    monkeypatch.setattr("engine.commands.validate.pytorch", lambda: type("torch", (), {"__version__": "0"}))
    assert main(["validate", "--here", "--shapes", "3", "--seed", "9", "--json", str(file)]) == 0
    told, written = capsys.readouterr(), json.loads(file.read_text(encoding="utf-8"))
    assert "For 3 models, the predicted step differs by" in told.out and "Measured parts " in told.err
    assert [one["measured"] for one in seen[0]["rows"]] == [None] * 3 and seen[0]["rank"] is None
    assert [one["predicted"] for one in seen[0]["rows"]] == [one["predicted"] for one in written["rows"]]
    assert [one["measured"] for one in written["rows"]] == [0.01, 0.02, 0.03]
    errors = [100 * abs(one["predicted"] / one["measured"] - 1) for one in written["rows"]]
    assert written["median_percent"] == pytest.approx(np.median(errors)) and written["seed"] == 9
    assert [abs(one["error_percent"]) for one in written["rows"]] == pytest.approx(errors)
    again = trials.predict_trials(9, 3)
    assert [one.predicted_seconds for one in again.trials] == [one["predicted"] for one in written["rows"]]
    opened = links.open_link(written["rows"][0]["link"]).scenario
    assert estimate(opened).results["Step time [ms]"] == pytest.approx(1e3 * written["rows"][0]["predicted"])


def test_without_measured_parts_or_pytorch_the_remedy_is_said(monkeypatch):
    with pytest.raises(BadInput, match=r"no host called measured; run `.* measure --out DIR` first"):
        trials.parts_digest()

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(host, "import_module", missing)
    with pytest.raises(BadInput, match=r"PyTorch is not installed.*requirements-measure\.txt"):
        host.measure_host()
    assert main(["validate", "--here", "tiny"]) == 2


def test_shapes_are_drawn_within_their_ranges_and_what_is_too_large_is_left_out():
    drawn_ones = [draw_shape(3, number) for number in range(300)]
    assert drawn_ones == [draw_shape(3, number) for number in range(300)] and len({one.rows for one in drawn_ones}) > 250
    for one in drawn_ones:
        for name, low, high in (
            ("tables", 4, 64),
            ("rows", 1000, 10**6),
            ("dim", 8, 128),
            ("pooling", 1, 50),
            ("batch", 64, 4096),
        ):
            assert low <= getattr(one, name) <= high
        widths = (*one.bottom[1:-1], *one.top[:-1])
        assert 2 <= len(one.bottom) - 1 <= 4 and 2 <= len(one.top) <= 4 and all(32 <= width <= 1024 for width in widths)
    assert (
        refusal_reason(SHAPE, 1e6, 0.0) == "memory"
        and refusal_reason(SHAPE, 1e9, 6.0) == "time"
        and refusal_reason(SHAPE, 1e9, 1.0) == ""
    )
    assert SHAPE.nbytes == 4 * 6 * 16 * (5000 + 3 * 1024) and shapes.SHARE_OF_MEMORY == 0.5


def test_limits_are_those_of_the_control_group(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_limits, "GROUP", tmp_path)
    whole = machine_limits.cores()
    (tmp_path / "cpu.max").write_text("100000 100000", encoding="ascii")
    (tmp_path / "memory.max").write_text("1000000", encoding="ascii")
    (tmp_path / "memory.current").write_text("400000", encoding="ascii")
    assert machine_limits.cores() == min(whole, 1) and machine_limits.memory_bytes() == 1e6
    assert machine_limits.free_bytes() <= 6e5 and machine_limits.cache_bytes() > 0 and machine_limits.cpu_name()


def test_the_score_is_of_what_was_trained():
    shape = SHAPE
    found = [trials.Trial(shape, 0.01 * n, 0.001 * n, "", 0.01 * n * off) for n, off in ((1, 1.0), (2, 1.1), (3, 2.0))]
    scored = trials.score([*found, trials.Trial(shape, 1.0, 1.0, "")])
    assert scored.median == pytest.approx(1 - 1 / 1.1) and scored.near_share == pytest.approx(2 / 3) and scored.rank == 1
    assert trials.score(found[:1]) is None


def test_a_fit_that_is_all_but_zero_is_written_as_zero(measured):
    more = figures({"GEMM-extra-samples": 5.77e-13})
    software = {**figures({key: MADE_UP[key] for key in host.KINDS["host-software"]}), **more}
    (path,) = (path for path in measured(**{"host-software": software}) if path.parent.name == "host-software")
    content = catalog.part_content("host-software", "measured")
    catalog.check_part("host-software", path, content)
    assert content["GEMM-extra-samples"]["value"] == 0 and content["layer-launch"]["value"] == 10
