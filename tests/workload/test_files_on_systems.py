"""A reader's own file on every system: does each run and train on it alike, and say what does not suit?"""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.amounts.counted import counted_traffic
from engine.errors import BadInput
from engine.insight.data_profile import counted_profile
from engine.insight.fitting.shape import shape_of
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.simulate import simulate
from engine.training.loop import train
from engine.training.shape import full_shape
from engine.training.weights import initial_weights, rows_of
from engine.workload.readers.formats import digest_of, read_file
from engine.workload.source import source
from tests.cases import each
from tests.machines import TINY
from tests.training.reference_dlrm import ReferenceDlrm
from tests.workload.readers import made_up_criteo

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
    asked = with_values(preset("optane-kaggle").scenario, {**BATCH, "system": "dram"})
    return [simulate(asked, file) for file in files(other_shape)]


@each("system", variant_names("systems"), few=7)
def test_every_system_trains_a_file_to_the_same_losses(system, other_shape, plainly_trained):
    asked = with_values(preset("optane-kaggle").scenario, {**BATCH, "system": system})
    if load_variant("systems", system).can_relax:
        asked = with_values(asked, {"policy.relaxed_lookup": False})
    for file, plain in zip(files(other_shape), plainly_trained, strict=True):
        found = simulate(asked, file)
        assert found.ran and found.results["Step time [ms]"] > 0, found.outcome
        assert [row["Loss"] for row in found.training] == [row["Loss"] for row in plain.training] != []
        assert found.results["AUC"] == plain.results["AUC"]


@each(
    "name",
    [name for name in preset_names() if load_variant("systems", preset(name).scenario.system).family != "TrainingCXL"],
    few=4,
)
def test_every_preset_of_the_other_systems_runs_a_file_or_says_what_does_not_suit(name, other_shape):
    asked = with_values(preset(name).scenario, {"run.batches": 2, "machine.target_throughput": None})
    slow_card = min(asked.machine.network_bandwidth_GBps, 12.5)  # which the ports of all GPUs carry
    asked = with_values(asked, {"machine.network_bandwidth_GBps": slow_card})
    asked = with_values(
        asked, {"data.batch_size": min(asked.data.batch_size, 4096), "machine.num_gpus": max(16, asked.machine.num_gpus)}
    )
    if load_variant("systems", asked.system).one_node:
        asked = with_values(asked, {"machine.num_gpus": 1})
    fits = (
        len(set(asked.model.pooling)) == 1
        and asked.model.num_tables == 26 * asked.model.field_copies
        and asked.model.bottom_mlp[0] == 13
    )
    if not fits:
        with pytest.raises(BadInput, match=r"must suit the data file: .*(set --set|workload fit)"):
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


@pytest.fixture(scope="module")
def uneven_lists(tmp_path_factory):
    """A file whose samples have lists of items, many of them none, and for some batches no list at all."""
    random = np.random.default_rng(12)
    sizes = random.negative_binomial(0.5, 0.2, 900)
    sizes[96:160] = 0
    lists = [random.integers(0, 300, size).tolist() for size in sizes]
    path = tmp_path_factory.mktemp("lists") / "own.parquet"
    frame = pd.DataFrame({"user": random.integers(0, 500, 900), "seen": lists})
    frame.assign(click=(frame["user"] % 2 + (sizes > 2) + random.random(900) > 1.5).astype(int)).to_parquet(path, index=False)
    (path.parent / "own.parquet.toml").write_text('label = "click"\nids = ["user", "seen"]\n')
    return path


def made_for(path, system, **knobs):
    """Return preset tiny with a model of the file's shape."""
    tiny = with_values(TINY, {"system": system, "run.batches": 8, **{"policy.cache_load_factor": 0.5, **knobs}})
    found = with_values(tiny, shape_of(str(path), digest_of(path)).changes(tiny))
    return with_values(found, {"data.digest": read_file(path).digest, "data.batch_size": 32})


@each("system", variant_names("systems"), few=6)
def test_every_system_trains_uneven_lists_to_the_same_losses_and_is_asked_for_their_lookups(system, uneven_lists):
    asked = made_for(uneven_lists, system)
    assert asked.model.pooling == (1, 2) and asked.data.bag_length_cv[0] == 0 < 1.3 < asked.data.bag_length_cv[1]
    if load_variant("systems", system).can_relax:
        asked = with_values(asked, {"policy.relaxed_lookup": False})
    found, plain = (simulate(one, uneven_lists) for one in (asked, with_values(asked, {"system": "dram"})))
    assert found.ran and found.results["Step time [ms]"] > 0, found.outcome
    assert [row["Loss"] for row in found.training] == [row["Loss"] for row in plain.training] != []
    file = read_file(uneven_lists)
    amounts, given = counted_traffic(settle(asked), file=file), source(asked, file)
    lookups = [32 + int(file.bag_lengths(1)[32 * n : 32 * n + 32].sum()) for n in range(8)]
    assert np.broadcast_to(amounts.lookups, 8).tolist() == lookups == [len(given.ids(n)) for n in range(8)]
    assert lookups[3] == lookups[4] == 32, "batches without a list"
    assert amounts.rows.tolist() == [len(np.unique(given.ids(n))) for n in range(8)]


@each("system", variant_names("systems"), few=3)
def test_a_batch_without_a_lookup_asks_for_none(system, tmp_path):
    random, path = np.random.default_rng(5), tmp_path / "own.parquet"
    sizes = random.poisson(3, 400)
    sizes[:32] = sizes[96:160] = 0
    lists = [random.integers(0, 90, size).tolist() for size in sizes]
    pd.DataFrame({"seen": lists, "click": random.integers(0, 2, 400)}).to_parquet(path, index=False)
    (tmp_path / "own.parquet.toml").write_text('label = "click"\nids = "seen"\n')
    asked, file = made_for(path, system, **{"policy.cache_load_factor": 1.0}), read_file(path)
    assert simulate(asked, path).ran
    given = source(asked, file)
    assert [n for n in range(8) if not len(given.ids(n))] == [0, 3, 4]
    assert counted_profile(asked, [given.ids(n) for n in range(8)]).hits


def test_a_power_loss_takes_nothing_from_uneven_lists(uneven_lists):
    calm = simulate(made_for(uneven_lists, "cxl-b"), uneven_lists)
    at = (0.55 * calm.results["Elapsed [s]"],)
    struck = simulate(made_for(uneven_lists, "cxl-b", **{"faults.power_loss_at_seconds": at}), uneven_lists)
    assert any(row["Kind"] == "recovered" for row in struck.events)
    assert [row["Loss"] for row in struck.training] == [row["Loss"] for row in calm.training] != []
    assert struck.results["AUC"] == calm.results["AUC"]


def test_uneven_lists_are_trained_as_a_float64_reference_trains_them(uneven_lists):
    asked = made_for(uneven_lists, "dram", **{"model.optimizer": "adagrad"})
    given = source(asked, read_file(uneven_lists))
    model, batches = full_shape(asked), [given.batch(n) for n in range(26)]
    weights = initial_weights(model, rows_of(batch.ids for batch in batches), 1)
    truth = ReferenceDlrm(model, weights)
    losses = train(model, weights, batches.__getitem__, 0, 26).losses
    np.testing.assert_allclose(losses, [truth.step(batch) for batch in batches], rtol=2e-5)
