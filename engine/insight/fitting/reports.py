"""Reports of a fit or of exact counts: TOML knobs, table rows, and sentences.

A sentence warns where the generator's form does not fit the file.
"""

import json
from collections.abc import Iterator
from typing import Any

from ...core.arithmetic import total
from ...core.arrays import Row
from ...core.figures import count, exact, figure, percent
from ...scenario.presets import preset
from ...scenario.scenario import Scenario, values
from ...scenario.sequences import sequence_note
from ...version import PROGRAM
from ...workload.readers.recording import copies_note
from .counting import TOP_SHARES, Lookups
from .fit import SHARES, GeneratorFit, TableFit
from .histories.report import history_sentences, history_warnings
from .tally import UseSpectrum

FAR_SHARE, FAR_HIT_RATE = 0.05, 0.03  # shares of lookups from which on a fit is called off
FEW_SAMPLES, GROWTH_FACTOR, CORRELATED, MAX_NAMED = 20_000, 3.0, 0.2, 5


def fit_rows(fitted: GeneratorFit) -> list[Row]:
    """Return a row for each table: its law, and its shares of held-back lookups.

    The shares are given for the file and for the lookups that the fit generates.
    """
    columns = ({"Column": name} for name in fitted.columns) if fitted.columns else ({} for _ in fitted.tables)
    return [_row(table_fit, column) for table_fit, column in zip(fitted.tables, columns, strict=True)]


def _row(table_fit: TableFit, column: Row) -> Row:
    names = *(f"Hottest {share:.1%} of rows" for share in TOP_SHARES), "Never seen before", "Unique in a block"
    pairs = zip(names, table_fit.file_shares.shares, table_fit.fit_shares.shares, strict=True)
    share_columns = {
        f"{name}, {origin} [%]": 100 * share
        for name, *shares in pairs
        for origin, share in zip(("file", "fit"), shares, strict=True)
    }
    s, q, hottest, once_share = table_fit.law.knobs()
    bags = {
        "Bag length spread": table_fit.bags.length_cv,
        "Empty bags, file [%]": 100 * table_fit.bags.empty,
        "Empty bags, fit [%]": 100 * table_fit.bags.generated_empty,
    }
    law = {"Exponent": s, "Shift": q, "Hottest row [%]": 100 * hottest, "Seen once [%]": 100 * once_share}
    sizes = {"Rows seen": table_fit.rows_seen, "Rows": table_fit.law.rows, "Lookups a sample": table_fit.bags.pooling}
    return {
        "Table": table_fit.table + 1,
        **column,
        **sizes,
        **bags,
        **law,
        **share_columns,
        "Largest gap [points]": 100 * table_fit.file_shares.largest_gap(table_fit.fit_shares),
    }


def hit_rate_rows(fitted: GeneratorFit) -> list[Row]:
    """Return the hit rates of LRU caches by size: file, fit, and fit without locality."""
    columns = zip(SHARES, *fitted.hits, strict=True)
    return [
        {
            "Rows held [%]": 100 * share,
            "File [%]": 100 * file_rate,
            "Fit [%]": 100 * fit_rate,
            "Without locality [%]": 100 * unlocal_rate,
        }
        for share, file_rate, fit_rate, unlocal_rate in columns
    ]


