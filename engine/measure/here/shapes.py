"""Shapes of models to train on this machine, drawn log-uniformly by a seed.

Shapes that do not fit the machine are left out and counted.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.figures import count
from ...hardware.copy_paths import measured_rate
from ...scenario.presets import preset
from ...scenario.scenario import Scenario, with_values
from ..part_files import GPU_PART_NAMES, NAME

OPTIMIZERS = ("sgd", "adagrad")
DENSE = 13
RANGES = {"tables": (4, 64), "rows": (1e3, 1e6), "dim": (8, 128), "pooling": (1, 50), "batch": (64, 4096), "width": (32, 1024)}
PARTS = {
    "machine.host": "measured",
    "machine.host_dram": "measured",
    "machine.host_software": "measured",
    "machine.framework": "measured",
}
NO_INPUT = (("host.input-a-value", 0.0),)  # batches are on their device before a step begins
NO_COPIES = 1000.0  # GB/s, the knob's maximum
NO_PORT = (("gpu.port", NO_COPIES), ("gpu-port.host-port-of-PCIe-3", NO_COPIES))
CPU_ONLY, ALL_HBM, CPU_GPU = "cpu-only", "all-hbm", "cpu-gpu"
GPU_SYSTEMS = (ALL_HBM, CPU_GPU)
MOST_SECONDS, SHARE_OF_MEMORY = 5.0, 0.5


class ModelShape(NamedTuple):
    """The shape of one model.

    tables: the number of tables, which are all alike.
    rows: rows of a table.
    dim: numbers of a row.
    pooling: lookups of a sample in a table.
    batch: samples of a batch.
    bottom, top: widths of the dense layers.
    optimizer: sgd or adagrad.
    """

    tables: int
    rows: int
    dim: int
    pooling: int
    batch: int
    bottom: tuple[int, ...]
    top: tuple[int, ...]
    optimizer: str

    @property
    def nbytes(self) -> float:
        """Bytes of tables with optimizer state, and of the gradients of a batch's lookups."""
        state = 2 if self.optimizer == "adagrad" else 1
        return 4.0 * self.tables * self.dim * (self.rows * state + 3 * self.batch * self.pooling)

    @property
    def words(self) -> str:
        """The shape as a short text for people."""
        return (
            f"{self.tables} x {self.rows} x {self.dim}, {count(self.pooling, 'lookup')}, batch {self.batch}, "
            f"{'-'.join(map(str, self.bottom))} / {'-'.join(map(str, self.top))}, {self.optimizer}"
        )


def draw_shape(seed: int, number: int) -> ModelShape:
    """Return the shape that a seed draws as its `number`-th."""
    random = np.random.default_rng([seed, number])

    def log_uniform(name: str) -> int:
        low, high = np.log(RANGES[name])
        return round(float(np.exp(random.uniform(low, high))))

    tables, rows, dim, pooling, batch = (log_uniform(name) for name in ("tables", "rows", "dim", "pooling", "batch"))
    bottom, top = ([log_uniform("width") for _ in range(int(random.integers(1, 4)))] for _ in range(2))
    optimizer = OPTIMIZERS[int(random.integers(2))]
    return ModelShape(tables, rows, dim, pooling, batch, (DENSE, *bottom, dim), (*top, 1), optimizer)


def shape_scenario(shape: ModelShape, system: str = CPU_ONLY) -> Scenario:
    """Return the scenario of a shape under a system, on measured parts.

    Lookups are uniform.
    """
    parts = _gpu_parts(system) if system in GPU_SYSTEMS else PARTS
    knobs = {
        "system": system,
        "model.num_tables": shape.tables,
        "model.num_embeddings": shape.rows,
        "model.embedding_dim": shape.dim,
        "model.pooling": shape.pooling,
        "model.bottom_mlp": shape.bottom,
        "model.top_mlp": shape.top,
        "model.interaction": "dot",
        "model.optimizer": shape.optimizer,
        "data.batch_size": shape.batch,
        "data.popularity": "uniform",
        "data.sample_correlation": 0.0,
        "run.training": False,
        "machine.matrix_precision": "fp32",
        "machine.num_gpus": 1,
    }
    return with_values(preset("dlrm-kaggle").scenario, {**knobs, **parts})


def _gpu_parts(system: str) -> dict[str, Any]:
    """Return the measured parts for systems with a GPU, with the rate of copies.

    Nothing crosses the link during a step of all-hbm.
    """
    parts = {**PARTS, "machine.gpu": NAME, "machine.framework": GPU_PART_NAMES["framework"], "machine.assume": NO_INPUT}
    if system == ALL_HBM:
        return {**parts, "machine.assume": (*NO_INPUT, *NO_PORT), "machine.pcie_bandwidth_GBps": NO_COPIES}
    rate = measured_rate(NAME)
    return {**parts, "machine.pcie_bandwidth_GBps": rate} if rate else parts


def refusal_reason(shape: ModelShape, memory: float, predicted: float, memory_name: str = "memory") -> str:
    """Return why a shape is left out; "" if it is not.

    A shape is left out if it exceeds the memory, or if a step is predicted to take too long.
    """
    if shape.nbytes > SHARE_OF_MEMORY * memory:
        return memory_name
    return "time" if predicted > MOST_SECONDS else ""
