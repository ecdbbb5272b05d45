"""Is one new file all that a system, device, model or preset takes, and one new row a fault, metric or persistence model?"""

import os
import re
import shutil
import sys
from importlib import import_module

import pytest

from engine import registry
from engine.__main__ import main
from engine.crashcheck.exploration import safe_models
from engine.estimate import estimate
from engine.faults.fault import Fault
from engine.persistence.models import PersistenceModel, in_order
from engine.registry import variant_names
from engine.results.metrics import Metric, all_metrics
from engine.scenario import presets, scenario
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate

FILES = {
    "systems/hot_cold/bead_frame.py": """
from ...core.graph import Demand, Task
from ...core.work import Pool
from ..steps import shared
from ..system import LogPolicy, System


def plan(settled, t):
    s = settled.scenario
    forward = shared.bottom_forward(s, ("Count beads",))
    count = Task("Count beads", "Embedding", (Demand("abacus", Pool(t.lookup_bytes)),), ("Top MLP",))
    return (forward, shared.top(s, ("Bottom MLP forward",)), count)


def recover(s, recovery):
    work = Demand("abacus", Pool(recovery.mlp_bytes))
    return (Task("Count again", "Other", (work,), previous_batch_predecessors=("Count again",)),)


SYSTEM = System("Bead frame", "Counts beads.", ("host", "gpu", "abacus"), "dram", plan, LogPolicy("", 0, False), recover=recover)
""",
    "hardware/devices/abacus.py": """
from typing import NamedTuple

from ...core.work import Pool
from ..device import Device, DeviceKind


class Rates(NamedTuple):
    beads: float


SECONDS = {Pool: lambda rates, work: work.nbytes / rates.beads}


def build(machine):
    return Device("abacus", "Abacus", SECONDS, Rates(1e3), idle_watts=7.0, helps="nimbler fingers help")


DEVICE = DeviceKind("Abacus", build, dict)
""",
    "campaign/protections/carbon_copy.py": """
from ..protection import LOSSES, Protection, ProtectionPlan

KEEPS = dict.fromkeys(LOSSES, "exact")
PROTECTION = Protection("Carbon copy", "Every bead is drawn twice.", KEEPS, lambda site: ProtectionPlan(1.0, 1.0, 1))
""",
    "scenario/models/five-beads.toml": """
title = "Five beads"
source = "made up"

[knobs.model]
num_tables = 2
num_embeddings = [5, 10]
embedding_dim = 4
pooling = [1]
bottom_mlp = [3, 4]
top_mlp = [1]
""",
}
ROWS = {
    "metrics": {"bead-count": Metric("Bead count", "beads", "higher", "Ten a batch.", lambda report: 10.0 * report.batches)},
    "faults": {
        "table-knocked": Fault("F99", "Table knocked", "Beads fly.", "fail-stop", frozenset({"gpu"}), "the table was knocked")
    },
    "domains": {"stone-tablet": PersistenceModel("Stone tablet", "What is carved stays.", in_order, at_once=True)},
}
PRESET = """
title = "Beads"
description = "Five beads on a frame."
paper = "none: made up"

[knobs]
system = "bead-frame"
model.name = "five-beads"
data.batch_size = 8
data.held_out_samples = 20
run.batches = 10
faults.trace = "0.5 table-knocked"
"""


def forget():
    """Empty the caches of what is in the folders."""
    for cached in (
        registry.variant_names,
        registry.module_paths,
        registry.load_variant,
        scenario.named_model,
        presets.preset_names,
        presets.shipped_preset,
    ):
        cached.cache_clear()


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    """Return a folder with links to the files of variants, and one more file of each kind."""
    folder = tmp_path_factory.mktemp("engine")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(registry.ENGINE_FOLDER, folder, ignore=ignored, copy_function=os.symlink, dirs_exist_ok=True)
    shutil.copytree(presets.FOLDER, folder / "presets")
    for path, text in {**FILES, "presets/beads.toml": PRESET}.items():
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def beads(variants, monkeypatch):
    """Let the registry look into that folder, and add one row to each table."""
    for kind, (place, table) in registry.TABLES.items():
        monkeypatch.setattr(f"engine.{place}.{table}", {**ROWS[kind], **registry.rows(kind)})
    for folder in {path.rpartition("/")[0] for path in FILES if path.endswith(".py")}:
        monkeypatch.setattr(import_module(f"engine.{folder.replace('/', '.')}"), "__path__", [str(variants / folder)])
    monkeypatch.setattr(registry, "ENGINE_FOLDER", variants)
    monkeypatch.setattr(presets, "FOLDER", variants / "presets")
    before = set(sys.modules)
    forget()
    yield preset("beads").scenario
    for name in set(sys.modules) - before:
        if any(name == f"engine.{path.removesuffix('.py').replace('/', '.')}" for path in FILES):
            del sys.modules[name]
    forget()


@pytest.mark.parametrize("path", FILES)
def test_a_new_file_is_a_new_name(path, beads):
    folder, _, file = path.rpartition("/")
    kind = next(kind for kind in (*registry.CONSTANT_BY_KIND, "models") if kind in folder)
    assert file.rpartition(".")[0].replace("_", "-") in variant_names(kind)


def test_a_new_metric_and_a_new_fault_are_listed_and_the_metric_has_its_column_where_its_row_stands(beads, capsys):
    assert all_metrics()[0].name == "Bead count [beads]"
    for kind, line in (
        ("metrics", "bead-count  *Bead count  *Ten a batch."),
        ("faults", "F99 *table-knocked .* gpu  *Beads fly."),
    ):
        assert main(["list", kind]) == 0
        assert re.search(line, capsys.readouterr().out)


def test_a_new_persistence_model_can_be_chosen_and_is_explored_by_the_crash_check(beads):
    assert "stone_tablet" in safe_models()
    at = {"faults.trace": "", "faults.power_loss_at_seconds": (1e-5,), "system": "cxl-b"}
    result = simulate(with_values(beads, {**at, "machine.persistence_model": "stone_tablet"}))
    assert result.ran and [event["Kind"] for event in result.events] == ["fault", "recovered"]


def test_new_variants_work_together_without_a_change_elsewhere(beads):
    result = simulate(beads)
    assert result.ran, result.outcome
    assert result.results["Bead count [beads]"] == 100
    assert "abacus" in {row["Device"] for row in result.devices}
    assert (result.events[0]["Kind"], result.events[0]["Elapsed [s]"]) == ("fault", 0.5)
    assert "on Abacus is exposed" in result.finding and "nimbler fingers help" in result.finding
    assert estimate(beads).results["Step time [ms]"] == pytest.approx(result.results["Step time [ms]"], rel=0.2)


def test_a_new_preset_and_model_can_be_run_on_every_system(beads):
    for system in variant_names("systems"):
        assert estimate(with_values(beads, {"system": system, "policy.cache_load_factor": 1.0})).ran
