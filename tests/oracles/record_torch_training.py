"""Writes tests/data/torch_losses.json: run it where torch is installed, after a change of the oracle's models."""

import json

import torch

from tests import ROOT
from tests.oracles.torch_dlrm import torch_losses
from tests.training.histories.history_models import ORACLES as HISTORY_ORACLES
from tests.training.histories.torch_hstu import torch_history_run
from tests.training.training_models import ORACLES

if __name__ == "__main__":
    losses = {name: torch_losses(shape, uneven=name.startswith("uneven")) for name, shape in ORACLES.items()}
    histories = {name: torch_history_run(name)[0] for name in HISTORY_ORACLES}
    content = {"torch": torch.__version__.split("+")[0], "losses": losses, "histories": histories}
    (ROOT / "tests/data/torch_losses.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
