"""Records the misses that libCacheSim counts on a small trace: python -m tests.oracles.record_cache_misses.

It needs benchmarks/requirements.txt. The recorded numbers let `make test` check every policy without it.
"""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path

from benchmarks.libcachesim_peer import POLICIES, misses, write, zipf
from tests import ROOT

FILE = ROOT / "tests/data/libcachesim_misses.json"
TRACE = {"number": 50_000, "rows": 20_000, "exponent": 1.05, "seed": 7}
CAPACITIES = (1, 2, 10, 100, 1000, 5000, 15_000)


def main() -> None:
    """Count and write."""
    ids = zipf(**TRACE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write(path, ids)
        counts = {name: misses(path, len(ids), name, CAPACITIES) for name in POLICIES}
    content = {"made with": f"libCacheSim {version('libcachesim')}", "trace": TRACE, "capacities": CAPACITIES, "misses": counts}
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
