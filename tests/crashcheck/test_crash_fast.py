"""Does the fast path know at every persisted line what the real recovery would restore, and does it see what is wrong?"""

from contextlib import suppress

import numpy as np
import pytest

from benchmarks.crash_trace import Trace
from engine.crashcheck import configuration, configurations
from engine.crashcheck.bugs import broken
from engine.crashcheck.reference_run import Configuration, Journal, Size, attach, begin, reference_run, train
from engine.persistence import CrashMedia, FunctionalMedia, Power, PowerLost, recover
from engine.persistence.checksums import table_digest
from tests.cases import each
from tests.seeded_bugs import BUGS


def traced(tale, wrap=None, cut_after=None):
    """Train through a traced medium, up to a power loss after so many lines; return the trace and the medium."""
    start = FunctionalMedia(tale.layout.nbytes)
    begin(tale, start)
    journal = Journal()
    trace = Trace(tale, journal)
    media = CrashMedia(start.durable, Power(cut_after=cut_after), watch=trace)
    trace.begin(media)
    with suppress(PowerLost):
        train(tale, attach(tale, media, wrap), 0, journal)
    return trace, media


@each("of", [one.name for one in configurations()])
def test_the_trace_of_a_whole_run_agrees_with_the_oracle_and_with_the_real_recovery(of):
    tale = reference_run(configuration(of))
    trace, media = traced(tale)
    assert trace.problem == "" and trace.points == media.line_writes
    assert same(trace, media.survivor(), tale)


def same(trace, media, tale):
    """Return whether the real recovery of the durable bytes gives what the trace says."""
    found = recover(media, tale.layout, tale.log, tale.bound)
    said = trace.state
    return (said.embedding_batch, said.mlp_batch, said.stamp.reader, said.stamp.seed, said.table, said.mlp) == (
        found.embedding_batch,
        found.mlp_batch,
        found.reader_position,
        found.seed,
        table_digest(found.table),
        found.mlp.tobytes(),
    )


class Everywhere:
    """A watch that follows the trace, and recovers for real after every line."""

    def __init__(self, trace, tale):
        self.trace, self.reference, self.compared = trace, tale, 0

    def __call__(self, media):
        self.trace(media)
        image, seen = media.durable.copy(), []
        for piece in (piece for write in media.draining for piece in lines(write)):
            image[piece.address : piece.stop] = piece.data
            seen.append(table_digest(recover(FunctionalMedia(image), self.reference.layout, self.reference.log, 2).table))
        self.compared += len(seen)
        assert set(seen) <= set(self.trace.said)
        assert not seen or seen[-1] == self.trace.state.table


def lines(write):
    """Yield a write line by line."""
    for low in range(write.address // 64 * 64, write.stop, 64):
        yield write.part(low, low + 64)


@each("of", ["undo", "undo-relaxed", "redo", "redo-late", "undo-near"])
def test_on_small_batches_the_real_recovery_agrees_at_every_line(of):
    tale = reference_run(configuration(of))
    start = FunctionalMedia(tale.layout.nbytes)
    begin(tale, start)
    trace = Trace(tale, Journal())
    watch = Everywhere(trace, tale)
    media = CrashMedia(start.durable, watch=watch)
    trace.begin(media)
    train(tale, attach(tale, media), 0, trace.journal)
    assert trace.problem == "" and watch.compared == trace.points


def test_at_sampled_points_of_a_larger_run_the_real_recovery_agrees():
    tale = reference_run(Configuration(), 2, Size(500, 16, 4096, 4, 60))
    trace, whole = traced(tale)
    for cut in np.random.default_rng(0).integers(0, whole.line_writes, 12).tolist():
        _, media = traced(tale, cut_after=cut)
        found = recover(media.survivor(), tale.layout, "undo")
        assert table_digest(found.table) == trace.said[found.embedding_batch]


@pytest.mark.parametrize(
    "name",
    [
        "last_row_is_not_logged",
        "home_rows_are_written_before_the_commit",
        "flag_carries_no_batch",
        "undo_log_is_freed_before_the_update",
    ],
)
def test_the_trace_sees_a_broken_protocol(name):
    bug = broken(name)
    with bug.install():
        trace, _ = traced(reference_run(configuration(BUGS[name].on)))
    assert trace.problem
