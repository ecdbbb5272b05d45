"""Writes tests/data/torch_losses.json: run it where torch is installed, after a change of the oracle's models."""

import json

import torch

from tests import ROOT
from tests.oracles.torch_dlrm import torch_losses
from tests.training.training_models import ORACLES

if __name__ == "__main__":
    losses = {name: torch_losses(shape, uneven=name.startswith("uneven")) for name, shape in ORACLES.items()}
    content = {"torch": torch.__version__.split("+")[0], "losses": losses}
    (ROOT / "tests/data/torch_losses.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
