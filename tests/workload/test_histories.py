"""Are the histories of a user's samples windows over the same events, as many as stated, and do they decide clicks?"""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, per_table, with_values
from engine.workload import generator
from engine.workload.accesses import expected_accesses, unique_shares
from engine.workload.generator import bag_effects, hidden_model, prepare
from engine.workload.sampling import recipe
from engine.workload.source import source
from tests.cases import each

LENGTH, SIZE = 8, 24


def history_scenario(**changes: Any) -> Scenario:
    """Return a scenario of three tables of sequences and one of bags; knobs are dotted paths with `__`."""
    knobs: dict[str, Any] = {
        "model.num_tables": 4,
        "model.num_embeddings": (1000, 1000, 1000, 200),
        "model.pooling": (LENGTH, LENGTH, LENGTH, 2),
        "model.feature_kind": ("sequence", "sequence", "sequence", "bag"),
        "model.embedding_dim": 8,
        "model.bottom_mlp": (5, 8, 8),
        "model.top_mlp": (8, 1),
        "model.interaction": "hstu",
        "model.hstu_layers": 1,
        "model.hstu_dim": 8,
        "model.hstu_heads": 2,
        "model.hstu_head_dim": 4,
        "data.batch_size": SIZE,
    }
    return with_values(preset("tiny").scenario, knobs | {path.replace("__", "."): setting for path, setting in changes.items()})


def histories(ids: np.ndarray, size: int = SIZE) -> list[np.ndarray]:
    """Return the histories of the three tables of sequences, (B, length) each."""
    return [ids[table * size * LENGTH :][: size * LENGTH].reshape(size, LENGTH) for table in range(3)]


@each("locality", [0.0, 0.4])
@each("samples_per_user", [2.0, 4.0, 2.5, 100.0])
def test_the_next_sample_of_a_user_has_the_history_one_event_further(samples_per_user: float, locality: float) -> None:
    origin = source(history_scenario(data__samples_per_user=samples_per_user, data__locality=locality))
    users = (np.arange(SIZE) / samples_per_user).astype(int)
    for number in range(2):
        for history in histories(origin.ids(number)):
            is_window = (history[1:, :-1] == history[:-1, 1:]).all(axis=1)
            np.testing.assert_array_equal(is_window, users[1:] == users[:-1])


def test_a_user_has_as_many_events_drawn_as_the_windows_span() -> None:
    prepared = prepare(recipe(history_scenario()))
    for samples_per_user, users in ((1.0, SIZE), (4.0, 6), (2.5, 10), (100.0, 1)):
        layout = generator.drawn_layout(prepared, 0, SIZE, samples_per_user)
        assert np.diff(layout).tolist() == [users * (LENGTH - 1) + SIZE] * 3 + [2 * SIZE]


def test_one_sample_a_user_gives_the_ids_of_pooled_bags_to_the_byte() -> None:
    mixed = history_scenario()
    bags = with_values(mixed, {"model.feature_kind": "bag", "model.interaction": "concat"})
    for number in range(3):
        assert np.array_equal(source(mixed).ids(number), source(bags).ids(number))


def test_bags_and_samples_never_trained_on_have_no_users() -> None:
    mixed, alone = history_scenario(data__samples_per_user=4.0), history_scenario()
    assert source(mixed).held_out().ids.tolist() == source(alone).held_out().ids.tolist()
    bag = source(mixed).ids(0)[3 * SIZE * LENGTH :].reshape(SIZE, 2)
    assert len(np.unique(bag, axis=0)) > SIZE / 2


@pytest.mark.parametrize("samples_per_user", [1.0, 4.0, 2.5])
def test_uneven_histories_have_one_length_in_all_their_tables_and_still_slide(samples_per_user: float) -> None:
    spread = {"data__bag_length_cv": (0.6, 0.6, 0.6, 0.0), "data__history_cap": 24}
    alone = {"data__popularity": "uniform", "model__num_embeddings": (10**6, 10**6, 10**6, 200)}
    asked = history_scenario(data__samples_per_user=samples_per_user, **spread, **alone)
    users, lengths = (np.arange(SIZE) / samples_per_user).astype(int), []
    for number in range(3):
        batch = source(asked).batch(number)
        assert batch.starts is not None and len(batch.ids) == SIZE * (3 * LENGTH + 2) == batch.starts[-1]
        by_table = np.diff(batch.starts).reshape(4, SIZE)
        assert (by_table[:3] == by_table[0]).all() and (by_table[3] == 2).all()
        lengths.append(by_table[0])
        bags = [batch.ids[start:end] for start, end in pairwise(batch.starts.tolist())]
        for table in range(3):
            for before, after in pairwise(range(SIZE)):
                one, other = bags[table * SIZE + before], bags[table * SIZE + after]
                overlap = min(len(one), len(other) - 1)
                is_window = overlap > 0 and one[len(one) - overlap :].tolist() == other[-1 - overlap : -1].tolist()
                assert is_window == (users[before] == users[after]) or not overlap
    assert np.std(lengths) > 1


