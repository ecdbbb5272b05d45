"""Fit the generator to a file: popularity and bag lengths of tables, locality, click rate.

Blocks of the file that are held back from the fit tell how closely the generator follows. Histories that a file states have each
event counted once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...caches.stack_distance import HitCurve, curve
from ...core.arrays import Floats, Ints
from ...errors import BadFile
from ...scenario.scenario import Scenario, is_sequential, with_values
from ...workload.locality import LocalityStream
from ...workload.popularity import zipf
from ...workload.readers import formats
from ...workload.readers.recording import Recording
from ...workload.readers.samples import Watch, unwatched
from ...workload.readers.traces import kinds
from ...workload.sampling import Recipe
from .bag_fit import BagFit, bag_fit
from .counting import (
    MOST_LOOKUPS,
    MOST_SAMPLES,
    HeldBackShares,
    Lookups,
    blocks,
    count_table,
    generated_counts,
    held_back_shares,
    rarity,
)
from .histories.fit import HistoryFit, HistoryWindow, expected_duplicates, fit_histories
from .law import Law, fit_law

SINGLE_LOOKUPS, DEFAULT_WINDOW = BagFit(), HistoryWindow()
SHARES = (0.001, 0.01, 0.05, 0.1, 0.3)  # of each table's rows, held by an LRU cache of its own
SPAN_LOOKUPS, WATCHED_TABLES = 1 << 17, 12  # lookups that caches serve in a row, in so many tables
BISECTIONS, MOST_LOCALITY, EQUAL_HITS = 6, 0.9, 0.003  # hit rates nearer than this need none
RARITY_SAMPLES, MOST_FIELDS = 20_000, 40  # samples and fields of which rarities are compared


@dataclass(frozen=True, slots=True)
class TableFit:
    """The fit of one table.

    table: the table's number, from 0.
    rows_seen: different rows in the lookups that were counted.
    bags, law: the laws of bag lengths and of popularity.
    file_shares: shares of held-back lookups in the file.
    fit_shares: the same shares of the lookups that the generator draws.
    """

    table: int
    rows_seen: int
    bags: BagFit
    law: Law
    file_shares: HeldBackShares
    fit_shares: HeldBackShares


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorFit:
    """The fit of the generator to a file.

    name, format, order: the file's name, its format, and the order of its samples.
    samples, samples_counted: samples of the file, and the number of them that were counted.
    tables: the fit of each table.
    locality: the generator's locality.
    hits: hit rates of an LRU cache by table and cache size: in the file, by the fit, and by the fit without locality.
    rarity_correlation: mean correlation of fields' rarities; None where fields have no samples in common.
    click_rate: share of clicks; None without labels.
    dense: dense features of a sample; None where the file has none.
    columns: the file's column of each table; () where the columns are not known.
    histories: the fit of users' histories; None where the file states none.
    label_copies: the inputs that are copies of the label in the file's first rows.
    """

    name: str
    format: str
    order: str
    samples: int
    samples_counted: int
    tables: tuple[TableFit, ...]
    locality: float
    hits: tuple[Floats, Floats, Floats]
    rarity_correlation: float | None
    click_rate: float | None
    dense: int | None
    columns: tuple[str, ...] = ()
    histories: HistoryFit | None = None
    label_copies: tuple[str, ...] = ()

    def title(self, table: int) -> str:
        """Return the name of a table's column, or "table 3", counted from 1."""
        return self.columns[table] if self.columns else f"table {table + 1}"

    @property
    def titles(self) -> tuple[str, ...]:
        """The names of all tables' columns."""
        return tuple(map(self.title, range(len(self.tables))))

    @property
    def changes(self) -> Mapping[str, Any]:
        """The knobs, by dotted path, that make a scenario's model and data like the file's."""
        laws, spreads = (
            [table_fit.law.knobs() for table_fit in self.tables],
            tuple(table_fit.bags.length_cv for table_fit in self.tables),
        )
        names = ("zipf_exponents", "zipf_shifts", "hottest_shares", "once_shares")
        knob_values: dict[str, Any] = {
            "model.num_tables": len(self.tables),
            "model.num_embeddings": tuple(table_fit.law.rows for table_fit in self.tables),
            "model.pooling": tuple(table_fit.bags.pooling for table_fit in self.tables),
            "data.bag_length_cv": spreads if any(spreads) else (),
            "data.digest": "",
            "data.popularity": "zipf",
            **{f"data.{name}": column for name, column in zip(names, zip(*laws, strict=True), strict=True)},
            "data.locality": self.locality,
            "data.hot_rank_factor": (),  # those of other ids
        }
        knob_values |= self.histories.knobs(len(self.tables)) if self.histories else {}
        return knob_values if self.click_rate is None else knob_values | {"data.click_rate": self.click_rate}

    def scenario(self, base: Scenario) -> Scenario:
        """Return the base scenario with the tables and the data of this fit.

        Raises BadKnob where they do not suit the base's other knobs.
        """
        widths = base.model.bottom_mlp
        bottom: dict[str, Any] = {} if self.dense is None else {"model.bottom_mlp": (self.dense, *widths[1:])}
        if not self.histories and is_sequential(base.model):
            bottom |= {"model.feature_kind": "bag", "model.interaction": "concat"}
        return with_values(base, {**self.changes, **bottom})


