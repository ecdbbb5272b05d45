"""Does each persistence model leave what it says after a power loss, and do full runs with faults follow it?"""

import numpy as np
import pytest

from engine.errors import BadInput
from engine.persistence.crash_media import CrashMedia, Power
from engine.persistence.layout import MediumLayout
from engine.persistence.media import HEALTH, LINE
from engine.persistence.models import domain
from engine.persistence.protocol import Position
from engine.persistence.recovery import recover
from engine.persistence.replay import BatchChange, PersistEvent, StartState, replay_events
from engine.registry import domain_names
from engine.simulate import simulate
from tests.cases import each
from tests.machines import scenario


def filled(nbytes, value):
    return np.full(nbytes, value, np.uint8)


def written(model, **power):
    """Return a medium of one page with one fenced line, a flushed line, and a line only stored; and its pending words."""
    media = CrashMedia(4096, Power(model, **power))
    for line in range(3):
        media.store(line * LINE, filled(LINE, line + 1))
        if line < 2:
            media.flush(line * LINE, LINE)
        if line == 0:
            media.fence()
    return media, {stream: len(words) for stream, words in media.streams().items()}


@each(
    ("model", "pending"),
    [
        ("adr", {1: 8, 2: 8}),
        ("eadr", {}),
        ("gpf_ok", {}),
        ("gpf_fail", {0: 8, 1: 8, 2: 8}),
        ("device_fifo", {-1: 16}),
        ("weak_word", {word: 1 for word in range(8, 24)}),
        ("volatile", {0: 8, 1: 8, 2: 8}),
    ],
)
def test_a_model_says_which_words_are_not_safe_yet_and_in_which_order_they_wait(model, pending):
    assert written(model)[1] == pending


def test_only_a_failed_flush_moves_the_dirty_shutdown_counter():
    counts = {model: int(written(model)[0].survivor().durable[HEALTH]) for model in domain_names()}
    assert counts == {**dict.fromkeys(domain_names(), 0), "gpf_fail": 1}


def test_stores_that_are_durable_at_once_need_neither_flush_nor_fence():
    assert written("eadr")[0].survivor().durable[: 3 * LINE : LINE].tolist() == [1, 2, 3]


def test_a_buffer_that_overflows_makes_its_oldest_lines_safe():
    media = CrashMedia(4096 + 300 * LINE, Power("gpf_fail"))
    for line in range(300):
        media.store(4096 + line * LINE, filled(LINE, 1))
        media.flush(4096 + line * LINE, LINE)
    media.fence()
    assert len(media.streams()) == 256


@pytest.mark.parametrize(("granularity", "pieces"), [(8, 8), (64, 1), (256, 1)])
def test_a_line_is_torn_into_pieces_of_the_atomic_size(granularity, pieces):
    assert written("adr", granularity=granularity)[1][1] == pieces


def test_controllers_are_independent_and_each_is_first_in_first_out():
    assert written("device_fifo", controllers=2, interleave=LINE)[1] == {-2: 8, -1: 8}


def test_an_unknown_model_is_refused_with_the_nearest_name():
    with pytest.raises(BadInput, match="gpf_ok"):
        domain("gpf_okay")


def interrupted(model, seed):
    """Recover a one-row run whose second commit is under way."""
    row, mlp = filled(16, 1).reshape(1, 16), filled(8, 2)
    change = BatchChange(np.zeros(1, np.int64), row, row + 1, mlp, mlp, 0, 1)
    ops = [PersistEvent(op, 0, 1) for op in ("embedding log", "mlp log", "commit", "embedding update")]
    ops += [PersistEvent("embedding log", 1, 1), PersistEvent("mlp log", 1, 1), PersistEvent("commit", 1, seed / 40)]
    place = MediumLayout(1, 16, 8, 1)
    changes = {0: change, 1: BatchChange(np.zeros(1, np.int64), row + 1, row + 2, mlp, mlp, 1, 2)}
    media = replay_events(
        place, StartState(row, mlp, Position(0, 0)), ops, changes, "undo", np.random.default_rng(seed), model=model
    )
    return recover(media, place, "undo")


@each("model", [name for name in domain_names() if domain(name).safe and not domain(name).announced])
def test_a_commit_under_way_recovers_to_the_batch_before_or_after_it(model):
    found = {(state.embedding_batch, int(state.table[0, 0])) for state in (interrupted(model, seed) for seed in range(30))}
    assert found == {(0, 1), (1, 2)}


def test_a_run_follows_the_persistence_model_of_its_machine():
    knobs = {"faults.power_loss_at_seconds": (0.004,), "run.training": False}
    ended = {name: simulate(scenario("tiny", "cxl-b", **knobs, **{"machine.persistence_model": name})) for name in domain_names()}
    assert all(ended[name].ran for name in domain_names() if domain(name).safe and not domain(name).announced)
    assert not ended["volatile"].ran and "start" in ended["volatile"].outcome
