"""Fits the generator to a file: a law for each table, locality, click rate; held-back blocks say how well it follows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...caches.stack_distance import HitCurve, curve
from ...core.arrays import Floats, Ints
from ...errors import BadFile
from ...scenario.scenario import Scenario, with_values
from ...workload.locality import UseStream
from ...workload.popularity import zipf
from ...workload.readers import formats
from ...workload.readers.recording import Recording
from ...workload.readers.samples import Watch, unwatched
from ...workload.readers.traces import kinds
from ...workload.sampling import Recipe
from .bag_fit import BagFit, bag_fit
from .counting import MOST_LOOKUPS, MOST_SAMPLES, Lookups, Measured, blocks, counted, generated, measured, rarity
from .law import Law, fit

EVEN = BagFit()
SHARES = (0.001, 0.01, 0.05, 0.1, 0.3)  # of each table's rows, held by an LRU cache of its own
SPAN, WATCHED = 1 << 17, 12  # lookups that caches serve in a row, in so many tables
BISECTIONS, MOST_LOCALITY, SAME = 6, 0.9, 0.003  # hit rates nearer than this need none
TOGETHER, MOST_FIELDS = 20_000, 40  # samples and fields of which rarities are compared


@dataclass(frozen=True, slots=True)
class TableFit:
    """One table: the rows seen, bags of lookups, law, and what held-back lookups did in the file and as generated."""

    table: int
    seen: int
    bags: BagFit
    law: Law
    file: Measured
    fit: Measured


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What was fitted to `counted` of a file's `samples`.

    `hits` are hit rates of an LRU cache for each table, of SHARES of its rows: of the file, of the fit, and of the fit
    without locality. `together` is the mean correlation of fields' rarities, None where fields have no samples in common.
    `columns` are the names of the file's columns, a table each, () where they are not known.
    """

    name: str
    format: str
    order: str
    samples: int
    counted: int
    tables: tuple[TableFit, ...]
    locality: float
    hits: tuple[Floats, Floats, Floats]
    together: float | None
    click_rate: float | None
    dense: int | None
    columns: tuple[str, ...] = ()

    def title(self, table: int) -> str:
        """Return how a table is called: the name of its column, or "table 3", counted from 1."""
        return self.columns[table] if self.columns else f"table {table + 1}"

    @property
    def changes(self) -> Mapping[str, Any]:
        """The knobs that make a scenario's model and data like the file's; `model.bottom_mlp` is its first width alone."""
        laws, spreads = [one.law.knobs() for one in self.tables], tuple(one.bags.length_cv for one in self.tables)
        names = ("zipf_exponents", "zipf_shifts", "hottest_shares", "once_shares")
        found: dict[str, Any] = {
            "model.num_tables": len(self.tables),
            "model.num_embeddings": tuple(one.law.rows for one in self.tables),
            "model.pooling": tuple(one.bags.pooling for one in self.tables),
            "data.bag_length_cv": spreads if any(spreads) else (),
            "data.digest": "",
            "data.popularity": "zipf",
            **{f"data.{name}": column for name, column in zip(names, zip(*laws, strict=True), strict=True)},
            "data.locality": self.locality,
        }
        return found if self.click_rate is None else found | {"data.click_rate": self.click_rate}

    def scenario(self, base: Scenario) -> Scenario:
        """Return a scenario with the model's tables and the data of the file; raises BadKnob where they do not suit it."""
        widths = base.model.bottom_mlp
        bottom = {} if self.dense is None else {"model.bottom_mlp": (self.dense, *widths[1:])}
        return with_values(base, {**self.changes, **bottom})


def lookups_of(path: Path, watch: Watch = unwatched) -> Lookups:
    """Open a file of lookups, with labels or without; raises BadFile."""
    return kinds.read(path, watch) if kinds.is_trace(path) else formats.read(path, watch, labels=False)


def fit_file(file: Lookups, most: int = MOST_SAMPLES, open_ended: bool = True, watch: Watch = unwatched) -> Fitted:
    """Fit the generator to a file; raises BadFile where no table has lookups.

    At most `most` samples are counted, spread over the file. Tables of hashed ids get the rows that such data is expected to
    use in the long run where it is `open_ended`, else those that were seen. `watch` is told how far it is, and at what.
    """
    found, sizes, rare = _laws(file, most, open_ended, not file.hashed, watch)
    if not sizes:
        raise BadFile(f"{file.name} has no lookups to fit, or too few to hold some back; give a file that has some.")
    locality, hits = _locality(file, [found[table] for table in sizes], watch)
    for at, table in enumerate(sizes):
        watch(0.85 + 0.15 * at / len(sizes), f"held-back blocks of table {table + 1}")
        found[table] = replace(
            found[table], fit=measured(generated(_stream(found[table], locality), sizes[table]), found[table].law.rows)
        )
    log = file if isinstance(file, Recording) else None
    clicks = float(f"{np.clip(log.labels.mean(), 0.001, 0.999):.4g}") if log and log.labelled else None
    dense = log.dense.shape[1] if log and (log.labelled or log.dense.shape[1] > 1) else None
    return Fitted(
        file.name,
        file.format,
        file.order,
        file.samples,
        min(file.samples, most),
        tuple(found),
        locality,
        hits,
        _together(rare),
        clicks,
        dense,
        log.fields if log else (),
    )


