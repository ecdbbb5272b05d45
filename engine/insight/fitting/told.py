"""What a fit or an exact count says: its knobs as TOML, its goodness as rows, and a sentence where the form does not fit."""

import json
from collections.abc import Iterator
from typing import Any

from ...core.arrays import Row
from ...core.figures import count, exact, figure, percent
from ...scenario.presets import preset
from ...scenario.scenario import Scenario, values
from ...scenario.sequences import sequence_note
from ...version import PROGRAM
from .counting import TOP, Lookups
from .fit import SHARES, Fitted, TableFit
from .tally import Tallied

FAR, FAR_HITS = 0.05, 0.03  # shares of lookups from which on a fit is called off
FEW, MANY_NEW, TOGETHER, NAMED = 20_000, 3.0, 0.2, 5


def rows(found: Fitted) -> list[Row]:
    """Return a row for each table: its law, and what held-back lookups did in the file and as generated."""
    columns = ({"Column": name} for name in found.columns) if found.columns else ({} for _ in found.tables)
    return [_row(one, column) for one, column in zip(found.tables, columns, strict=True)]


def _row(one: TableFit, column: Row) -> Row:
    names = *(f"Hottest {share:.1%} of rows" for share in TOP), "Never seen before", "Unique in a block"
    pairs = zip(names, one.file.shares, one.fit.shares, strict=True)
    shown = {f"{name}, {of} [%]": 100 * held for name, *both in pairs for of, held in zip(("file", "fit"), both, strict=True)}
    s, q, hottest, once = one.law.knobs()
    bags = {
        "Bag length spread": one.bags.length_cv,
        "Empty bags, file [%]": 100 * one.bags.empty,
        "Empty bags, fit [%]": 100 * one.bags.generated_empty,
    }
    law = {"Exponent": s, "Shift": q, "Hottest row [%]": 100 * hottest, "Seen once [%]": 100 * once}
    sizes = {"Rows seen": one.seen, "Rows": one.law.rows, "Lookups a sample": one.bags.pooling}
    return {
        "Table": one.table + 1,
        **column,
        **sizes,
        **bags,
        **law,
        **shown,
        "Largest gap [points]": 100 * one.file.apart(one.fit),
    }


def hits(found: Fitted) -> list[Row]:
    """Return the hit rates of an LRU cache for each table by its size: of the file, the fit, and the fit without locality."""
    columns = zip(SHARES, *found.hits, strict=True)
    return [
        {"Rows held [%]": 100 * share, "File [%]": 100 * of, "Fit [%]": 100 * fit, "Without locality [%]": 100 * plain}
        for share, of, fit, plain in columns
    ]


def warnings(found: Fitted) -> Iterator[str]:
    """Yield a sentence for each reason not to trust the fit."""
    if sequences := sequence_note([one.bags.mean for one in found.tables]):
        yield sequences
    far = sorted((one for one in found.tables if one.file.apart(one.fit) > FAR), key=lambda one: -one.file.apart(one.fit))
    if far:
        worst = ", ".join(f"{found.title(one.table)} by {figure(100 * one.file.apart(one.fit))}" for one in far[:NAMED])
        more = f" and {len(far) - NAMED} more" if len(far) > NAMED else ""
        instead = f"take the shares of `{PROGRAM} workload count`" if found.click_rate is None else "train on the file itself"
        yield (
            f"The form does not fit {len(far)} of {len(found.tables)} tables: on held-back blocks a share of lookups is off "
            f"by more than {100 * FAR:.0f} points, in {worst}{more}; {instead} where these matter."
        )
    apart = max(abs(of - fit) for of, fit in zip(*found.hits[:2], strict=True))
    if apart > FAR_HITS and found.counted >= FEW:
        yield (
            f"An LRU cache hits up to {figure(100 * apart)} points more or less than on the file, at any locality; reuse follows "
            "another law there."
        )
    emptier = [one for one in found.tables if abs(one.bags.empty - one.bags.generated_empty) > FAR]
    if emptier:
        worst_bags = max(emptier, key=lambda one: abs(one.bags.empty - one.bags.generated_empty)).bags
        yield (
            f"Bag lengths of {len(emptier)} tables follow another law: of one, {percent(worst_bags.empty)} of the bags are "
            f"empty, and {percent(worst_bags.generated_empty)} as generated."
        )
    if found.counted < FEW:
        said = f"Only {count(found.counted, 'sample')} were counted"
        yield f"{said}: rare rows and the rows of large tables are a guess; give more."
    new = [one for one in found.tables if one.law.rows > MANY_NEW * one.seen > 0]
    if new:
        worst_new = max(new, key=lambda one: one.law.rows)
        yield (
            f"{len(new)} tables go on growing: {found.title(worst_new.table)} has shown {count(worst_new.seen, 'row')}, and as "
            f"many as {count(worst_new.law.rows)} are expected; say --rows seen to keep to those that were seen."
        )
    if found.together is not None and abs(found.together) > TOGETHER:
        yield (
            f"Fields hang together in the file (their values' rarities correlate by {figure(found.together)}); generated "
            "fields do not, so samples are more alike."
        )
    if found.click_rate is None:
        batch = (
            "is one batch without labels: numbered files of a trace are independent, and"
            if found.format == "meta"
            else "has no labels:"
        )
        yield f"The file {batch} clicks are the generator's."


