"""Stashing: does what leaves HBM during the dense layers cost its copies and free its room, no more and no less?"""

import numpy as np
import pytest

from engine.campaign.site import site
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.simulate import simulate
from engine.systems.steps.stashing import PIECE, peak_bytes, room_for_tables, stashed_bytes
from engine.systems.traffic import activation_bytes, pooled_bytes, table_bytes
from engine.units import GB, GiB
from tests.cases import each

STEP = "Step time [ms]"
ROWS = 1_000_000


def asked(stashing="off", **knobs):
    own = {
        "system": "all-hbm",
        "model.num_embeddings": (ROWS,) * 26,
        "model.optimizer": "adam",
        "machine.framework": "none",
        "machine.num_gpus": 1,
        "run.training": False,
        "run.batches": 12,
        "policy.stashing": stashing,
    }
    return with_values(preset("torchrec-terabyte").scenario, {**own, **knobs})


def step(s):
    return estimate(s).results[STEP]


def test_what_is_stashed():
    unlike = {"model.embedding_dim": tuple((16, 64)[t % 2] for t in range(26)), "model.interaction": "concat"}
    for checked, more in ((False, 0), (True, 8)):
        s = asked(**unlike, **{"policy.row_checksums": checked})
        elements = 13 * (16 + 64) * ROWS
        for stashing, nbytes in (("off", 0), ("state", 8 * elements + more * 26 * ROWS), ("weights", 4 * elements)):
            assert stashed_bytes(with_values(s, {"policy.stashing": stashing})) == pytest.approx(nbytes)
        assert stashed_bytes(with_values(s, {"policy.stashing": "both"})) == pytest.approx(table_bytes(s))


def test_tables_that_would_stash_unlike_shares_are_refused():
    unlike = {"model.optimizer": tuple(("adam", "sgd")[t % 2] for t in range(26))}
    assert any("different shares" in one for one in settle(asked("state", **unlike)).problems)
    assert not settle(asked("both", **unlike)).problems


@each("stashing", ["state", "weights", "both"])
def test_an_exposed_stash_costs_two_copies_between_lookup_and_update(stashing):
    """The link is so slow that nothing else between lookup and update takes as long."""
    s = asked(stashing, **{"machine.pcie_bandwidth_GBps": 5.0})
    copies = 2 * (stashed_bytes(s) / (5 * GB) * 1e3)
    alone = step(asked("off", **{"machine.pcie_bandwidth_GBps": 5.0}))
    assert copies < step(s) < copies + alone + 1


def test_a_stash_that_fits_under_the_dense_layers_costs_nothing():
    wide = {"model.top_mlp": (8192, 8192, 8192, 1), "data.batch_size": 65536, "model.num_embeddings": (20_000,) * 26}
    wide |= {"machine.pcie_bandwidth_GBps": 50.0, "machine.gpu": "h100-sxm", "machine.host": "epyc-2024"}
    hidden, plain = asked("state", **wide), asked(**wide)
    assert stashed_bytes(hidden) * 2 / (50 * GB) * 1e3 < step(plain)
    assert step(hidden) == pytest.approx(step(plain), rel=1e-6)
    energy = [estimate(one).results["Energy per batch [J]"] for one in (hidden, plain)]
    assert energy[0] > energy[1]


def test_it_frees_hbm_for_activations_and_takes_host_memory():
    """State and activations fit an H100 one after the other, not both."""
    large = {"machine.gpu": "a100-80", "model.num_embeddings": (1_900_000,) * 26, "data.batch_size": 262_144}
    plain, stashed = settle(asked(**large)), settle(asked("state", **large))
    assert any("activations" in one and "stash with policy.stashing=both" in one for one in plain.problems)
    assert not stashed.problems
    assert set(stashed.system.nbytes_by_memory(stashed.scenario)) == {"hbm"}, "rows live in HBM"
    assert stashed.scenario.machine.host_dram_GiB * GiB >= stashed_bytes(stashed.scenario)
    few = settle(asked("state", **large, **{"machine.host_dram_GiB": 16.0}))
    assert any("machine.host_dram_GiB=16 cannot hold a stash of" in one for one in few.problems)


def test_a_campaign_copies_the_state_once_and_lacks_the_memory_of_the_stash():
    sites = [site(asked(one, **{"machine.host_dram_GiB": 96.0}), None, None, None) for one in ("off", "both")]
    assert sites[0].home == sites[1].home and sites[0].state == sites[1].state
    assert sites[0].host_dram - sites[1].host_dram == pytest.approx(table_bytes(asked()))


@each("stashing", ["off", "state", "weights", "both"])
@each("room", [5 * GB, 40 * GB, 900 * GB])
def test_room_for_tables_is_what_just_fits(stashing, room):
    s = asked(stashing)
    if activation_bytes(s) > room:
        return
    tables = room_for_tables(s, room)
    assert peak_bytes(s, tables) == pytest.approx(room)
    assert tables <= room - (PIECE + pooled_bytes(s) if stashing != "off" else activation_bytes(s)) + 1
    assert table_bytes(s) >= stashed_bytes(s)


def test_without_state_there_is_no_stash_of_it():
    sgd = {"model.optimizer": "sgd"}
    assert step(asked("state", **sgd)) == step(asked(**sgd))


@each("gpus", [1, 4])
def test_estimate_and_full_run_agree(gpus):
    s = asked("state", **{"machine.num_gpus": gpus, "data.batch_size": 2048})
    assert simulate(s).results[STEP] == pytest.approx(step(s), rel=0.01)


@each("system", sorted(set(variant_names("systems")) - {"all-hbm"}))
def test_other_systems_refuse_it_with_a_sentence(system):
    assert not load_variant("systems", system).can_stash
    with pytest.raises(
        BadKnob, match=rf"policy.stashing=state is not possible: system={system} does not hold all .* choose system=all"
    ):
        settle(asked("state", system=system))


def test_kernels_by_table_refuse_it():
    kernels = tuple(np.where(np.arange(26) < 3, "uvm", "hbm").tolist())
    with pytest.raises(BadKnob, match=r"system=all-hbm with kernels by table does not hold"):
        settle(asked("state", **{"policy.kernel": kernels}))