def lookups_of(
    path: Path, watch: Watch = unwatched, histories: bool = False, statement: Mapping[str, Any] = formats.NO_STATEMENT
) -> Lookups:
    """Open a file of lookups, with labels or without; raises BadFile.

    With `histories` the file's order and the histories that its format or mapping states are kept. `statement` has keys of a
    mapping that replace the file's own.
    """
    if kinds.is_trace(path):
        if statement:
            raise BadFile(f"{path.name} is a trace, whose lookups belong to no users; leave out {', '.join(statement)}.")
        return kinds.read_trace(path, watch)
    return formats.read_file(path, watch, labels=False, histories=histories, statement=statement)


def fit_file(
    file: Lookups,
    max_samples: int = MOST_SAMPLES,
    open_ended: bool = True,
    watch: Watch = unwatched,
    window: HistoryWindow = DEFAULT_WINDOW,
) -> GeneratorFit:
    """Fit the generator to a file; raises BadFile where no table has lookups.

    At most `max_samples` samples are counted, spread over the file. Where ids are hashed, the number of rows is not known: with
    `open_ended` a table gets the rows that such data is expected to use in the long run, else the rows that were seen. `watch` is
    called with the share done, and the table. Histories are cut by `window`.
    """
    if not isinstance(file, Recording) or not file.histories:
        return _fit(file, file if isinstance(file, Recording) else None, None, max_samples, open_ended, watch)
    histories, events = fit_histories(file, window, lambda share, words: watch(0.1 * share, words))
    fitted = _fit(events, file, histories, max_samples, open_ended, watch)
    return replace(fitted, histories=replace(histories, expected=expected_duplicates(histories, fitted.scenario)))


def _fit(
    file: Lookups, log: Recording | None, histories: HistoryFit | None, max_samples: int, open_ended: bool, watch: Watch
) -> GeneratorFit:
    """Fit the generator to the lookups of a file, in which each event of a history is once; raises BadFile.

    `log` is the file, if it has labels or columns.
    """
    table_fits, sizes, rarities = _laws(file, max_samples, open_ended, not file.hashed, watch)
    if histories and histories.fields.user is not None:
        sizes.pop(histories.fields.user, None)
        table_fits[histories.fields.user] = _users_fit(histories, table_fits[histories.fields.user], file, open_ended)
    reused_tables = [table for table in sizes if not histories or table in histories.fields.events]
    if not reused_tables:
        raise BadFile(f"{file.name} has no lookups to fit, or too few for held-back blocks; give a file with more lookups.")
    locality, hits = _locality(file, [table_fits[table] for table in reused_tables], watch)
    for position, table in enumerate(sizes):
        watch(0.85 + 0.15 * position / len(sizes), f"held-back blocks of table {table + 1}")
        table_fits[table] = replace(
            table_fits[table],
            fit_shares=held_back_shares(
                generated_counts(_stream(table_fits[table], locality), sizes[table]), table_fits[table].law.rows
            ),
        )
    if histories:
        bags = BagFit(histories.pooling, histories.length_cv, 0.0, histories.mean, is_history=True)
        for table in histories.fields.events:
            table_fits[table] = replace(table_fits[table], bags=bags)
    clicks = float(f"{np.clip(log.labels.mean(), 0.001, 0.999):.4g}") if log and log.labelled else None
    dense = log.dense.shape[1] if log and (log.labelled or log.dense.shape[1] > 1) else None
    return GeneratorFit(
        file.name,
        file.format,
        file.order,
        file.samples,
        min(file.samples, max_samples),
        tuple(table_fits),
        locality,
        hits,
        _rarity_correlation(rarities),
        clicks,
        dense,
        log.fields if log else (),
        histories,
        log.label_copies if log else (),
    )


def _users_fit(histories: HistoryFit, by_blocks: TableFit, file: Lookups, open_ended: bool) -> TableFit:
    """Return the fit of the users' table to the samples of each user, all of which are counted.

    Held-back blocks say nothing where a user's samples stand together.
    """
    rows = histories.users if file.hashed else max(histories.users, by_blocks.law.rows)
    law = fit_law(histories.user_rows, rows, open_ended=open_ended and file.hashed)
    return TableFit(by_blocks.table, histories.users, SINGLE_LOOKUPS, law, HeldBackShares(), HeldBackShares())


