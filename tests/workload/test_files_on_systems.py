"""A reader's own file on every system: does each run and train on it alike, and say what does not suit?"""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadInput
from engine.registry import load, names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from tests.cases import each
from tests.workload import made_up_criteo

BATCH = {"data.batch_size": 64, "data.held_out_samples": 20, "run.batches": 3, "policy.cache_load_factor": 0.2}


@pytest.fixture(scope="module")
def other_shape(tmp_path_factory):
    """A gzipped TSV file whose third field never repeats and whose fourth has one value."""
    random, cells = np.random.default_rng(4), made_up_criteo.rows(400, 7)
    for row in cells:
        row[16], row[17] = f"{random.integers(2**32):08x}", "05db9164"
    path = tmp_path_factory.mktemp("files") / "other.tsv.gz"
    path.write_bytes(gzip.compress(made_up_criteo.tsv(cells)))
    return path


def files(other_shape):
    real = os.environ.get("EMBERPOOL_CRITEO")
    return [other_shape, *([Path(real)] if real else [])]


@pytest.fixture(scope="module")
def plainly_trained(other_shape):
    asked = with_values(preset("dlrm-kaggle").scenario, {**BATCH, "system": "dram"})
    return [simulate(asked, file) for file in files(other_shape)]


@each("system", names("systems"), few=7)
def test_every_system_trains_a_file_to_the_same_losses(system, other_shape, plainly_trained):
    asked = with_values(preset("dlrm-kaggle").scenario, {**BATCH, "system": system})
    if load("systems", system).relaxes:
        asked = with_values(asked, {"policy.relaxed_lookup": False})
    for file, plain in zip(files(other_shape), plainly_trained, strict=True):
        found = simulate(asked, file)
        assert found.ran and found.results["Step time [ms]"] > 0, found.outcome
        assert [row["Loss"] for row in found.training] == [row["Loss"] for row in plain.training] != []
        assert found.results["AUC"] == plain.results["AUC"]


@each("name", [name for name in preset_names() if load("systems", preset(name).scenario.system).family != "TrainingCXL"], few=4)
def test_every_preset_of_the_other_systems_runs_a_file_or_says_what_does_not_suit(name, other_shape):
    asked = with_values(preset(name).scenario, {"run.batches": 2, "machine.target_throughput": None})
    asked = with_values(asked, {"data.batch_size": min(asked.data.batch_size, 4096), "machine.num_gpus": 16})
    if not load("systems", asked.system).scales:
        asked = with_values(asked, {"machine.num_gpus": 1})
    fits = len(set(asked.model.pooling)) == 1 and asked.model.num_tables % 26 == 0 and asked.model.bottom_mlp[0] == 13
    if not fits:
        with pytest.raises(BadInput, match=r"does not suit|start with 13"):
            simulate(asked, other_shape)
        return
    found = simulate(asked, other_shape)
    assert found.ran and found.results["Step time [ms]"] > 0, found.outcome
    [note] = [warning for warning in found.warnings if "repeats the file" in warning]
    assert "repeats the file's 360; lower data.batch_size" in note
    assert not any(
        "repeats" in warning
        for warning in simulate(replace(asked, data=replace(asked.data, batch_size=300)), other_shape).warnings
    )
