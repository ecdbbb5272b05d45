"""Does PyTorch agree on the training step, over hundreds of steps? Its losses are recorded by tests/oracles."""

import json

import numpy as np
import pytest

from engine.training.loop import train
from tests import ROOT
from tests.cases import SELECTION, each
from tests.training.training_models import ORACLE_STEPS, ORACLES, oracle_run

RECORDED = json.loads((ROOT / "tests/data/torch_losses.json").read_text(encoding="utf-8"))["losses"]


STEPS = ORACLE_STEPS if SELECTION.all else 50


def our_losses(name, relaxed=False, steps=STEPS):
    weights, batches = oracle_run(name)
    return train(ORACLES[name], weights, batches.__getitem__, 0, steps, relaxed=relaxed).losses


@pytest.mark.more
@each("name", ORACLES, few=4)
def test_losses_are_those_that_torch_recorded(name):
    ours = our_losses(name)
    np.testing.assert_allclose(ours, RECORDED[name][:STEPS], rtol=2e-5)  # one of 200 losses of adagrad is 1.1e-5 off
    assert np.mean(ours[-20:]) < np.mean(ours[:20])


@pytest.mark.more
@each("name", ["multi-hot", "uneven", "uneven rowwise-adagrad", "uneven adam"], few=2)
def test_relaxed_losses_are_those_of_torch_too(name):
    np.testing.assert_allclose(our_losses(name, relaxed=True), RECORDED[name][:STEPS], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ORACLES)
def test_torch_run_now_gives_our_losses(name):
    from tests.oracles.torch_dlrm import torch_losses

    np.testing.assert_allclose(
        our_losses(name, steps=ORACLE_STEPS), torch_losses(ORACLES[name], uneven=name.startswith("uneven")), rtol=2e-5
    )
