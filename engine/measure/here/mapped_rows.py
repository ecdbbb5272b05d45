"""Rows of a table in a memory-mapped file with a DRAM cache: predicted, then measured.

The system is `ssd` with page faults (`machine.ssd_software=mmap`). The cache's bookkeeping is not timed, as the model has no time
for it.
"""

import mmap
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...core import catalog
from ...core.arrays import Ints, Singles
from ...core.figures import figure, percent, signed
from ...core.jit import entry_kernel
from ...estimates import estimates, steady_states
from ...scenario.presets import preset
from ...scenario.scenario import Scenario, with_values
from ...schedule.steady_state import Steady
from ...systems.traffic import cached_rows, num_rows
from ...units import MS
from ...workload.source import source
from ..host import pytorch
from ..machine_limits import cores, free_bytes
from ..part_files import NAME
from .shapes import PARTS

ROWS, DIM, BATCH, POOLING = 2**21, 64, 256, 16
CACHE_SHARES = (0.05, 0.2, 0.5)  # shares of the rows that the cache holds
FIRST_BATCH, STEPS, WARMUP_BATCHES = 100_000, 15, 3  # first batch, when rows have a history; timed batches; warm-up batches
CHUNK = 2**14  # rows that are written at a time
LEAST_FREE = 2 * 2**30  # free bytes required in the folder, and in memory


class MappedTrial(NamedTuple):
    """One cache size, predicted and measured.

    share: the share of the rows that the cache holds.
    predicted_hits: predicted hit rate, as a share of lookups.
    measured_hits: measured hit rate.
    predicted_seconds: predicted seconds of a batch's lookups and updates.
    measured_seconds: measured seconds of a batch's lookups and updates.
    """

    share: float
    predicted_hits: float
    measured_hits: float
    predicted_seconds: float
    measured_seconds: float

    def as_json(self) -> dict[str, float]:
        """Return the trial as one JSON-ready object."""
        return {
            "share": self.share,
            "predicted_hits": self.predicted_hits,
            "measured_hits": self.measured_hits,
            "predicted": self.predicted_seconds,
            "measured": self.measured_seconds,
        }

    @property
    def sentence(self) -> str:
        """The predicted and measured numbers as a sentence."""
        error_percent = 100 * (self.predicted_seconds / self.measured_seconds - 1)
        return (
            f"Rows in a mapped file, cache of {percent(self.share)}: hits {percent(self.predicted_hits)} predicted, "
            f"{percent(self.measured_hits)} measured; a batch takes {figure(self.predicted_seconds / MS, 'ms')} predicted, "
            f"{figure(self.measured_seconds / MS, 'ms')} measured ({signed(error_percent, '%')})."
        )


def mapped_scenario(share: float, rows: int = ROWS) -> Scenario:
    """Return the scenario whose cache holds a share of the rows, on measured parts."""
    knobs: dict[str, Any] = {
        "system": "ssd",
        "model.num_tables": 1,
        "model.num_embeddings": rows,
        "model.embedding_dim": DIM,
        "model.pooling": POOLING,
        "model.bottom_mlp": (13, DIM),
        "model.top_mlp": (16, 1),
        "model.optimizer": "sgd",
        "data.batch_size": BATCH,
        "data.popularity": "zipf",
        "data.sample_correlation": 0.0,
        "run.training": False,
        "machine.num_gpus": 1,
        "machine.num_ssds": 1,
        "machine.ssd": NAME,
        "machine.ssd_software": "mmap",
        "policy.cache_load_factor": share,
    }
    return with_values(preset("dlrm-kaggle").scenario, {**knobs, **PARTS})


def mapped_trials(folder: Path, rows: int = ROWS, steps: int = STEPS) -> Iterator[MappedTrial]:
    """Yield a trial for each cache size; all are predicted before the first is measured.

    Yield nothing without a measured drive, or with too little room or memory.
    """
    file_system = os.statvfs(folder)
    if NAME not in catalog.part_names_of("drive") or min(file_system.f_bavail * file_system.f_frsize, free_bytes()) < LEAST_FREE:
        return
    scenarios = [mapped_scenario(share, rows) for share in CACHE_SHARES]
    results, states = estimates(scenarios), steady_states(scenarios)
    with _table_file(folder, rows) as table:
        for scenario, result, state in zip(scenarios, results, states, strict=True):
            if not isinstance(state, Steady):
                continue
            hits, seconds = _measure_batches(scenario, table, steps)
            expected = (result.results["Cache hit rate [%]"] or 0.0) / 100
            yield MappedTrial(cached_rows(scenario) / rows, expected, hits, float(state.stage("Embedding")), seconds)


