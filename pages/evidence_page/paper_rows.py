"""The rows of a paper's figure: each published number with the simulated one.

A mean over models is followed by a row for each model.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from engine.registry import all_variants
from engine.scenario.presets import preset
from engine.validation import validate
from engine.validation.claims import FORMS, Claim, PublishedRange
from engine.validation.validate import ClaimVerdict

Verdicts = Sequence[ClaimVerdict]
NAME_PATTERN = re.compile(
    r"([A-Za-z][\w-]*)(?: RM\d| on | with | reads )"
)  # finds in a preset's title the paper's name for its system
TIMES_PANEL = "Times [×]"
PANELS = {"speed-up": "Speed-up [×]", "saving [%]": "Saved [%]", "gain [%]": "Gain [%]", "ratio": "Ratio [×]"}
TITLES = {
    "panel": "Panel",
    "label": "Row",
    "published": "Published",
    "published_to": "Published, to",
    "ours": "Emberpool",
    "allowed": "Tolerance",
    "met": "Within tolerance",
    "derived": "Published number derived",
    "source": "Source",
}


@dataclass(frozen=True)
class FigureRow:
    """A row of a figure.

    panel: quantity and unit, which rows of one panel share.
    label: the number's title.
    subject: the quantity in a word or two, for a title.
    simulated_value: the simulated number in that unit.
    published_range: the published range, or None where only the simulated number exists.
    tolerance: the tolerance on either side of the published range.
    met: whether the simulated number is within the tolerance; None without a verdict.
    derived: whether the published number is computed from published step times.
    indented: whether the row is one model of the mean above it.
    source: where in the paper the number stands.
    """

    panel: str
    label: str
    subject: str
    simulated_value: float
    published_range: PublishedRange | None = None
    tolerance: float = 0.0
    met: bool | None = None
    derived: bool = False
    indented: bool = False
    source: str = ""


def short_name(paper: str, presets: Sequence[str]) -> str:
    """Return a paper's short name: its system's, or its authors'."""
    matches = (NAME_PATTERN.match(preset(name).title) for name in presets)
    return next((match[1] for match in matches if match), paper.partition(":")[0].partition(";")[0])


def has_figure(verdicts: Verdicts) -> bool:
    """Return whether a paper has a published number to draw."""
    return any(verdict.claim.published_range for verdict in verdicts)


def headlines(verdicts: Verdicts) -> list[ClaimVerdict]:
    """Return the claims over several presets, and the paper's headline claims."""
    return [verdict for verdict in verdicts if len(verdict.claim.presets) > 1 or verdict.claim.kind == "headline"]


def rows(verdicts: Verdicts) -> list[FigureRow]:
    """Return a paper's rows: means, each with its models; or all published numbers."""
    means = [verdict for verdict in verdicts if len(verdict.claim.presets) > 1 and verdict.claim.published_range]
    if means:
        figure_rows = _mean_rows(verdicts, means)
    else:
        published = [verdict for verdict in verdicts if verdict.claim.published_range]
        with_preset = len({verdict.preset for verdict in published}) > 1
        figure_rows = [_claim_row(verdict, with_preset) for verdict in published]
    return [row for kind in dict.fromkeys(row.panel for row in figure_rows) for row in figure_rows if row.panel == kind]


def _mean_rows(verdicts: Verdicts, means: Verdicts) -> list[FigureRow]:
    """Return the means by comparison, headlines first.

    The first mean of each result is followed by its models.
    """
    groups: dict[tuple[str, ...], list[ClaimVerdict]] = {}
    for verdict in sorted(means, key=lambda verdict: verdict.claim.kind != "headline"):
        claim = verdict.claim
        groups.setdefault((claim.metric, claim.form, claim.system, claim.baseline), []).append(verdict)
    figure_rows: list[FigureRow] = []
    metrics_split: set[str] = set()
    for (metric, *_), group in groups.items():
        figure_rows += [_claim_row(verdict, with_preset=False) for verdict in group]
        if metric not in metrics_split:
            metrics_split.add(metric)
            figure_rows += [_model_row(verdicts, group[0].claim, name) for name in group[0].claim.presets]
    return sorted(figure_rows, key=lambda row: row.panel != PANELS["speed-up"])


def _claim_row(verdict: ClaimVerdict, with_preset: bool) -> FigureRow:
    claim = verdict.claim
    return FigureRow(
        panel=panel(claim),
        label=label(verdict, with_preset),
        subject=subject(claim),
        simulated_value=verdict.simulated_value,
        published_range=claim.published_range,
        tolerance=claim.allowed_difference or 0.0,
        met=verdict.passed,
        source=claim.source,
    )


def panel(claim: Claim) -> str:
    """Return a claim's quantity and unit: numbers of one panel share an axis."""
    unit = f"[{claim.title.rpartition('[')[2]}" if claim.title.endswith("]") else ""
    return TIMES_PANEL if unit == "[x]" else PANELS.get(claim.form) or unit or claim.metric


def subject(claim: Claim) -> str:
    """Return the quantity with which a claim's title begins."""
    return claim.title.partition(" [")[0].partition(",")[0]


def label(verdict: ClaimVerdict, with_preset: bool) -> str:
    """Return a claim's title without its unit, with the systems' titles.

    `with_preset` puts the preset before it.
    """
    text = verdict.claim.title.partition(" [")[0]
    for slug, system in sorted(all_variants("systems").items(), key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<![\w-]){re.escape(slug)}(?![\w-])", system.title, text)
    text = text.removeprefix(f"{PANELS['speed-up'].partition(' [')[0]}, ") if len(verdict.claim.presets) > 1 else text
    return f"{preset(verdict.preset).title.rpartition(' on ')[2]}: {text}" if with_preset else text


def frame(figure_rows: Sequence[FigureRow]) -> pd.DataFrame:
    """Return a figure's numbers as a table, one row each."""
    cells = [
        {
            "panel": row.panel,
            "label": row.label,
            "published": row.published_range[0] if row.published_range else None,
            "published_to": row.published_range[1]
            if row.published_range and row.published_range[1] != row.published_range[0]
            else None,
            "ours": row.simulated_value,
            "allowed": row.tolerance if row.published_range and not row.derived else None,
            "met": None if row.met is None else "yes" if row.met else "no",
            "derived": "from published step times" if row.derived else "",
            "source": row.source,
        }
        for row in figure_rows
    ]
    return pd.DataFrame(cells, columns=list(TITLES)).rename(columns=TITLES)


def _model_row(verdicts: Verdicts, claim: Claim, name: str) -> FigureRow:
    """Return a model's row under its mean: published where both step times are."""
    our_number = validate.measure_claim(replace(claim, presets=(name,), aggregate="mean"))
    values = {
        verdict.claim.system: verdict.claim.published
        for verdict in verdicts
        if verdict.claim.metric == claim.metric and verdict.claim.form == "value" and verdict.claim.presets == (name,)
    }
    published, base = values.get(claim.system), values.get(claim.baseline)
    number = float(FORMS[claim.form](published, base)) if published and base else None
    words = preset(name).title.partition(",")[0].split()
    return FigureRow(
        panel=panel(claim),
        label=words[-1],
        subject=subject(claim),
        simulated_value=our_number,
        published_range=None if number is None else (number, number),
        derived=number is not None,
        indented=True,
        source="ratio of the paper's step times" if number is not None else "Emberpool alone",
    )