def fit_warnings(fitted: GeneratorFit) -> Iterator[str]:
    """Yield a sentence for each reason not to trust the fit."""
    if note := copies_note(fitted.name, fitted.label_copies):
        yield note
    if sequences := sequence_note([0 if table_fit.bags.is_history else table_fit.bags.mean for table_fit in fitted.tables]):
        yield sequences
    if fitted.histories:
        yield from history_warnings(fitted.histories, fitted.titles)
    ill_fitting = sorted(
        (table_fit for table_fit in fitted.tables if table_fit.file_shares.largest_gap(table_fit.fit_shares) > FAR_SHARE),
        key=lambda table_fit: -table_fit.file_shares.largest_gap(table_fit.fit_shares),
    )
    if ill_fitting:
        worst_tables = ", ".join(
            f"{fitted.title(table_fit.table)} by {figure(100 * table_fit.file_shares.largest_gap(table_fit.fit_shares))}"
            for table_fit in ill_fitting[:MAX_NAMED]
        )
        rest = f" and {len(ill_fitting) - MAX_NAMED} more" if len(ill_fitting) > MAX_NAMED else ""
        instead = (
            (f"use the shares that `{PROGRAM} workload count` prints")
            if fitted.click_rate is None
            else "train on the file itself"
        )
        yield (
            f"The fitted form is wrong for {len(ill_fitting)} of {count(len(fitted.tables), 'table')}: on held-back "
            "blocks a share "
            f"of lookups differs by more than {100 * FAR_SHARE:.0f} points, in {worst_tables}{rest}; {instead} if these "
            "tables matter."
        )
    hit_gap = max(abs(file_rate - fit_rate) for file_rate, fit_rate in zip(*fitted.hits[:2], strict=True))
    if hit_gap > FAR_HIT_RATE and fitted.samples_counted >= FEW_SAMPLES:
        yield (
            f"With the fit, an LRU cache hits up to {figure(100 * hit_gap)} points more or less than with the file, at any "
            "locality; reuse in the file follows another law."
        )
    yield from _sample_warnings(fitted)


def _sample_warnings(fitted: GeneratorFit) -> Iterator[str]:
    """Yield the warnings about the lengths of bags, and about samples that are too few or unlike generated ones."""
    emptier = [table_fit for table_fit in fitted.tables if abs(table_fit.bags.empty - table_fit.bags.generated_empty) > FAR_SHARE]
    if emptier:
        worst_bags = max(emptier, key=lambda table_fit: abs(table_fit.bags.empty - table_fit.bags.generated_empty)).bags
        yield (
            f"Bag lengths of {count(len(emptier), 'table')} follow another law: in the worst table "
            f"{percent(worst_bags.empty)} of "
            f"the bags are empty, but {percent(worst_bags.generated_empty)} of the generated ones."
        )
    if fitted.samples_counted < FEW_SAMPLES:
        count_text = f"Only {count(fitted.samples_counted, 'sample')} were counted"
        yield f"{count_text}: rare rows and the rows of large tables are a guess; give more samples."
    growing = [table_fit for table_fit in fitted.tables if table_fit.law.rows > GROWTH_FACTOR * table_fit.rows_seen > 0]
    if growing:
        largest = max(growing, key=lambda table_fit: table_fit.law.rows)
        yield (
            f"{count(len(growing), 'table')} show new rows until the end: {fitted.title(largest.table)} has shown "
            f"{count(largest.rows_seen, 'row')}, and {count(largest.law.rows)} are expected in all; add --rows seen to fit only "
            "the rows that were seen."
        )
    if fitted.rarity_correlation is not None and abs(fitted.rarity_correlation) > CORRELATED:
        yield (
            "Rare values come together in the file's samples (the rarities of fields correlate by "
            f"{figure(fitted.rarity_correlation)}); generated fields are independent, so generated samples are more alike."
        )
    if fitted.click_rate is None:
        batch = (
            "is one batch without labels: numbered files of a trace are independent, and"
            if fitted.format == "meta"
            else "has no labels:"
        )
        yield f"The file {batch} clicks are the generator's."


