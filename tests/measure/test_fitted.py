"""Constants from timings: does each fit give back the constants that made the timings, and from its own operators alone?"""

import ast
from pathlib import Path

import numpy as np
import pytest

from engine import measure
from engine.measure import memory
from engine.measure.fitted import TimedOperator, fit_figures
from engine.measure.timing import CpuTimes, Timing, busy_notes, timing_of

RATE, FIXED, EXTRA = 1e11, 12e-6, 30.0
LOOKUP, GRADIENT = (30e-6, 2e-9, 0.02e-9, 5e-9), (80e-6, 10e-9, 0.05e-9, 1e-9)
SGD, ADAGRAD = (50e-6, 70e-9, 0.03e-9, 12e-9), (300e-6, 200e-9, 0.05e-9, 80e-9)
PARTS = ("calls", "lookups", "bytes", "new lines")


def timed(kind, seconds, **amounts):
    return TimedOperator(kind, {name.replace("_", " "): value for name, value in amounts.items()}, Timing(seconds, 0.05, 9))


def made_up():
    found = []
    for samples in (64, 512, 4096):
        for k, n in ((32, 32), (512, 512), (1024, 64)):
            flop, weights = 2.0 * samples * k * n, float(k * n)
            found.append(timed("product", FIXED + (flop + 2 * EXTRA * weights) / RATE, flop=flop, weights=weights))
    for rows in (1000, 200_000):
        for lookups, dim in ((64, 16), (1000, 64), (40_000, 128), (20_000, 16)):
            unique = rows * -np.expm1(lookups * np.log1p(-1 / rows))
            amounts = {
                "calls": 1.0,
                "lookups": float(lookups),
                "bytes": 4.0 * lookups * dim,
                "new_lines": (1 + dim / 16) * unique,
            }
            for kind, costs in (("lookup", LOOKUP), ("gradient", GRADIENT), ("update SGD", SGD), ("update Adagrad", ADAGRAD)):
                found.append(
                    timed(
                        kind,
                        sum(cost * amounts[name.replace(" ", "_")] for cost, name in zip(costs, PARTS, strict=True)),
                        **amounts,
                    )
                )
    found.append(timed("layer calls", 8 * 150e-6, layers=8.0))
    found += [timed("update calls", 16 * 3e-6, parameters=16.0), timed("loss calls", 2e-4)]
    found += [timed("vector products", 0.03e-9 * flop, flop=flop) for flop in (1e6, 1e9)]
    found += [timed("pairs", 9e-9 * pairs, pairs=pairs) for pairs in (1e4, 1e6)]
    return found


def test_constants_come_back():
    found = {key: one.value for key, one in fit_figures(made_up(), 2).items()}
    rate = found["fp32-peak-a-core"] * 2 * 1e9 * found["GEMM-share-of-peak"]
    assert rate == pytest.approx(RATE, rel=0.02) and found["GEMM-extra-samples"] == pytest.approx(EXTRA, rel=0.05)
    assert found["GEMM-share-of-peak"] <= 1
    assert found["lookup-of-a-table"] == pytest.approx(30, rel=1e-6)
    assert found["embedding-software-per-lookup"] == pytest.approx(2 * 2, rel=1e-6)
    assert found["EmbeddingBag-rate"] == pytest.approx(0.5 / 0.02, rel=1e-6)
    assert found["lookup-of-a-new-line"] == pytest.approx(5, rel=1e-6)
    for name, update in (("plain", SGD), ("stateful", ADAGRAD)):
        whole = np.array(GRADIENT) + update
        assert found[f"{name}-update-of-a-table"] == pytest.approx(whole[0] * 1e6)
        assert found[f"{name}-update-of-a-lookup"] == pytest.approx(whole[1] * 1e9 - 2)
        assert found[f"{name}-update-of-a-byte"] == pytest.approx(whole[2] * 1e9 - 0.02)
        assert found[f"{name}-update-of-a-new-line"] == pytest.approx(whole[3] * 1e9)
    assert found["layer-launch"] == pytest.approx((150 + 2 * 3) / 6) and found["training-loop"] == pytest.approx(0.2)
    assert found["vector-products"] == pytest.approx(0.03) and found["pair-of-vectors"] == pytest.approx(9)
    assert all(one.low <= one.value <= one.high for one in fit_figures(made_up(), 2).values())


def test_what_is_scored_cannot_reach_what_is_fitted():
    """Modules that measure and fit import nothing of training and trials; only the commands know both."""
    room = Path(measure.__file__).parent
    for path in (*room.glob("*.py"), *room.glob("gpu/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            assert not any("here" in name.split(".") for name in names), path
    source = (room / "operators.py").read_text(encoding="utf-8")
    assert (
        "layers(x).backward(unit_gradient)" in source
        and "embedding_bag(" not in source
        and "training" not in source.replace("No training step", "")
    )


def test_a_spread_is_that_of_the_middle_half_and_busy_machines_are_said():
    assert timing_of([1.0, 1.0, 1.0, 1.0, 9.0]) == Timing(1.0, pytest.approx(4.0), 5)
    calm = {"one": Timing(1.0, 0.1, 5)}
    assert not list(busy_notes(CpuTimes(0, 0, 0), CpuTimes(100, 48, 1), 50.0, calm))
    (busy,) = busy_notes(CpuTimes(0, 0, 0), CpuTimes(100, 10, 1), 50.0, calm)
    assert busy.startswith("Other programs used 39 % of the cores")
    (stolen,) = busy_notes(CpuTimes(0, 0, 0), CpuTimes(100, 40, 8), 50.0, calm)
    assert stolen.startswith("The hypervisor took away 8 % of the cores")
    (wide,) = busy_notes(None, None, 50.0, {**calm, "two": Timing(1.0, 0.3, 5)})
    assert wide == "1 of 2 figures spread by more than 25 %: two."


def test_a_chain_goes_through_every_line_once_and_goes_on_where_it_ended():
    chain = memory.random_chain(100, 3)
    at, seen = 0, set()
    for _ in range(100):
        at = int(chain[at])
        seen.add(at)
    assert seen == set(range(0, 800, 8)) and at == 0
    assert memory.follow_chain(chain, 0, 40) != 0 and memory.follow_chain(chain, memory.follow_chain(chain, 0, 40), 60) == 0
    kernels = memory.memory_kernels(memory.memory_arrays(2**20, 2))
    assert kernels[memory.BY_ALL][1] == 2 * kernels[memory.BY_ONE][1]
    assert kernels[memory.BY_ALL][0]() == [kernels[memory.BY_ONE][0]()] * 2 == [64.0 / 8 * memory.ROWS] * 2
