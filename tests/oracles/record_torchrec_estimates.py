"""Records what TorchRec's estimators say of drawn shardings: python -m tests.oracles.record_torchrec_estimates.

It needs requirements-torchrec.txt. The recorded numbers let `make test` check our formulas without it.
"""

import json
from importlib.metadata import version

from tests import ROOT
from tests.oracles.installed_torchrec import estimates
from tests.torchrec.drawn_tables import as_numbers, estimate_case

FILE = ROOT / "tests/data/torchrec_estimates.json"
SEEDS = range(3)

if __name__ == "__main__":
    case_estimates = {seed: as_numbers(estimates(estimate_case(seed))) for seed in SEEDS}
    content = {"made with": f"TorchRec {version('torchrec')}", "estimates": case_estimates}
    lines = json.dumps(content).replace("], [", "],\n[")
    FILE.write_text(lines + "\n", encoding="utf-8")
