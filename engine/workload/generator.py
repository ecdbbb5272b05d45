"""The generator of samples: dense features, ids, and labels by a hidden model.

The ids of a sample may depend on each other.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Floats, Ints, Singles
from ..core.hashing import GOLDEN, Purpose, key, mix, stream
from ..core.jit import entry_kernel
from . import sampling
from .bags import draw_lengths
from .sampling import Recipe, link_samples

# Numbers of batches that no run reaches, for samples outside training.
HELD_OUT = 2**40
CALIBRATION = 2**41


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A recipe of generated samples, with the arrays that drawing needs.

    recipe: the recipe.
    sampler: the alias tables from which ranks are drawn.
    first_rows: the global number of each table's first row, (T+1,).
    bags: the position of each table's first lookup in a sample, (T+1,).
    location, spread: the parameters of each dense feature's log-normal distribution, (F,).
    """

    recipe: Recipe
    sampler: sampling.Sampler
    first_rows: Ints
    bags: Ints
    location: Singles
    spread: Singles


@lru_cache(maxsize=8)
def prepare(recipe: Recipe) -> Prepared:
    """Return a recipe with the arrays that drawing needs.

    Each dense feature gets its own location and spread from the seed.
    """
    shapes = stream(recipe.seed, Purpose.SHAPES)
    location = shapes.uniform(-0.5, 3.0, recipe.num_dense).astype(np.float32)
    spread = shapes.uniform(0.8, 1.6, recipe.num_dense).astype(np.float32)
    rows = np.concatenate(([0], np.cumsum([law.rows for law in recipe.popularities], dtype=np.int64)))
    bags = np.concatenate(([0], np.cumsum(recipe.pooling, dtype=np.int64)))
    return Prepared(recipe, sampling.sampler(recipe.popularities), rows, bags, location, spread)


def draw_dense(prepared: Prepared, n: int, samples: int) -> Singles:
    """Return the dense features of batch n, (samples, F).

    A feature is log(1+x) of a log-normal count x, like the features of Criteo's logs after they are read.
    """
    normal = stream(prepared.recipe.seed, Purpose.DENSE, n).standard_normal((samples, len(prepared.spread)), dtype=np.float32)
    normal *= prepared.spread
    normal += prepared.location
    features: Singles = np.log1p(np.exp(normal, out=normal), out=normal)
    return features


def draw_ids(prepared: Prepared, n: int, samples: int, samples_per_user: float = 1.0) -> Ints:
    """Return the global row numbers that batch n looks up.

    Only the ids of linked tables, and the histories of one user's samples, depend on each other.
    """
    recipe, bags, first_rows = prepared.recipe, prepared.bags, prepared.first_rows
    layout = drawn_layout(prepared, n, samples, samples_per_user)
    drawn_ids = sampling.draw_ids(prepared.sampler, key(recipe.seed, Purpose.IDS, n), layout, first_rows)
    independent_ids = slide_histories(prepared, n, samples, samples_per_user, drawn_ids)
    starts = bag_starts(prepared, n, samples, samples_per_user) if recipe.links else None
    return link_samples(independent_ids, n, recipe, bags, first_rows, starts)


def drawn_layout(prepared: Prepared, n: int, samples: int, samples_per_user: float) -> Ints:
    """Return the position of each table's first drawn id in batch n, (T+1,).

    A bag has all its lookups drawn. The samples of one user share all events of a history but one each.
    """
    lookups = np.diff(prepared.bags) * samples
    if samples_per_user > 1 and prepared.recipe.histories:
        candidates, _ = _candidates(prepared, n, samples, samples_per_user)
        lookups[list(prepared.recipe.histories)] = candidates[-1] + 1
    return np.concatenate(([0], np.cumsum(lookups)))