@pytest.mark.parametrize("locality", [0.0, 0.3])
def test_batches_of_users_are_the_same_in_any_order(locality: float) -> None:
    asked = history_scenario(data__samples_per_user=4.0, data__locality=locality)
    forward, backward = source(asked), source(asked)
    batches = [forward.batch(n) for n in range(4)]
    for n in (3, 0, 2, 1):
        again = backward.batch(n)
        assert again.ids.tobytes() == batches[n].ids.tobytes() and again.labels.tobytes() == batches[n].labels.tobytes()
    assert batches[0].ids.tolist() != batches[1].ids.tolist()


@pytest.mark.parametrize(("samples_per_user", "exponent"), [(1.0, 1.0), (8.0, 1.0), (32.0, 0.7), (7.5, 1.2)])
def test_counted_unique_rows_are_those_expected_of_users(samples_per_user: float, exponent: float) -> None:
    asked = history_scenario(
        data__samples_per_user=samples_per_user,
        data__batch_size=480,
        data__popularity="zipf",
        data__zipf_exponent=exponent,
        model__num_embeddings=(20_000, 5_000, 20_000, 200),
    )
    ids = [source(asked).ids(n) for n in range(12)]
    counted = np.mean([[len(np.unique(history)) for history in histories(part, 480)] for part in ids], axis=0)
    assert counted == pytest.approx(expected_accesses(asked).unique_rows[:3], rel=0.03)
    assert counted / (480 * LENGTH) == pytest.approx(unique_shares(asked)[:3], rel=0.03)


def test_the_latest_events_and_the_candidate_decide_the_effect_of_a_history() -> None:
    random = np.random.default_rng(3)
    ids, bags, key = random.integers(10**6, size=20 * 40), np.array([0, 40]), np.uint64(7)
    one_id = bag_effects(ids, np.array([0, 1]), 20 * 40, key)[:, 0].reshape(20, 40)
    candidate, taste = one_id[:, -1], one_id[:, -1 - generator.TASTE_EVENTS : -1].mean(axis=1)
    expected = candidate * (0.5 + taste * np.sqrt(generator.TASTE_EVENTS))
    starts = np.arange(21) * 40
    for given in (None, starts):
        effects = bag_effects(ids, bags, 20, key, given, (0,))
        assert effects[:, 0] == pytest.approx(expected)
    uneven = bag_effects(ids[:3], np.array([0, 40]), 2, key, np.array([0, 1, 3]), (0,))[:, 0]
    assert np.isfinite(uneven).all() and uneven[0] != uneven[1]


def test_the_teacher_of_histories_reaches_its_auc_and_loses_it_with_other_peoples_histories() -> None:
    asked = history_scenario(data__held_out_samples=8000)
    sample, made_of = source(asked).held_out(), recipe(asked)
    teacher, bags = hidden_model(made_of), prepare(made_of).bags
    shuffled = sample.ids.copy()
    for history in histories(shuffled, 8000):
        history[:, :-1] = np.roll(history[:, :-1], 1, axis=0)
    own, other = (_auc(sample.labels, generator.logits(teacher, sample.dense, ids, bags)) for ids in (sample.ids, shuffled))
    assert own == pytest.approx(0.80, abs=0.02) and other < own - 0.05
    assert sample.labels.mean() == pytest.approx(asked.data.click_rate, abs=0.02)
    assert per_table(asked.model, "feature_kind")[0] == "sequence"


def _auc(labels: np.ndarray, scores: np.ndarray) -> float:
    rank = np.empty(len(scores))
    rank[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    clicks = labels.sum()
    return float((rank[labels > 0].sum() - clicks * (clicks + 1) / 2) / (clicks * (len(labels) - clicks)))