def fit_report(fitted: GeneratorFit) -> str:
    """Return the fit as text lines for people."""
    sample_text = (
        f"{count(fitted.samples_counted)} of {count(fitted.samples)}"
        if fitted.samples_counted < fitted.samples
        else count(fitted.samples)
    )
    clicks = "" if fitted.click_rate is None else f", {percent(fitted.click_rate)} of them clicks"
    lines = [
        f"{fitted.name}: {fitted.format}, {sample_text} samples counted{clicks}; order: {fitted.order}.",
        (
            f"Locality {exact(fitted.locality)}; one block in four was held back. Each pair is the share in its held-back "
            "blocks, file and fit [%]."
        ),
        "",
        " table       rows  lookups  spread  exponent      shift  hottest     once"
        "     top .1 %       top 1 %      top 10 %   never seen  unique",
    ]
    for table_fit in fitted.tables:
        s, q, hottest, once_share = table_fit.law.knobs()
        shares = "".join(
            f"  {100 * file_share:5.1f} {100 * fit_share:5.1f}"
            for file_share, fit_share in zip(table_fit.file_shares.shares, table_fit.fit_shares.shares, strict=True)
        )
        bags = f"{table_fit.bags.pooling:8} {table_fit.bags.length_cv:7.3g}"
        law = f"{s:9.3f} {q:10.4g} {hottest:8.3f} {once_share:8.3f}"
        name = fitted.columns[table_fit.table] if fitted.columns else ""
        lines.append(f"{table_fit.table + 1:6} {table_fit.law.rows:10,} {bags} {law}{shares}  {name}".rstrip())
    lines += ["", "Hits of an LRU cache for each table, by the share of its rows in the cache [%]:"]
    lines += [
        "  " + "   ".join(f"{name.partition(' [')[0]} {figure(number)}" for name, number in row.items())
        for row in hit_rate_rows(fitted)
    ]
    if fitted.histories:
        lines += ["", "Histories:", *(f"  {sentence}" for sentence in history_sentences(fitted.histories, fitted.titles))]
    return "\n".join([*lines, *(f"Warning: {sentence}" for sentence in fit_warnings(fitted))]) + "\n"


def count_rows(tallies: list[UseSpectrum]) -> list[Row]:
    """Return a row per table: lookups, rows, and the shares of hottest rows."""
    return [_counts(table + 1, tally) for table, tally in enumerate(tallies)]


def _counts(table: int, tally: UseSpectrum) -> Row:
    scale = 100 / max(tally.lookups, 1)
    tops = {
        f"Hottest {share:.1%} of rows [%]": 100 * float(part) for share, part in zip(TOP_SHARES, tally.top_shares(), strict=True)
    }
    sizes = {"Table": table, "Lookups": tally.lookups, "Rows seen": tally.rows_seen}
    return {
        **sizes,
        "Hottest row [%]": scale * int(tally.uses.max(initial=0)),
        "Seen once [%]": scale * tally.rows_used_once,
        **tops,
    }


def count_report(file: Lookups, tallies: list[UseSpectrum]) -> str:
    """Return exact counts as text lines for people."""
    lookups, rows_seen = (total(getattr(tally, name) for tally in tallies) for name in ("lookups", "rows_seen"))
    lines = [
        f"{file.name}: {count(file.samples, 'sample')}, {count(lookups, 'lookup')} of {count(rows_seen, 'different row')}, "
        "each counted. Shares are of a",
        "table's lookups: to its hottest row, to rows seen once, and to the hottest of the rows seen [%].",
        "",
        " table         lookups       rows seen  hottest     once   top .1 %    top 1 %   top 10 %",
    ]
    for row in count_rows(tallies):
        table, *sizes, hottest, once_percent, top_permille, top_percent, top_tenth = row.values()
        tops = f"{top_permille:10.2f} {top_percent:10.2f} {top_tenth:10.2f}"
        lines.append(f"{table:6} {sizes[0]:15,} {sizes[1]:15,} {hottest:8.2f} {once_percent:8.2f} {tops}")
    return "\n".join(lines) + "\n"


def scenario_toml(fitted: GeneratorFit, base: Scenario, preset_name: str) -> str:
    """Return the fitted scenario as the TOML text of a `--scenario` file.

    The text names a preset and the knobs that differ from it.
    """
    usual = values(preset(preset_name).scenario)
    differs = {path: knob_value for path, knob_value in values(fitted.scenario(base)).items() if knob_value != usual[path]}
    title = f"Fitted to {count(fitted.samples_counted, 'sample')} of {fitted.name}"
    head = [f"title = {_toml_text(title)}", f"preset = {_toml_text(preset_name)}", "", "[knobs]"]
    return "\n".join([*head, *(f"{path} = {_toml_text(knob_value)}" for path, knob_value in differs.items())]) + "\n"


def _toml_text(knob_value: Any) -> str:
    return json.dumps(
        list(knob_value) if isinstance(knob_value, tuple) else "auto" if knob_value is None else knob_value, ensure_ascii=False
    )
