"""The inputs that the generator makes: dense features, and ids that depend on each other inside a sample at most."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..core.arrays import Floats, Ints, Singles
from ..core.hashing import Purpose, key, stream
from ..scenario.scenario import Scenario, per_table
from . import sampling
from .correlation import Links, link, links
from .popularity import Popularity, popularities

# Numbers of batches that no run reaches, for samples outside training.
HELD_OUT = 2**40
CALIBRATION = 2**41


@dataclass(frozen=True, slots=True)
class Recipe:
    """What generated samples depend on, apart from their grouping into batches and their locality."""

    popularities: tuple[Popularity, ...]
    pooling: tuple[int, ...]
    num_dense: int
    seed: int
    links: Links = ()
    linked: float = 0.0


def recipe(scenario: Scenario) -> Recipe:
    """Return the recipe of a scenario's generated data."""
    model = scenario.model
    pooling, linked = per_table(model, "pooling"), scenario.data.sample_correlation
    return Recipe(popularities(scenario), pooling, model.bottom_mlp[0], scenario.data.seed, links(scenario), linked)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A recipe with the arrays that drawing needs: tables to draw from, first rows, lookups per sample, log-normal shapes."""

    recipe: Recipe
    sampler: sampling.Sampler
    offsets: Ints
    bags: Ints
    location: Singles
    spread: Singles


@lru_cache(maxsize=8)
def prepare(recipe: Recipe) -> Prepared:
    """Return a recipe ready to draw from; each dense feature gets its own location and spread from the seed."""
    shapes = stream(recipe.seed, Purpose.SHAPES)
    location = shapes.uniform(-0.5, 3.0, recipe.num_dense).astype(np.float32)
    spread = shapes.uniform(0.8, 1.6, recipe.num_dense).astype(np.float32)
    rows = np.concatenate(([0], np.cumsum([item.rows for item in recipe.popularities], dtype=np.int64)))
    bags = np.concatenate(([0], np.cumsum(recipe.pooling, dtype=np.int64)))
    return Prepared(recipe, sampling.sampler(recipe.popularities), rows, bags, location, spread)


def dense(prepared: Prepared, n: int, samples: int) -> Singles:
    """Return (samples, F) dense features of batch n: log(1+x) of log-normal counts x, as Criteo's are after reading."""
    normal = stream(prepared.recipe.seed, Purpose.DENSE, n).standard_normal((samples, len(prepared.spread)), dtype=np.float32)
    normal *= prepared.spread
    normal += prepared.location
    features: Singles = np.log1p(np.exp(normal, out=normal), out=normal)
    return features


def ids(prepared: Prepared, n: int, samples: int) -> Ints:
    """Return the ids of batch n, each independent of all others but for those of linked tables."""
    made_of, bags, first = prepared.recipe, prepared.bags, prepared.offsets
    drawn = sampling.draw(prepared.sampler, key(made_of.seed, Purpose.IDS, n), bags * samples, first)
    return link(drawn, n, made_of.links, made_of.linked, made_of.seed, made_of.popularities, bags, first)


def chances(prepared: Prepared, n: int, samples: int) -> Floats:
    """Return (samples,) uniform numbers that decide the clicks of batch n."""
    return stream(prepared.recipe.seed, Purpose.CLICKS, n).random(samples)