def slide_histories(prepared: Prepared, n: int, samples: int, samples_per_user: float, drawn_ids: Ints) -> Ints:
    """Return the ids of batch n from its drawn ids.

    Each sample's history is a window over its user's events. The next sample of a user has the window one event further.
    `drawn_ids` has the layout of `drawn_layout`.
    """
    if samples_per_user == 1 or not prepared.recipe.histories:
        return drawn_ids
    parts = np.split(drawn_ids, drawn_layout(prepared, n, samples, samples_per_user)[1:-1])
    candidates, lengths = _candidates(prepared, n, samples, samples_per_user)
    lookups = np.repeat(candidates + 1 - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
    for table in prepared.recipe.histories:
        parts[table] = parts[table][lookups]
    return np.concatenate(parts)


def _candidates(prepared: Prepared, n: int, samples: int, samples_per_user: float) -> tuple[Ints, Ints]:
    """Return the place of each sample's candidate among the events of batch n's users, and its history's length, (B,) each."""
    lengths, users = _history_lengths(prepared, n, samples, samples_per_user), _users(samples, samples_per_user)
    longest = np.maximum(np.maximum.reduceat(lengths, np.searchsorted(users, np.arange(users[-1] + 1))), 1)
    return np.arange(samples) + np.cumsum(longest - 1)[users], lengths


def _history_lengths(prepared: Prepared, n: int, samples: int, samples_per_user: float) -> Ints:
    """Return the length of each sample's history in batch n, (B,).

    Users have lengths by the law of histories; their sum is scaled to that of the mean length.
    """
    recipe = prepared.recipe
    law, total = recipe.history_law, samples * recipe.pooling[recipe.histories[0]]
    if law is None or not law.sigma:
        return np.full(samples, total // samples)
    users = _users(samples, samples_per_user)
    normal = stream(recipe.seed, Purpose.HISTORIES, n).standard_normal(users[-1] + 1)
    lengths = np.maximum(np.rint(np.minimum(np.exp(law.mu + law.sigma * normal), law.cap)), 1).astype(np.int64)[users]
    scaled: Ints = lengths * total // lengths.sum()
    scaled[: total - scaled.sum()] += 1
    return scaled


def _users(samples: int, samples_per_user: float) -> Ints:
    """Return the number of each sample's user in its batch, (B,)."""
    return (np.arange(samples) / samples_per_user).astype(np.int64)


def bag_starts(prepared: Prepared, n: int, samples: int, samples_per_user: float = 1.0) -> Ints | None:
    """Return the positions in batch n's ids where bags begin, (T * B + 1,).

    Return None if all bags of a table have the same length. A sample's history has one length in all tables of sequences.
    """
    recipe = prepared.recipe
    if not any(recipe.length_cv):
        return None
    random = stream(recipe.seed, Purpose.LENGTHS, n)
    histories = _history_lengths(prepared, n, samples, samples_per_user) if recipe.histories else None
    bag_lengths = (
        draw_lengths(random, samples, mean, cv) if histories is None or table not in recipe.histories else histories
        for table, (mean, cv) in enumerate(zip(recipe.pooling, recipe.length_cv, strict=True))
    )
    return np.cumsum(np.concatenate((np.zeros(1, dtype=np.int64), *bag_lengths)))


def click_draws(prepared: Prepared, n: int, samples: int) -> Floats:
    """Return the uniform random numbers that decide the clicks of batch n, (samples,)."""
    return stream(prepared.recipe.seed, Purpose.CLICKS, n).random(samples)


BEST_AUC = 0.80
TASTE_EVENTS = 16  # events before the candidate that decide whether a user likes it
SHARES = (0.3, 0.5, 0.2)  # shares of the logit's variance: dense features, ids, pairs of tables
PAIRS = 4
CHUNK = 512
LOOKUPS = 2**23
HALVINGS = 30


@dataclass(frozen=True, slots=True, eq=False)
class HiddenModel:
    """The hidden model that decides clicks: the weights of a logit.

    key: the key of the hash that gives each id its effect.
    histories: the tables whose lookups are a user's history.
    intercept: the constant of the logit.
    dense: the weights of the dense features, (F,).
    bags: the weight of the sum of all bags' effects.
    centre: the mean effect of each table's bags, (T,).
    pairs: the pairs of tables whose effects are multiplied, (K, 2).
    products: the weights of these products, (K,).
    """

    key: np.uint64
    histories: tuple[int, ...]
    intercept: float
    dense: Floats
    bags: float
    centre: Floats
    pairs: Ints
    products: Floats


@lru_cache(maxsize=8)
def hidden_model(recipe: Recipe) -> HiddenModel:
    """Return the hidden model of a recipe; batch size and locality do not change it."""
    random = stream(recipe.seed, Purpose.TEACHER)
    weights = random.standard_normal(recipe.num_dense)
    tables = len(recipe.pooling)
    table_pairs = np.array(np.triu_indices(min(tables, 512), 1)).T
    pairs = table_pairs[random.permutation(len(table_pairs))[:PAIRS]]
    signs = random.choice([-1.0, 1.0], len(pairs))
    hidden = key(recipe.seed, Purpose.TEACHER, 1)
    inputs, effects = _sample(prepare(recipe), hidden)
    centre = effects.mean(axis=0)
    parts = ((inputs * weights).sum(axis=1), effects.sum(axis=1), _products(effects - centre, pairs, signs))
    scales = [_scale(part, share) for part, share in zip(parts, SHARES, strict=True)]
    raw = total((part * scale for part, scale in zip(parts, scales, strict=True)), start=np.zeros(len(inputs)))
    intercept, slope = fit_logit(raw, recipe.click_rate, BEST_AUC)
    by_dense, by_bags, by_pairs = (slope * scale for scale in scales)
    return HiddenModel(hidden, recipe.histories, intercept, by_dense * weights, by_bags, centre, pairs, by_pairs * signs)


def logits(teacher: HiddenModel, dense: Singles, ids: Ints, bags: Ints, starts: Ints | None = None) -> Floats:
    """Return the hidden model's logits of a batch, (B,).

    `bags` (T+1,) are the positions of the tables' lookups in a sample; they are used if bags are even, that is without `starts`.
    """
    effects = bag_effects(ids, bags, len(dense), teacher.key, starts, teacher.histories)
    products = _products(effects - teacher.centre, teacher.pairs, teacher.products)
    linear: Floats = (dense * teacher.dense).sum(axis=1) + teacher.bags * effects.sum(axis=1)
    return teacher.intercept + linear + products


def clicks(logits: Floats, chances: Floats) -> Singles:
    """Return labels: 1 if the random number in `chances` is below the click probability."""
    return (chances < sigmoid(logits)).astype(np.float32)


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def bag_effects(
    ids: Ints, bags: Ints, samples: int, key: np.uint64, starts: Ints | None = None, histories: tuple[int, ...] = ()
) -> Floats:
    """Return the mean effect of each bag's ids, (B, T); 0 for an empty bag.

    The effect of an id is the sum of four 16-bit parts of a hash, scaled; it is nearly normal. In the tables `histories`, it is
    half the candidate's effect, plus its product with the user's taste: the mean effect of the latest events, scaled.
    """
    effects = np.zeros((samples, len(bags) - 1))
    _add_effects(ids, bags, starts, key, effects)
    for table in histories:
        size = bags[table + 1] - bags[table]
        begins = bags[table] * samples + size * np.arange(samples) if starts is None else starts[table * samples :][:samples]
        ends = begins + size if starts is None else starts[table * samples + 1 :][:samples]
        events = min(TASTE_EVENTS, max(int((ends - begins).max()) - 1, 1))
        latest = np.clip(ends[:, None] - 2 - np.arange(events), np.minimum(begins, ids.size - 1)[:, None], None)
        taste, candidate = (
            bag_effects(ids[places.reshape(-1)], np.array([0, width]), samples, key)[:, 0]
            for places, width in ((latest, events), (ends[:, None] - 1, 1))
        )
        effects[:, table] = np.where(ends > begins, candidate * (0.5 + taste * np.sqrt(events)), 0.0)
    return effects


@entry_kernel
def _add_effects(ids: Ints, bags: Ints, starts: Ints | None, key: np.uint64, effects: Floats) -> None:
    low = np.uint64(0xFFFF)
    for table in range(len(bags) - 1):
        size = bags[table + 1] - bags[table]
        position = bags[table] * len(effects)
        for sample in range(len(effects)):
            total: Any = 0
            if starts is not None:
                bag = table * len(effects) + sample
                size = starts[bag + 1] - starts[bag]
            for _ in range(size):
                word = mix(key ^ (np.uint64(ids[position]) * GOLDEN))
                total += (word & low) + (word >> np.uint64(16) & low) + (word >> np.uint64(32) & low) + (word >> np.uint64(48))
                position += 1
            # The sum of four has mean 131070 and variance (2^32 - 1) / 3.
            if size > 0:
                effects[sample, table] = (total / size - 131070.0) / 37837.22


def fit_logit(raw: Floats, rate: float, auc: float) -> tuple[float, float]:
    """Return (intercept, slope) that give the logits `raw` a click `rate` and an `auc`.

    The AUC is that of samples ranked by intercept + slope * raw, whose clicks have these logits.
    """
    ordered = np.sort(raw)
    low, high = np.log(1e-3), np.log(1e3)
    for _ in range(HALVINGS):
        slope = np.exp((low + high) / 2)
        if best_auc(sigmoid(_intercept(slope * ordered, rate) + slope * ordered)) < auc:
            low = np.log(slope)
        else:
            high = np.log(slope)
    return _intercept(slope * ordered, rate), float(slope)


def best_auc(chance: Floats) -> float:
    """Return the expected AUC of samples that are ranked by their click probability.

    `chance` has these probabilities, ascending.
    """
    negatives = (1 - chance) / (1 - chance).sum()
    return float(chance @ (np.cumsum(negatives) - negatives / 2) / chance.sum())


def _intercept(scaled: Floats, rate: float) -> float:
    low, high = -50.0 - scaled.max(), 50.0 - scaled.min()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(scaled + middle).mean() < rate else (low, middle)
    return float((low + high) / 2)


def _sample(prepared: Prepared, hidden: np.uint64) -> tuple[Singles, Floats]:
    """Return dense features and bag effects of 4096 to 16384 samples for the calibration.

    The more lookups a sample has, the fewer samples are drawn.
    """
    count = int(np.clip(LOOKUPS // prepared.bags[-1], 4096, 16384)) // CHUNK
    inputs = [draw_dense(prepared, CALIBRATION + n, CHUNK) for n in range(count)]
    batches = ((draw_ids(prepared, n, CHUNK), bag_starts(prepared, n, CHUNK)) for n in range(CALIBRATION, CALIBRATION + count))
    effects = [bag_effects(ids, prepared.bags, CHUNK, hidden, starts, prepared.recipe.histories) for ids, starts in batches]
    return np.concatenate(inputs), np.concatenate(effects)


def _products(centred: Floats, pairs: Ints, weights: Floats) -> Floats:
    products: Floats = (centred[:, pairs[:, 0]] * centred[:, pairs[:, 1]] * weights).sum(axis=1)
    return products


def _scale(part: Floats, share: float) -> float:
    spread = float(part.std())
    return float(np.sqrt(share)) / spread if spread > 1e-6 else 0.0
