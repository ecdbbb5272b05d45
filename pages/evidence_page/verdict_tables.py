"""Verdicts as plain tables: stacks beside each other, energies, every claim in one row."""

from collections.abc import Sequence
from itertools import groupby

import pandas as pd

from engine.core import figures
from engine.core.graph import STAGES
from engine.registry import load
from engine.scenario.presets import preset
from engine.validation import validate
from engine.validation.scoreboard import PublishedNumber
from engine.validation.validate import ClaimVerdict
from pages.ui import palette, tables

STEP, ENERGY = "Step time [ms]", "Energy per batch [J]"
PUBLISHED, OURS = "published", "ours"
LIMITS = {"at_most": "at most", "at_least": "at least"}
WORDS = {True: "✓ within", False: "✗ outside", None: "prediction"}
FORMATS = {"Published": "%.4g", "Published, to": "%.4g", "Ours": "%.4g", "Error [%]": "%+.1f", "Tolerance": "%.3g"}
COLUMNS = ["system", "who", "part", "amount"]
Verdicts = Sequence[ClaimVerdict]
NONE = "-"  # in the cell of a table to read
STACK_COLUMNS = {"system": "Training system", "who": "Whose", "part": "Stage", "amount": "Step time [ms]"}
ENERGY_COLUMNS = {"preset": "Model", "system": "Training system", "who": "Whose", "energy": "Energy of a batch, PMEM = 1"}


def by_paper(verdicts: Verdicts) -> dict[str, list[ClaimVerdict]]:
    """Return the verdicts of each paper, in the order in which the papers first appear."""
    papers = dict.fromkeys(preset(verdict.preset).paper for verdict in verdicts)
    return {paper: [verdict for verdict in verdicts if preset(verdict.preset).paper == paper] for paper in papers}