class RowCache:
    """A row cache that evicts the least recently used row first.

    slot_of: the slot of each row, (N,); -1 for a row that is not cached.
    row_in: the row in each slot, (C,); -1 for an empty slot.
    """

    def __init__(self, rows: int, capacity: int) -> None:
        self.slot_of: Ints = np.full(rows, -1, dtype=np.int64)
        self.row_in: Ints = np.full(capacity, -1, dtype=np.int64)
        self._last_use: Ints = np.full(capacity, -1, dtype=np.int64)

    def fill(self, batches: Iterator[tuple[int, Ints]]) -> None:
        """Put rows of batches into empty slots, the newest batch first, until none is empty."""
        filled_slots = 0
        for batch, unique in batches:
            admitted_rows = unique[self.slot_of[unique] < 0][: len(self.row_in) - filled_slots]
            slots = np.arange(filled_slots, filled_slots + len(admitted_rows))
            self.slot_of[admitted_rows], self.row_in[slots], self._last_use[slots] = slots, admitted_rows, batch
            filled_slots += len(admitted_rows)
            if filled_slots == len(self.row_in):
                return

    def admit(self, batch: int, unique: Ints) -> tuple[Ints, Ints, Ints]:
        """Put a batch's unique rows into the cache; return missed rows, slots, evicted rows.

        The slots are those of the missed rows. An evicted row is -1 where the slot was empty.
        """
        slots = self.slot_of[unique]
        self._last_use[slots[slots >= 0]] = batch
        missed_rows = unique[slots < 0]
        freed = np.argpartition(self._last_use, len(missed_rows))[: len(missed_rows)]
        evicted = self.row_in[freed]
        self.slot_of[evicted[evicted >= 0]] = -1
        self.slot_of[missed_rows], self.row_in[freed], self._last_use[freed] = freed, missed_rows, batch
        return missed_rows, freed, evicted


@entry_kernel
def copy_rows(source: Singles, rows: Ints, target: Singles, places: Ints) -> None:
    """Copy rows of one array to places in another."""
    for position in range(len(rows)):
        for column in range(source.shape[1]):
            target[places[position], column] = source[rows[position], column]


def _measure_batches(scenario: Scenario, table: "MappedTable", steps: int) -> tuple[float, float]:
    """Return the cache's hit rate, and the median seconds of a batch's lookups and updates."""
    ids, rows = source(scenario).ids, round(num_rows(scenario))
    capacity = round(cached_rows(scenario))
    cache, (cache_rows, train) = RowCache(rows, capacity), _embedding_trainer(capacity)
    cache.fill((batch, np.unique(ids(batch))) for batch in range(FIRST_BATCH - 1, -1, -1))
    hits, times = [], []
    with ThreadPoolExecutor(cores()) as pool:
        for batch in range(FIRST_BATCH, FIRST_BATCH + WARMUP_BATCHES + steps):
            looked_up_rows = ids(batch)
            hits.append(float((cache.slot_of[looked_up_rows] >= 0).mean()))
            missed_rows, slots, evicted = cache.admit(batch, np.unique(looked_up_rows))
            is_evicted = evicted >= 0
            start_time = perf_counter()
            _copy_by_all_cores(pool, cache_rows, slots[is_evicted], table.rows, evicted[is_evicted])
            _copy_by_all_cores(pool, table.rows, missed_rows, cache_rows, slots)
            train(cache.slot_of[looked_up_rows])
            table.file.flush()
            times.append(perf_counter() - start_time)
            table.forget()
    return float(np.mean(hits)), median(times[WARMUP_BATCHES:])


def _copy_by_all_cores(pool: ThreadPoolExecutor, source: Singles, rows: Ints, target: Singles, places: Ints) -> None:
    """Copy rows by all cores, each of which waits for its own page faults."""
    parts = (np.array_split(row_numbers, cores()) for row_numbers in (rows, places))
    list(pool.map(lambda part: copy_rows(source, part[0], target, part[1]), zip(*parts, strict=True)))


def _embedding_trainer(capacity: int) -> tuple[Singles, Callable[[Ints], None]]:
    """Return the cache's rows, (C, DIM), and a function that trains a batch's slots.

    It looks them up and updates them as a loop of PyTorch does.
    """
    torch = pytorch()
    torch.set_num_threads(cores())
    bag = torch.nn.EmbeddingBag(capacity, DIM, mode="sum", sparse=True)
    optimizer, offsets = torch.optim.SGD(bag.parameters(), lr=1e-3), torch.arange(0, BATCH * POOLING, POOLING)
    gradient = torch.ones(BATCH, DIM)

    def train(slots: Ints) -> None:
        optimizer.zero_grad(set_to_none=True)
        bag(torch.from_numpy(slots), offsets).backward(gradient)
        optimizer.step()

    return bag.weight.detach().numpy(), train


class MappedTable(NamedTuple):
    """A table in a memory-mapped file.

    descriptor: the open file. file: its memory map. rows: the rows in the map, (N, DIM).
    """

    descriptor: int
    file: mmap.mmap
    rows: Singles

    def forget(self) -> None:
        """Drop the file's pages from memory, so that the next access reads the drive."""
        self.file.madvise(mmap.MADV_DONTNEED)
        os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def _table_file(folder: Path, rows: int) -> Iterator[MappedTable]:
    """Give a table in a scratch file of random bytes; delete the file at last."""
    path, nbytes = folder / ".emberpool-rows", 4 * rows * DIM
    random = np.random.default_rng(1)
    try:
        with path.open("w+b") as file:
            for first_row in range(0, rows, CHUNK):
                file.write(random.standard_normal((min(CHUNK, rows - first_row), DIM), dtype=np.float32).data)
            file.flush()
            os.fsync(file.fileno())
            mapped = mmap.mmap(file.fileno(), nbytes)
            mapped.madvise(mmap.MADV_RANDOM)  # no pages beyond those that are touched
            table = MappedTable(file.fileno(), mapped, np.frombuffer(mapped, dtype=np.float32).reshape(rows, DIM))
            table.forget()
            yield table
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
