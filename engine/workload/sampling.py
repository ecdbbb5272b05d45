"""Sampling of a batch's ids by an alias table.

The alias table covers the cells of a popularity, which are runs of ranks; then a rank within the cell is drawn.
An id costs one or two mixed words and one look into the alias table (Walker 1974, Vose 1991), for any skew and any number of
ranks.

Rare values of several fields can come together. In 200 public samples of Criteo Kaggle, the values of C3, C4, C12, C16 and C21
that
occur more than once do so in the same samples: all five in a share of 0.205 of the samples, where independent fields would do so
    in
0.0007. A linked sample takes the same quantile of each field's popularity, hottest first. Each single field keeps its popularity,
so the numbers of unique and repeated rows do not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints, Slots
from ..core.hashing import GOLDEN, Purpose, fold, mix, stream, unit
from ..core.jit import entry_kernel, inner_kernel
from ..scenario.scenario import Scenario, is_sequential, per_table
from .bags import length_cv
from .histories import HistoryLaw, history_law
from .popularity import FIELDS, Cells, Popularity, popularities, rank_cells

LINKED_FIELDS = (3, 4, 12, 16, 21)
Links = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parameters of generated samples, without batch size and locality.

    popularities: the popularity of each table.
    pooling: the mean lookups of a sample in each table.
    num_dense: the number of dense features.
    seed: the seed of all random streams.
    click_rate: the mean of the labels.
    links: groups of tables in which linked samples use the same quantile.
    linked_share: the share of linked samples.
    length_cv: the coefficient of variation of each table's bag lengths.
    histories: the tables whose lookups are a user's history, with the candidate last.
    history_law: the law of histories' lengths; None without histories.
    """

    popularities: tuple[Popularity, ...]
    pooling: tuple[int, ...]
    num_dense: int
    seed: int
    click_rate: float
    links: Links = ()
    linked_share: float = 0.0
    length_cv: tuple[float, ...] = ()
    histories: tuple[int, ...] = ()
    history_law: HistoryLaw | None = None


def recipe(scenario: Scenario) -> Recipe:
    """Return the recipe of a scenario's generated data."""
    s, data_knobs = scenario, scenario.data
    laws, pooling = popularities(s), per_table(s.model, "pooling")
    return Recipe(
        laws,
        pooling,
        s.model.bottom_mlp[0],
        data_knobs.seed,
        data_knobs.click_rate,
        linked_tables(s),
        data_knobs.sample_correlation,
        length_cv(s),
        tuple(table for table, kind in enumerate(per_table(s.model, "feature_kind")) if kind == "sequence"),
        history_law(s) if is_sequential(s.model) else None,
    )


def linked_tables(s: Scenario) -> Links:
    """Return the groups of tables in which linked samples use the same quantile.

    Only the popularity of Criteo Kaggle has groups: one for each 26 tables. Tables of sequences are in no group.
    """
    if s.data.popularity != "kaggle" or not s.data.sample_correlation:
        return ()
    groups = ([base + field - 1 for field in LINKED_FIELDS] for base in range(0, s.model.num_tables, FIELDS))
    kinds = per_table(s.model, "feature_kind")
    table_groups = (tuple(t for t in group if t < s.model.num_tables and kinds[t] == "bag") for group in groups)
    return tuple(group for group in table_groups if group)


class Sampler(NamedTuple):
    """Alias tables of several popularities, one after the other.

    law: the number of each table's popularity, (T,).
    start: the first cell of each popularity, (laws+1,); table t uses the cells `start[law[t]]` to `start[law[t] + 1]` - 1.
    keep: the probability that a cell keeps a draw that falls on it.
    alias: the cell that gets the draw otherwise.
    first_ranks, widths: the first rank and the number of ranks of each cell.
    """

    law: Ints
    start: Ints
    keep: Floats
    alias: Slots
    first_ranks: Ints
    widths: Ints


def sampler(popularities: Sequence[Popularity]) -> Sampler:
    """Return the alias tables of several popularities.

    Popularities that differ only in their rows share one alias table.
    """
    laws: dict[int, int] = {}
    parts: list[Cells] = []
    law = []
    for part in map(rank_cells, popularities):
        if id(part) not in laws:
            laws[id(part)] = len(parts)
            parts.append(part)
        law.append(laws[id(part)])
    tables = [alias_table(part.mass) for part in parts]
    start = np.cumsum([0] + [len(part.mass) for part in parts])
    keep, alias = (np.concatenate(column) for column in zip(*tables, strict=True))
    first_ranks, widths = (np.concatenate([getattr(part, name) for part in parts]) for name in ("first_ranks", "widths"))
    return Sampler(np.array(law), start, keep, alias, first_ranks, widths)


def alias_table(mass: Floats) -> tuple[Floats, Slots]:
    """Return (keep, alias) of cells with the shares `mass`, by Vose's method.

    `keep` is the probability that a cell keeps a draw, `alias` the cell that gets it otherwise. The shares sum to 1.
    """
    keep, alias = np.empty(len(mass)), np.arange(len(mass), dtype=np.int32)
    _pair(mass, keep, alias, np.empty(len(mass), dtype=np.int64))
    return keep, alias


