"""A small training run whose every state is kept in plain arrays: the oracle of the crash tests, never on a medium."""

from dataclasses import dataclass

import numpy as np

from engine.persistence import CrashMedia, NearData, Position, format_media, protocol
from engine.persistence.cut import LOGS, BatchChange
from engine.persistence.layout import Layout, layout

SEED = (7, 11)
BATCH_SIZE = 128


@dataclass(frozen=True)
class Story:
    """A fault-free run: `tables[b]` and `mlps[b]` are the state at the start of batch b, `rows[b]` what b changes.

    With `late_home` the home rows of a batch are written after the commit of the next one, as in the background.
    """

    layout: Layout
    log: str
    relaxed: bool
    near_data: bool
    late_home: bool
    tables: tuple
    mlps: tuple
    rows: tuple

    @property
    def batches(self):
        return len(self.rows)

    @property
    def bound(self):
        """An MLP log takes two batches, so at a commit the newest complete one is at most two old."""
        return 2 if self.relaxed else 0

    def change(self, batch):
        rows, (before, after) = self.rows[batch], self.tables[batch : batch + 2]
        mlps = self.mlps[batch : batch + 2]
        return BatchChange(rows, before[rows], after[rows], *mlps, batch * BATCH_SIZE, (batch + 1) * BATCH_SIZE)


def story(
    log="undo", relaxed=False, near_data=False, late_home=False, num_rows=8, dim=9, mlp_bytes=88, batches=4, touched=4, seed=0
):
    """Return a small run with overlapping batches, rows that straddle lines, and values that differ everywhere."""
    rng = np.random.default_rng(seed)
    tables = [rng.integers(1, 2**31, (num_rows, dim), np.uint32)]
    mlps = [rng.integers(0, 256, mlp_bytes, np.uint8) for _ in range(batches + 1)]
    rows = [np.sort(rng.choice(num_rows, touched, replace=False)) for _ in range(batches)]
    for touched_rows in rows:
        tables.append(tables[-1].copy())
        tables[-1][touched_rows] += rng.integers(1, 2**31, (touched, dim), np.uint32)
    place = layout(num_rows, dim * 4, mlp_bytes, touched)
    return Story(place, log, relaxed, near_data, late_home, tuple(tables), tuple(mlps), tuple(rows))


def formatted(tale, batch=0):
    """Return a medium that holds the state at the start of `batch`."""
    media = CrashMedia(tale.layout.nbytes)
    position = Position(batch, batch, batch * BATCH_SIZE, SEED)
    format_media(media, tale.layout, tale.tables[batch], tale.mlps[batch], position)
    return media


def train(tale, media, first, acknowledged):
    """Run batches from `first`, with the protocol's operations; append each boundary acknowledged as durable.

    The first MLP log of a relaxed run is in one piece, so that an age taken over from recovery never grows.
    """
    media = NearData(media) if tale.near_data else media
    log, place, ahead = LOGS[tale.log], tale.layout, 0 if tale.log == "undo" else 1
    mlp_log = mlp_batch = None
    late = None
    for batch in range(first, tale.batches):
        change = tale.change(batch)
        rows = log.log_rows(media, place, batch, change.rows, change.after if ahead else change.before)
        if mlp_log is None:
            mlp_batch, half = batch, tale.layout.mlp_bytes // 2 if tale.relaxed and batch > first else None
            mlp_log = log.log_mlp(media, place, batch, tale.mlps[batch + ahead], half)
        else:
            mlp_log = log.log_mlp(media, place, mlp_batch, tale.mlps[mlp_batch + ahead], None, mlp_log)
        complete = mlp_log.nbytes == tale.layout.mlp_bytes
        kept, mlp_log = (mlp_log, None) if complete else (None, mlp_log)
        log.commit(media, place, rows, kept, (batch + ahead) * BATCH_SIZE, SEED)
        acknowledged.append(batch + ahead)
        if tale.late_home:
            late = _home_write_under_way(tale, media, late, rows, kept, change)
        else:
            log.rewrite(media, place, rows, kept, change.rows, change.after)
    if late:
        protocol.write_rows(media, place, late.rows, late.after)
    media.fence()


def _home_write_under_way(tale, media, late, rows, kept, change):
    """End the home writes of the batch before, and begin this one's by the release; its rows follow later."""
    if late:
        protocol.write_rows(media, tale.layout, late.rows, late.after)
        media.fence()
    protocol.release(media, tale.layout, rows, kept)
    return change