def report(found: Fitted) -> str:
    """Write the fit for people."""
    some = f"{count(found.counted)} of {count(found.samples)}" if found.counted < found.samples else count(found.samples)
    clicks = "" if found.click_rate is None else f", {percent(found.click_rate)} of them clicks"
    lines = [
        f"{found.name}: {found.format}, {some} samples counted{clicks}; order: {found.order}.",
        f"Locality {exact(found.locality)}; one block in four was held back, and the pairs are its shares, file and fit [%].",
        "",
        " table       rows  lookups  spread  exponent      shift  hottest     once"
        "     top .1 %       top 1 %      top 10 %   never seen  unique",
    ]
    for one in found.tables:
        s, q, hottest, once = one.law.knobs()
        shares = "".join(f"  {100 * of:5.1f} {100 * fit:5.1f}" for of, fit in zip(one.file.shares, one.fit.shares, strict=True))
        bags = f"{one.bags.pooling:8} {one.bags.length_cv:7.3g}"
        law = f"{s:9.3f} {q:10.4g} {hottest:8.3f} {once:8.3f}"
        name = found.columns[one.table] if found.columns else ""
        lines.append(f"{one.table + 1:6} {one.law.rows:10,} {bags} {law}{shares}  {name}".rstrip())
    lines += ["", "Hits of an LRU cache for each table, by the share of its rows that it holds [%]:"]
    lines += [
        "  " + "   ".join(f"{name.partition(' [')[0]} {figure(value)}" for name, value in row.items()) for row in hits(found)
    ]
    return "\n".join([*lines, *(f"Warning: {sentence}" for sentence in warnings(found))]) + "\n"


def counts(found: list[Tallied]) -> list[Row]:
    """Return a row for each table: its lookups and rows, and how unevenly these are used."""
    return [_counts(table + 1, one) for table, one in enumerate(found)]


def _counts(table: int, one: Tallied) -> Row:
    of = 100 / max(one.lookups, 1)
    tops = {f"Hottest {share:.1%} of rows [%]": 100 * float(part) for share, part in zip(TOP, one.top(), strict=True)}
    sizes = {"Table": table, "Lookups": one.lookups, "Rows seen": one.seen}
    return {**sizes, "Hottest row [%]": of * int(one.times.max(initial=0)), "Seen once [%]": of * one.once, **tops}


def counts_report(file: Lookups, found: list[Tallied]) -> str:
    """Write exact counts for people."""
    lookups, seen = (sum(getattr(one, name) for one in found) for name in ("lookups", "seen"))
    lines = [
        f"{file.name}: {count(file.samples, 'sample')}, {count(lookups, 'lookup')} of {count(seen)} different rows, "
        "each counted. Shares are of a",
        "table's lookups: to its hottest row, to rows seen once, and to the hottest of the rows seen [%].",
        "",
        " table         lookups       rows seen  hottest     once   top .1 %    top 1 %   top 10 %",
    ]
    for row in counts(found):
        table, *sizes, hottest, once, one, two, three = row.values()
        lines.append(f"{table:6} {sizes[0]:15,} {sizes[1]:15,} {hottest:8.2f} {once:8.2f} {one:10.2f} {two:10.2f} {three:10.2f}")
    return "\n".join(lines) + "\n"


def toml(found: Fitted, base: Scenario, preset_name: str) -> str:
    """Write the fitted scenario as a file that `--scenario` takes: a preset, and what differs from it."""
    usual = values(preset(preset_name).scenario)
    differs = {path: value for path, value in values(found.scenario(base)).items() if value != usual[path]}
    title = f"Fitted to {count(found.counted, 'sample')} of {found.name}"
    head = [f"title = {_written(title)}", f"preset = {_written(preset_name)}", "", "[knobs]"]
    return "\n".join([*head, *(f"{path} = {_written(value)}" for path, value in differs.items())]) + "\n"


def _written(value: Any) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else "auto" if value is None else value, ensure_ascii=False)
