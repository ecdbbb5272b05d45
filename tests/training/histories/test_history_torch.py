"""Does PyTorch agree on training over histories, over hundreds of steps? Its float64 losses are recorded."""

import json

import numpy as np
import pytest

from engine.training.loop import train
from tests import ROOT
from tests.cases import SELECTION
from tests.training.histories.history_models import ORACLES, oracle_run
from tests.training.training_models import ORACLE_STEPS

RECORDED = json.loads((ROOT / "tests/data/torch_losses.json").read_text(encoding="utf-8"))["histories"]


@pytest.mark.more
@pytest.mark.parametrize("name", ORACLES)
def test_losses_of_histories_are_those_that_torch_recorded(name: str) -> None:
    weights, batches = oracle_run(name)
    steps = ORACLE_STEPS if SELECTION.all else 50
    losses = train(ORACLES[name], weights, batches.__getitem__, 0, steps).losses
    np.testing.assert_allclose(losses, RECORDED[name][:steps], rtol=1e-5)
    assert np.mean(losses[-20:]) < np.mean(losses[:20])


@pytest.mark.slow
@pytest.mark.parametrize("name", ORACLES)
def test_torch_run_now_gives_our_losses_and_weights_of_histories(name: str) -> None:
    from tests.training.histories.torch_hstu import row_vectors, torch_history_run

    weights, batches = oracle_run(name)
    ours = train(ORACLES[name], weights, batches.__getitem__, 0, ORACLE_STEPS)
    losses, dense, rows = torch_history_run(name)
    np.testing.assert_allclose(ours.losses, losses, rtol=1e-5)
    np.testing.assert_allclose(ours.weights.mlp, dense, rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(row_vectors(ours.weights), rows, rtol=1e-5, atol=1e-5)
