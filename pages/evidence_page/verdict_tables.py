"""Verdicts as plain tables: step times by stage, energies, and a row for each claim."""

from collections.abc import Sequence
from itertools import groupby

import pandas as pd

from engine.core import figures
from engine.core.arithmetic import total
from engine.core.graph import STAGES
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.validation import validate
from engine.validation.scoreboard import PublishedNumber
from engine.validation.validate import ClaimVerdict
from pages.ui import palette, tables

STEP, ENERGY = "Step time [ms]", "Energy per batch [J]"
PUBLISHED, OUR_BAR = "published", "ours"
LIMITS = {"at_most": "at most", "at_least": "at least"}
WORDS = {True: "✓ within", False: "✗ outside", None: "prediction"}
FORMATS = {"Published": "%.4g", "Published, to": "%.4g", "Ours": "%.4g", "Error [%]": "%+.1f", "Tolerance": "%.3g"}
COLUMNS = ["system", "who", "part", "amount"]
Verdicts = Sequence[ClaimVerdict]
EMPTY_CELL = "-"  # in the cell of a table to read
STACK_COLUMNS = {"system": "Training system", "who": "Whose", "part": "Stage", "amount": "Step time [ms]"}
ENERGY_COLUMNS = {"preset": "Model", "system": "Training system", "who": "Whose", "energy": "Energy of a batch, PMEM = 1"}


def by_paper(verdicts: Verdicts) -> dict[str, list[ClaimVerdict]]:
    """Return the verdicts of each paper, in the order in which the papers first appear."""
    papers = dict.fromkeys(preset(verdict.preset).paper for verdict in verdicts)
    return {paper: [verdict for verdict in verdicts if preset(verdict.preset).paper == paper] for paper in papers}


