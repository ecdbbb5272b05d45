"""Is a machine with one part better ever slower? Random pairs of machines over all systems and presets, by the estimate."""

import numpy as np
import pytest

from engine.estimates import estimates
from engine.registry import variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import KNOBS, values, with_values
from tests.cases import draw, each

PAIRS, DRAWS = 1500, range(1_000_000)
WORSE, ALLOWED = 0.005, 0.005  # by how much a pair counts as worse, and how many may be
STEP = "Step time [ms]"
RANGES = {  # of each knob what machines have, and whether more of it is better
    "machine.cxl_bandwidth_GBps": (2, 128, True),
    "machine.cxl_latency_ns": (50, 5000, False),
    "machine.near_data_lanes": (1, 64, True),
    "machine.near_data_clock_MHz": (100, 2000, True),
    "machine.near_data_scratchpad_MB": (0.5, 512, True),
    "machine.pmem_capacity_GB": (512, 16384, True),
    "machine.host_dram_channels": (2, 32, True),
    "machine.expander_dram_channels": (2, 32, True),
    "machine.host_threads": (2, 128, True),
    "machine.pcie_bandwidth_GBps": (4, 64, True),
    "machine.network_bandwidth_GBps": (2, 100, True),
    "machine.num_ssds": (1, 16, True),
    "machine.host_dram_GiB": (256, 4096, True),
    "machine.expander_dram_GiB": (256, 4096, True),
}
GPUS = ("v100", "a100-40", "a100-80", "h100-sxm")


def pair(rng):
    """Return a scenario and the same with one part better, and which."""
    base = preset(str(rng.choice([name for name in preset_names() if name != "tiny"]))).scenario
    knobs = {"system": str(rng.choice(variant_names("systems"))), "run.training": False, "machine.target_throughput": None}
    for path in rng.choice(list(RANGES), 5, replace=False):
        low, high, _ = RANGES[path]
        number = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        knobs[str(path)] = round(number) if KNOBS[str(path)].kind == "int" else number
    knobs |= {"machine.near_data_compute": bool(rng.integers(2)), "policy.row_dedup": str(rng.choice(["memory", "gpu", "off"]))}
    path = str(rng.choice([*RANGES, "machine.gpu"]))
    if path in RANGES and knobs.get(path) is None:  # what is automatic has no factor
        knobs[path] = round(np.sqrt(RANGES[path][0] * RANGES[path][1]))
    worse = with_values(base, knobs)
    if path == "machine.gpu":
        least, most = sorted(rng.choice(len(GPUS), 2, replace=False))
        return with_values(worse, {path: GPUS[least]}), with_values(worse, {path: GPUS[most]}), path
    low, high, more = RANGES[path]
    own = values(worse)[path]
    factor = float(np.exp(rng.uniform(0, np.log(8))))
    number = min(own * factor, KNOBS[path].high) if more else max(own / factor, KNOBS[path].low)
    return worse, with_values(worse, {path: int(np.ceil(number)) if KNOBS[path].kind == "int" else number}), path


@each("framework", ["lean", "cuda-graph", "pytorch"])
@each("batch", [1, 128, 4096])
def test_an_h100_is_never_slower_than_an_a100_however_small_the_layers(framework, batch):
    knobs = {"system": "all-hbm", "machine.framework": framework, "data.batch_size": batch}
    base = with_values(preset("optane-kaggle").scenario, knobs)
    before, after = estimates([with_values(base, {"machine.gpu": gpu}) for gpu in ("a100-80", "h100-sxm")])
    assert after.results[STEP] <= before.results[STEP] * (1 + 1e-9)


@pytest.mark.slow
def test_one_part_better_is_hardly_ever_slower():
    rng, pairs = np.random.default_rng(draw(DRAWS, 1)), []
    while len(pairs) < PAIRS:
        try:
            pairs.append(pair(rng))
        except ValueError:
            continue
    found = estimates([one for worse, better, _ in pairs for one in (worse, better)])
    slower = []
    ran = 0
    for (worse, _, path), before, after in zip(pairs, found[::2], found[1::2], strict=True):
        if before.ran and after.ran:
            ran += 1
            ratio = after.results[STEP] / before.results[STEP]
            slower += [(round(ratio, 4), path, worse.system)] if ratio > 1 + WORSE else []
    assert ran > PAIRS / 2
    assert len(slower) <= ALLOWED * ran, sorted(slower)[-20:]
