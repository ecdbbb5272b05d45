"""What is left of a timeline's persist events when power is lost among them?"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.crashcheck.judge import judge, judge_resumed
from engine.persistence.protocol import Position
from engine.persistence.recovery import recover
from engine.persistence.replay import PersistEvent, StartState, replay_events
from tests.cases import examples
from tests.persistence.training_story import SEED, story


def events_of(tale, log):
    """Return the operations of a run, one after the other, as a schedule would report them."""
    write = "embedding update" if log == "undo" else "home write"
    steps = ("embedding log", "mlp log", "commit", write)
    return [(step, batch) for batch in range(tale.batches) for step in steps]


@examples(40)
@given(
    cut=st.integers(0, 15), done=st.floats(0, 0.999), seed=st.integers(0, 2**31), log=st.sampled_from(["undo", "redo"]),
    mixed=st.booleans(),
)  # fmt: skip
def test_what_survives_a_cut_timeline_recovers_to_its_last_commit(cut, done, seed, log, mixed):
    tale = story(log, seed=seed % 50, mixed=mixed)
    events = [PersistEvent(*event, 1.0) for event in events_of(tale, log)]
    events = [*events[:cut], PersistEvent(events[cut].op, events[cut].batch, done)]
    changes = {batch: tale.change(batch) for batch in range(tale.batches)}
    start = StartState(tale.values(0), tale.mlps[0], Position(0, 0, 0, SEED), tale.layout.row_bytes)
    media = replay_events(tale.layout, start, events, changes, log, np.random.default_rng(seed))
    ahead = 1 if log == "redo" else 0
    committed = [event.batch + ahead for event in events if event.op == "commit" and event.done_share == 1]
    image, acknowledged = media.durable.tobytes(), max(committed, default=0)
    assert judge(tale, image, acknowledged).problem == judge_resumed(tale, image, acknowledged).problem == ""


def test_operations_under_way_together_are_each_torn_on_their_own():
    tale, seen = story("redo"), set()
    changes = {batch: tale.change(batch) for batch in range(tale.batches)}
    start = StartState(tale.tables[0], tale.mlps[0], Position(0, 0, 0, SEED))
    done = [PersistEvent(*event, 1.0) for event in events_of(tale, "redo")[:7]]
    under_way = [PersistEvent("home write", 1, 0.4), PersistEvent("embedding log", 2, 0.6), PersistEvent("mlp log", 2, 0.3)]
    for seed in range(20):
        media = replay_events(tale.layout, start, done + under_way, changes, "redo", np.random.default_rng(seed))
        seen.add(media.durable.tobytes())
        assert judge(tale, media.durable.tobytes(), 2).problem == ""
    assert len(seen) > 5
    assert all(not np.array_equal(before, after) for before, after in pairwise(tale.tables))


@pytest.mark.parametrize("done", [0.0, 0.5, 1.0])
def test_an_mlp_log_that_spans_batches_counts_only_when_it_has_ended(done):
    tale = story(relaxed=True)
    changes = {batch: tale.change(batch) for batch in range(tale.batches)}
    start = StartState(tale.tables[0], tale.mlps[0], Position(0, 0, 0, SEED))
    steps = [(op, batch, 1.0) for batch in range(2) for op in ("embedding log", "commit", "embedding update")]
    steps += [("mlp log", 1, done), ("embedding log", 2, 1.0), ("commit", 2, 1.0)]
    media = replay_events(tale.layout, start, [PersistEvent(*s) for s in steps], changes, "undo", np.random.default_rng(1))
    recovered = recover(media, tale.layout, "undo", tale.bound)
    assert (recovered.embedding_batch, recovered.mlp_batch) == (2, 1 if done == 1 else 0)
    assert recovered.mlp.tobytes() == tale.mlps[recovered.mlp_batch].tobytes()