def table(verdicts: Verdicts) -> pd.DataFrame:
    """Return one row a claim, with units in the claim's own name."""
    rows = [
        {
            "Preset": verdict.preset,
            "Claim": verdict.claim.title,
            "Published": verdict.claim.published,
            "Published, to": verdict.claim.published_to,
            "Ours": verdict.ours,
            "Error [%]": verdict.error_percent,
            "Tolerance": verdict.claim.allowed,
            "Limit": ", ".join(
                f"{word} {figures.exact(limit)}"
                for name, word in LIMITS.items()
                if (limit := getattr(verdict.claim, name)) is not None
            ),
            "Verdict": WORDS[verdict.passed],
            "Kind": verdict.claim.kind,
            "The number was": verdict.claim.sample,
            "In sample, as": verdict.claim.sample_reason,
            "The tolerance": verdict.claim.tolerance_note,
            "Cause of a miss": verdict.cause,
            "Not counted, as": verdict.claim.not_counted,
            "Source": verdict.claim.source,
        }
        for verdict in verdicts
    ]
    return pd.DataFrame(rows).astype(dict.fromkeys(FORMATS, float))


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of claims to read: numbers as text, a range in one cell, no column that is empty."""
    cells = {name: list(frame[name]) for name in frame.columns if name != "Published, to"}
    if "Published, to" in frame:
        cells["Published"] = [_range(*ends) for ends in zip(frame["Published"], frame["Published, to"], strict=True)]
    cells["Ours"] = [_number(number) for number in frame["Ours"]]
    cells["Error [%]"] = [NONE if pd.isna(number) else figures.signed(number) for number in frame["Error [%]"]]
    cells["Tolerance"] = [_number(number) for number in frame.get("Tolerance", [])]
    whole = pd.DataFrame(cells)
    read = whole.where(whole.notna() & (whole != ""), NONE)
    return read[[name for name in read.columns if (read[name] != NONE).any()]]


def _range(low: float, high: float) -> str:
    return NONE if pd.isna(low) else figures.exact(low) if pd.isna(high) else f"{figures.exact(low)} to {figures.exact(high)}"


def _number(number: float) -> str:
    """Return three significant digits, long numbers in groups."""
    return NONE if pd.isna(number) else figures.exact(float(f"{number:.3g}"))


def figures_table(numbers: Sequence[PublishedNumber]) -> pd.DataFrame:
    """Return one row a published number that no preset claims, in the columns of `table` that it has."""
    rows = [
        {
            "Claim": number.name,
            "Published": number.published,
            "Published, to": number.published_to,
            "Ours": number.ours,
            "Error [%]": number.error_percent,
            "Verdict": WORDS[not number.cause],
            "Kind": "predicted",
            "The number was": number.sample,
            "Cause of a miss": number.cause,
        }
        for number in numbers
    ]
    return pd.DataFrame(rows).astype({"Published, to": float})


def stacks(verdicts: Verdicts) -> dict[str, pd.DataFrame]:
    """Return each preset's step times, published ones first: system, who, part, amount, in milliseconds.

    What the claims on stages leave of a published total counts as Other. A claim that changes knobs is no bar of its preset.
    """
    own = [v for v in verdicts if v.claim.form == "value" and v.claim.presets == (v.preset,) and not v.claim.knobs]
    found = {}
    for name, group in groupby(own, key=lambda verdict: verdict.preset):
        members = list(group)
        systems = [verdict.claim.system for verdict in members if verdict.claim.metric == STEP]
        if systems:
            ours = tables.by_stage({system: validate.run(validate.ClaimPoint(name, system)) for system in systems}, "").assign(
                who=OURS
            )
            rows = [row for system in systems for row in _published(members, system)]
            found[name] = pd.concat([pd.DataFrame(rows, columns=COLUMNS), ours[COLUMNS]]) if rows else ours[COLUMNS]
    return dict(sorted(found.items(), key=lambda item: set(item[1]["who"]) == {OURS}))


def energies(verdicts: Verdicts) -> pd.DataFrame:
    """Return each preset's energy of a batch by system, relative to the claims' baseline: preset, system, who, energy.

    A published bar is drawn where a saving is published for one preset.
    """
    rows = []
    for verdict in verdicts:
        claim = verdict.claim
        if claim.metric == ENERGY and claim.form == "saving [%]" and claim.presets == (verdict.preset,):
            title = preset(verdict.preset).title.partition(",")[0]
            of = {one.claim.system for one in verdicts if one.preset == verdict.preset and one.claim.metric == STEP}
            joules = {system: validate.run(validate.ClaimPoint(verdict.preset, system)).results[ENERGY] or 0.0 for system in of}
            base = joules.get(claim.baseline) or 1.0
            rows += [(title, system, OURS, joules[system] / base) for system in palette.systems() if system in of]
            rows += [] if claim.published is None else [(title, claim.system, PUBLISHED, 1 - claim.published / 100)]
    return pd.DataFrame(rows, columns=["preset", "system", "who", "energy"])


def energy_finding(rows: pd.DataFrame) -> str:
    """Return the sentence on the training system that needs least energy over the models."""
    ours = rows[rows.who == OURS].groupby("system")["energy"]
    best = ours.mean().idxmin()
    low, high = ours.min()[best], ours.max()[best]
    return f"{load('systems', str(best)).title} needs {figures.percent(low)} to {figures.percent(high)} of PMEM's energy a batch"


def _published(verdicts: Verdicts, system: str) -> list[tuple[str, str, str, float]]:
    values = {v.claim.metric: v.claim.published for v in verdicts if v.claim.system == system and v.claim.published is not None}
    if STEP not in values:
        return []
    parts = {stage: values[stage] for stage in STAGES if stage in values}
    parts["Other"] = parts.get("Other", 0.0) + max(0.0, values[STEP] - sum(parts.values()))
    return [(system, PUBLISHED, stage, amount) for stage, amount in parts.items()]


def distance(verdicts: Verdicts, name: str) -> str:
    """Return how far a preset's totals are from the published ones, in a few words."""
    errors = [v.error_percent for v in verdicts if v.preset == name and v.claim.metric == STEP and v.claim.presets == (name,)]
    known = [abs(error) for error in errors if error is not None]
    return f"step times within {figures.percent(max(known) / 100)} of the published" if known else "ours alone, a prediction"
