"""P6 mixed: an estimate of 600 different tables, compared with one of 600 equal tables.

The tables differ in width, precision and optimizer.
"""

from itertools import count

import numpy as np

from benchmarks.benchmark import Benchmark, interleaved
from engine.core import memo
from engine.estimate import estimate
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values

TABLES, MOST = 600, 3.0  # times what tables alike take
DIMS, PRECISIONS, OPTIMIZERS = (16, 32, 64, 128, 256), ("fp32", "fp16"), ("sgd", "rowwise-adagrad", "adam")


def run() -> tuple[float, float, bool]:
    """Estimate both with empty memos; return both times and a check.

    The check is that a list of 600 equal values gives the result of one value.
    """
    random = np.random.default_rng(1)
    rows = tuple((10 ** random.uniform(1, 7, TABLES)).astype(int).tolist())
    like = with_values(
        preset("dlrm-kaggle").scenario,
        {
            "model.num_tables": TABLES,
            "model.num_embeddings": rows,
            "model.embedding_dim": 64,
            "model.interaction": "concat",
            "data.popularity": "zipf",
        },
    )
    lists = {"model.embedding_dim": DIMS, "model.row_precision": PRECISIONS, "model.optimizer": OPTIMIZERS}
    mixed = with_values(like, {path: tuple(random.choice(some, TABLES).tolist()) for path, some in lists.items()})
    alike = with_values(like, {"model.embedding_dim": (64,) * TABLES})
    seconds = interleaved(lambda: _estimated(mixed), lambda: _estimated(like))
    return *seconds, _estimated(alike).results == _estimated(like).results


def _estimated(scenario: Scenario) -> Result:
    """Estimate a scenario that nothing is known of."""
    memo.clear_memos()
    return estimate(with_values(scenario, {"data.seed": next(SEEDS)}))


SEEDS = count(1)
BENCHMARK = Benchmark("P6 mixed", "estimate of 600 unlike tables", "600 tables alike", "", 1 / MOST, 1 / 1.5, run)