def _laws(
    file: Lookups, max_samples: int, open_ended: bool, ids_are_rows: bool, watch: Watch
) -> tuple[list[TableFit], dict[int, list[int]], list[Floats]]:
    """Return each table's fit, block sizes by table that has lookups, and the rarities of fields' values."""
    table_fits: list[TableFit] = []
    sizes: dict[int, list[int]] = {}
    rarities: list[Floats] = []
    for table in range(file.tables):
        watch(0.7 * table / file.tables, f"table {table + 1} of {file.tables}")
        bags = bag_fit(file.bag_lengths(table))
        parts = blocks(file.samples, max(min(max_samples, MOST_LOOKUPS // bags.pooling), 1))
        sample = count_table(file, table, parts, ids_are_rows)
        if not sample.held_back or not len(sample.fitted_lookups):
            table_fits.append(TableFit(table, 0, SINGLE_LOOKUPS, Law(1), HeldBackShares(), HeldBackShares()))
            continue
        law = fit_law(np.bincount(sample.fitted_lookups), sample.rows, open_ended=open_ended and not ids_are_rows)
        table_fits.append(TableFit(table, sample.rows, bags, law, held_back_shares(sample, law.rows), HeldBackShares()))
        sizes[table] = sample.block_sizes
        if isinstance(file, Recording) and bags == SINGLE_LOOKUPS and len(rarities) < MOST_FIELDS:
            rarities.append(rarity(np.concatenate(sample.blocks), RARITY_SAMPLES))
    return table_fits, sizes, rarities


def _stream(table_fit: TableFit, locality: float) -> Callable[[int], Ints]:
    """Return a function from a batch's number to the table's generated rows."""
    s, q, hottest, once_share = table_fit.law.knobs()
    made_of = Recipe((zipf(s, q, hottest, once_share, table_fit.law.rows),), (1,), 1, table_fit.table, 0.5)
    return LocalityStream(made_of, SPAN_LOOKUPS // 4, locality).ids


def _locality(file: Lookups, tables: list[TableFit], watch: Watch) -> tuple[float, tuple[Floats, Floats, Floats]]:
    """Return the locality at which LRU caches hit as on the file; hit rates of file, of fit, and without locality."""
    watched = sorted(tables, key=lambda table_fit: -table_fit.law.rows)[:WATCHED_TABLES]
    spans = [_numbered(file, table_fit) for table_fit in watched]
    weight = np.array([len(span) for span in spans]) / sum(map(len, spans))
    file_hits = weight @ np.array(
        [_hits(curve([span]), table_fit.law.rows) for span, table_fit in zip(spans, watched, strict=True)]
    )

    def hits(locality: float) -> Floats:
        generated_spans = [_span(_stream(table_fit, locality), len(span)) for table_fit, span in zip(watched, spans, strict=True)]
        return np.asarray(
            weight
            @ np.array(
                [_hits(curve([rows]), table_fit.law.rows) for rows, table_fit in zip(generated_spans, watched, strict=True)]
            )
        )

    hits_without_locality = best_hits = hits(0.0)
    low, high, best_locality = 0.0, MOST_LOCALITY, 0.0
    gap = partial(_gap, file_hits)
    for step in range(BISECTIONS if gap(hits_without_locality) < -EQUAL_HITS else 0):
        watch(0.7 + 0.15 * step / BISECTIONS, "locality")
        middle = (low + high) / 2
        middle_hits = hits(middle)
        low, high = (middle, high) if gap(middle_hits) < 0 else (low, middle)
        if abs(gap(middle_hits)) < abs(gap(best_hits)):
            best_locality, best_hits = middle, middle_hits
    return float(f"{best_locality:.3g}"), (file_hits, best_hits, hits_without_locality)


def _gap(file_hits: Floats, fit_hits: Floats) -> float:
    return float((fit_hits - file_hits).mean())


def _numbered(file: Lookups, table_fit: TableFit) -> Ints:
    """Return a table's first lookups in a row, numbered anew."""
    tokens = file.lookups(table_fit.table, 0, min(file.samples, max(SPAN_LOOKUPS // table_fit.bags.pooling, 1)))[:SPAN_LOOKUPS]
    return np.unique(tokens, return_inverse=True)[1].astype(np.int64)


def _span(ids: Callable[[int], Ints], lookups: int) -> Ints:
    return np.concatenate([ids(n) for n in range(-(-lookups // (SPAN_LOOKUPS // 4)))])[:lookups]


def _hits(hit_curve: HitCurve, rows: int) -> Floats:
    return hit_curve.hit_rate(np.maximum(np.array(SHARES) * rows, 1.0))


def _rarity_correlation(rarities: list[Floats]) -> float | None:
    """Return the mean correlation between the rarities of fields' values in the same samples."""
    varied = [field_rarities for field_rarities in rarities if len(field_rarities) and field_rarities.std() > 1e-9]
    if len(varied) < 2:
        return None
    sample_count = min(map(len, varied))
    correlations = np.corrcoef([field_rarities[:sample_count] for field_rarities in varied])
    return float(correlations[np.triu_indices(len(varied), 1)].mean())