def _laws(
    file: Lookups, most: int, open_ended: bool, whole: bool, watch: Watch
) -> tuple[list[TableFit], dict[int, list[int]], list[Floats]]:
    """Return each table's law, the sizes of the blocks of those that have lookups, and how rare fields' values are."""
    found: list[TableFit] = []
    sizes: dict[int, list[int]] = {}
    rare: list[Floats] = []
    for table in range(file.tables):
        watch(0.7 * table / file.tables, f"table {table + 1} of {file.tables}")
        bags = bag_fit(file.bag_lengths(table))
        parts = blocks(file.samples, max(min(most, MOST_LOOKUPS // bags.pooling), 1))
        sample = counted(file, table, parts, whole)
        if not sample.held or not len(sample.fitted):
            found.append(TableFit(table, 0, EVEN, Law(1), Measured(), Measured()))
            continue
        law = fit(np.bincount(sample.fitted), sample.rows, open_ended=open_ended and not whole)
        found.append(TableFit(table, sample.rows, bags, law, measured(sample, law.rows), Measured()))
        sizes[table] = sample.sizes
        if isinstance(file, Recording) and bags == EVEN and len(rare) < MOST_FIELDS:
            rare.append(rarity(np.concatenate(sample.blocks), TOGETHER))
    return found, sizes, rare


def _stream(one: TableFit, locality: float) -> Callable[[int], Ints]:
    """Return batches of a table's generated rows, by number."""
    s, q, hottest, once = one.law.knobs()
    made_of = Recipe((zipf(s, q, hottest, once, one.law.rows),), (1,), 1, one.table, 0.5)
    return UseStream(made_of, SPAN // 4, locality).ids


def _locality(file: Lookups, tables: list[TableFit], watch: Watch) -> tuple[float, tuple[Floats, Floats, Floats]]:
    """Return the locality with which LRU caches hit as often as on the file, and the hit rates of both, and without it."""
    some = sorted(tables, key=lambda one: -one.law.rows)[:WATCHED]
    spans = [_numbered(file, one) for one in some]
    weight = np.array([len(span) for span in spans]) / sum(map(len, spans))
    wanted = weight @ np.array([_hits(curve([span]), one.law.rows) for span, one in zip(spans, some, strict=True)])

    def hits(locality: float) -> Floats:
        made = [_span(_stream(one, locality), len(span)) for one, span in zip(some, spans, strict=True)]
        return np.asarray(weight @ np.array([_hits(curve([rows]), one.law.rows) for rows, one in zip(made, some, strict=True)]))

    plain = found = hits(0.0)
    low, high, best = 0.0, MOST_LOCALITY, 0.0
    gap = partial(_gap, wanted)
    for step in range(BISECTIONS if gap(plain) < -SAME else 0):
        watch(0.7 + 0.15 * step / BISECTIONS, "locality")
        middle = (low + high) / 2
        at = hits(middle)
        low, high = (middle, high) if gap(at) < 0 else (low, middle)
        if abs(gap(at)) < abs(gap(found)):
            best, found = middle, at
    return float(f"{best:.3g}"), (wanted, found, plain)


def _gap(wanted: Floats, found: Floats) -> float:
    return float((found - wanted).mean())


def _numbered(file: Lookups, one: TableFit) -> Ints:
    """Return a table's first lookups in a row, numbered anew."""
    tokens = file.lookups(one.table, 0, min(file.samples, max(SPAN // one.bags.pooling, 1)))[:SPAN]
    return np.unique(tokens, return_inverse=True)[1].astype(np.int64)


def _span(ids: Callable[[int], Ints], lookups: int) -> Ints:
    return np.concatenate([ids(n) for n in range(-(-lookups // (SPAN // 4)))])[:lookups]


def _hits(found: HitCurve, rows: int) -> Floats:
    return found.hit_rate(np.maximum(np.array(SHARES) * rows, 1.0))


def _together(rare: list[Floats]) -> float | None:
    """Return the mean correlation between fields of how rare their values are in the same samples."""
    varied = [one for one in rare if len(one) and one.std() > 1e-9]
    if len(varied) < 2:
        return None
    least = min(map(len, varied))
    found = np.corrcoef([one[:least] for one in varied])
    return float(found[np.triu_indices(len(varied), 1)].mean())
