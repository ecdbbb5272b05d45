"""Does PyTorch agree on the training step, over hundreds of steps? Its losses are recorded by tests/oracles."""

import json
from pathlib import Path

import numpy as np
import pytest
from training_models import ORACLE_BATCH, ORACLE_STEPS, ORACLES, made_up_run

from engine.training import train

RECORDED = json.loads((Path(__file__).parent / "data" / "torch_losses.json").read_text(encoding="utf-8"))["losses"]


def our_losses(name, relaxed=False):
    weights, batches = made_up_run(ORACLES[name], ORACLE_BATCH, ORACLE_STEPS)
    return train(ORACLES[name], weights, batches.__getitem__, 0, ORACLE_STEPS, relaxed=relaxed).losses


@pytest.mark.parametrize("name", ORACLES)
def test_two_hundred_losses_are_those_that_torch_recorded(name):
    ours = our_losses(name)
    np.testing.assert_allclose(ours, RECORDED[name], rtol=1e-5)
    assert np.mean(ours[-20:]) < np.mean(ours[:20])


def test_two_hundred_relaxed_losses_are_those_of_torch_too():
    np.testing.assert_allclose(our_losses("multi-hot", relaxed=True), RECORDED["multi-hot"], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ORACLES)
def test_torch_run_now_gives_our_losses(name):
    from oracles.torch_dlrm import torch_losses

    np.testing.assert_allclose(our_losses(name), torch_losses(name), rtol=1e-5)
