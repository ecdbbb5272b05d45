"""Writes tests/data/torch_losses.json: run it where torch is installed, after a change of the oracle's models."""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

import torch  # noqa: E402
from oracles.torch_dlrm import torch_losses  # noqa: E402
from training_models import ORACLES  # noqa: E402

if __name__ == "__main__":
    content = {"torch": torch.__version__.split("+")[0], "losses": {name: torch_losses(name) for name in ORACLES}}
    (TESTS / "data" / "torch_losses.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