def table(verdicts: Verdicts) -> pd.DataFrame:
    """Return a row for each claim; the claim's name contains the unit."""
    rows = [
        {
            "Preset": verdict.preset,
            "Claim": verdict.claim.title,
            "Published": verdict.claim.published,
            "Published, to": verdict.claim.published_to,
            "Ours": verdict.simulated_value,
            "Error [%]": verdict.error_percent,
            "Tolerance": verdict.claim.allowed_difference,
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


def readable_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of claims to read.

    Numbers are text, a range is one cell, and empty columns are left out.
    """
    cells = {name: list(frame[name]) for name in frame.columns if name != "Published, to"}
    if "Published, to" in frame:
        cells["Published"] = [_range_text(*ends) for ends in zip(frame["Published"], frame["Published, to"], strict=True)]
    cells["Ours"] = [_number_text(number) for number in frame["Ours"]]
    cells["Error [%]"] = [EMPTY_CELL if pd.isna(number) else figures.signed(number) for number in frame["Error [%]"]]
    cells["Tolerance"] = [_number_text(number) for number in frame.get("Tolerance", [])]
    filled = {name: [EMPTY_CELL if pd.isna(cell) or cell == "" else cell for cell in column] for name, column in cells.items()}
    return pd.DataFrame({name: column for name, column in filled.items() if {*column} != {EMPTY_CELL}})


def _range_text(low: float, high: float) -> str:
    return (
        EMPTY_CELL if pd.isna(low) else figures.exact(low) if pd.isna(high) else f"{figures.exact(low)} to {figures.exact(high)}"
    )


def _number_text(number: float) -> str:
    """Return three significant digits, long numbers in groups."""
    return EMPTY_CELL if pd.isna(number) else figures.exact(float(f"{number:.3g}"))


def figures_table(numbers: Sequence[PublishedNumber]) -> pd.DataFrame:
    """Return a row for each published number that no preset claims, in the columns of `table`."""
    rows = [
        {
            "Claim": number.name,
            "Published": number.published,
            "Published, to": number.published_to,
            "Ours": number.simulated_value,
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
    """Return the step times [ms] of each preset by stage; presets with published ones come first.

    Columns: system, who (published or simulated), part, amount. The part of a published step that no claim on a stage covers is
    called Other. A claim that changes knobs is no bar of its preset.
    """
    value_verdicts = [v for v in verdicts if v.claim.form == "value" and v.claim.presets == (v.preset,) and not v.claim.knobs]
    stacks_by_preset = {}
    for name, group in groupby(value_verdicts, key=lambda verdict: verdict.preset):
        members = list(group)
        points = [validate.ClaimPoint(name, v.claim.system, (), v.claim.estimated) for v in members if v.claim.metric == STEP]
        systems = [point.system for point in points]
        if systems:
            results = {point.system: validate.run_point(point) for point in points}
            our_stages = tables.stage_rows(results, "").assign(who=OUR_BAR)
            rows = [row for system in systems for row in _published_stages(members, system)]
            stacks_by_preset[name] = (
                pd.concat([pd.DataFrame(rows, columns=COLUMNS), our_stages[COLUMNS]]) if rows else our_stages[COLUMNS]
            )
    return dict(sorted(stacks_by_preset.items(), key=lambda pair: set(pair[1]["who"]) == {OUR_BAR}))


def energies(verdicts: Verdicts) -> pd.DataFrame:
    """Return each preset's energy of a batch by system, relative to the baseline.

    Columns: preset, system, who, energy.
    A published bar is drawn where a saving is published for one preset.
    """
    rows = []
    for verdict in verdicts:
        claim = verdict.claim
        if claim.metric == ENERGY and claim.form == "saving [%]" and claim.presets == (verdict.preset,):
            title = preset(verdict.preset).title.partition(",")[0]
            claimed_systems = {
                step_verdict.claim.system
                for step_verdict in verdicts
                if step_verdict.preset == verdict.preset and step_verdict.claim.metric == STEP
            }
            joules = {
                system: validate.run_point(validate.ClaimPoint(verdict.preset, system)).results[ENERGY] or 0.0
                for system in claimed_systems
            }
            base = joules.get(claim.baseline) or 1.0
            rows += [(title, system, OUR_BAR, joules[system] / base) for system in palette.systems() if system in claimed_systems]
            rows += [] if claim.published is None else [(title, claim.system, PUBLISHED, 1 - claim.published / 100)]
    return pd.DataFrame(rows, columns=["preset", "system", "who", "energy"])


def energy_finding(rows: pd.DataFrame) -> str:
    """Return the sentence on the training system that needs the least energy over all models."""
    our_energies = rows[rows.who == OUR_BAR].groupby("system")["energy"]
    best_system = our_energies.mean().idxmin()
    low, high = our_energies.min()[best_system], our_energies.max()[best_system]
    title = load_variant("systems", str(best_system)).title
    return f"{title} needs {figures.percent(low)} to {figures.percent(high)} of PMEM's energy a batch"


def _published_stages(verdicts: Verdicts, system: str) -> list[tuple[str, str, str, float]]:
    values = {v.claim.metric: v.claim.published for v in verdicts if v.claim.system == system and v.claim.published is not None}
    if STEP not in values:
        return []
    parts = {stage: values[stage] for stage in STAGES if stage in values}
    parts["Other"] = parts.get("Other", 0.0) + max(0.0, values[STEP] - total(parts.values()))
    return [(system, PUBLISHED, stage, amount) for stage, amount in parts.items()]


def distance_words(verdicts: Verdicts, name: str) -> str:
    """Return a few words on how far a preset's steps are from the published ones."""
    errors = [v.error_percent for v in verdicts if v.preset == name and v.claim.metric == STEP and v.claim.presets == (name,)]
    known_errors = [abs(error) for error in errors if error is not None]
    return (
        f"step times are within {figures.percent(max(known_errors) / 100)} of the published times"
        if known_errors
        else "a prediction without published numbers"
    )