@entry_kernel
def _pair(mass: Floats, keep: Floats, alias: Slots, order: Ints) -> None:
    small, large, total = 0, len(mass), 0.0
    for cell in range(len(mass)):
        total += mass[cell]
    for cell in range(len(mass)):
        keep[cell] = mass[cell] * (len(mass) / total)
        if keep[cell] < 1.0:
            order[small] = cell
            small += 1
        else:
            large -= 1
            order[large] = cell
    while small > 0 and large < len(mass):
        small_cell, large_cell = order[small - 1], order[large]
        alias[small_cell] = large_cell
        keep[large_cell] -= 1.0 - keep[small_cell]
        small -= 1
        if keep[large_cell] < 1.0:
            order[small] = large_cell
            small += 1
            large += 1
    for rest in range(small):
        keep[order[rest]] = 1.0


@inner_kernel
def draw_rank(word: np.uint64, low: Any, count: int, keep: Floats, alias: Slots, first_ranks: Ints, width: Ints) -> Any:
    """Return the rank that 64 random bits select among `count` cells from cell `low` on."""
    spot = unit(word) * count
    column = np.uint64(np.int64(spot))
    # Both draws are always made: a wrongly guessed branch costs more than a second mix.
    cell = low + (column if spot - column < keep[low + column] else np.uint64(alias[low + column]))
    return first_ranks[cell] + np.int64(unit(mix(word ^ GOLDEN)) * width[cell])


def draw_ids(sampler: Sampler, key: np.uint64, layout: Ints, offsets: Ints) -> Ints:
    """Return a batch's ids, drawn independently of each other.

    The random stream starts at `key`. Table t has the lookups `layout[t]` to `layout[t + 1]` - 1, and its rows begin at
    `offsets[t]`.
    """
    ids = np.empty(layout[-1], dtype=np.int64)
    _draw(ids, key, layout, offsets, sampler)
    return ids


@entry_kernel
def _draw(ids: Ints, key: np.uint64, layout: Ints, offsets: Ints, sampler: Sampler) -> None:
    law, start, keep, alias, first_ranks, widths = sampler
    for table in range(len(law)):
        low = np.uint64(start[law[table]])
        count = start[law[table] + 1] - start[law[table]]
        rows = offsets[table + 1] - offsets[table]
        for slot in range(layout[table], layout[table + 1]):
            word = mix(key + np.uint64(slot + 1) * GOLDEN)
            rank = draw_rank(word, low, count, keep, alias, first_ranks, widths)
            if rank >= rows:
                rank = fold(rank, rows)
            ids[slot] = offsets[table] + rank


def link_samples(ids: Ints, n: int, recipe: Recipe, bags: Ints, offsets: Ints, starts: Ints | None = None) -> Ints:
    """Link some samples of batch n: their lookups in linked tables have equal quantiles.

    `ids` are changed in place and returned. If bags are uneven and begin at `starts`, the first lookups of a sample's bags are
    linked with each other, then the second lookups, and so on.
    """
    samples, random = len(ids) // int(bags[-1]), stream(recipe.seed, Purpose.LINKS, n)
    for group in recipe.links:
        is_linked = random.random(samples) < recipe.linked_share
        ends = [_ends(table, samples, bags, starts) for table in group]
        quantile = random.random((samples, max(int(np.diff(table_ends).max()) for table_ends in ends)))
        for table, table_ends in zip(group, ends, strict=True):
            sizes = np.diff(table_ends)[is_linked]
            sample = np.repeat(np.flatnonzero(is_linked), sizes)
            turn = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            ids[table_ends[sample] + turn] = offsets[table] + rows_at(recipe.popularities[table], quantile[sample, turn])
    return ids


def _ends(table: int, samples: int, bags: Ints, starts: Ints | None) -> Ints:
    """Return (B+1,) positions where a table's bags begin, then the end of the last bag."""
    if starts is not None:
        return starts[table * samples : (table + 1) * samples + 1]
    ends: Ints = bags[table] * samples + (bags[table + 1] - bags[table]) * np.arange(samples + 1)
    return ends


def head_quantile(law: Popularity, rows: float) -> float:
    """Return the share of lookups that go to the first `rows` ranks.

    Ranks beyond the table's rows that are folded onto these rows are left out.
    """
    part = rank_cells(law)
    ends = np.concatenate(([0], part.first_ranks + part.widths))
    return float(np.interp(rows, ends, np.concatenate(([0.0], np.cumsum(part.mass))))) if rows < law.rows else 1.0


def rows_at(law: Popularity, quantile: Floats) -> Ints:
    """Return the rows of a table at the given quantiles of its lookups.

    Quantile 0 is the hottest row.
    """
    part = rank_cells(law)
    ends = np.cumsum(part.mass)
    cell = np.minimum(np.searchsorted(ends, quantile * ends[-1], side="right"), len(ends) - 1)
    cell_position = (quantile * ends[-1] - ends[cell]) / part.mass[cell] + 1
    ranks = part.first_ranks[cell] + np.clip(cell_position * part.widths[cell], 0, part.widths[cell] - 1).astype(np.int64)
    rows: Ints = _folded(ranks.ravel(), law.rows).reshape(ranks.shape)
    return rows


@entry_kernel
def _folded(ranks: Ints, rows: int) -> Ints:
    for i in range(len(ranks)):
        if ranks[i] >= rows:
            ranks[i] = fold(ranks[i], rows)
    return ranks
