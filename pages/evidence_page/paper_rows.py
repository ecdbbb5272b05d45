"""The rows of a paper's figure: each published number beside ours; a mean over models is followed by the models."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from engine.registry import every
from engine.scenario.presets import preset
from engine.validation import validate
from engine.validation.claims import FORMS, Claim, Ends
from engine.validation.validate import ClaimVerdict

Verdicts = Sequence[ClaimVerdict]
SHORT = re.compile(r"([A-Za-z][\w-]*)(?: RM\d| on | with | reads )")  # of a preset's title: the paper's own name for its system
TIMES = "Times [×]"
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
    """A line of a figure.

    panel: quantity and unit, which rows of one panel share.
    label: what the number is of.
    subject: the quantity in a word or two, for a title.
    ours: our number in that unit.
    ends: the published range, or None where ours stands alone.
    allowed: the tolerance on either side of the published range.
    met: whether ours is within it; None without a verdict.
    derived: whether the published number is computed from published step times.
    indented: whether the row is one model of the mean above it.
    source: where in the paper the number stands.
    """

    panel: str
    label: str
    subject: str
    ours: float
    ends: Ends | None = None
    allowed: float = 0.0
    met: bool | None = None
    derived: bool = False
    indented: bool = False
    source: str = ""


def short_name(paper: str, presets: Sequence[str]) -> str:
    """Return the name that a paper is called by: its system's, or its authors'."""
    named = (SHORT.match(preset(name).title) for name in presets)
    return next((found[1] for found in named if found), paper.partition(":")[0].partition(";")[0])


def has_figure(verdicts: Verdicts) -> bool:
    """Whether a paper has a published number to draw."""
    return any(verdict.claim.ends for verdict in verdicts)


def headlines(verdicts: Verdicts) -> list[ClaimVerdict]:
    """Return the claims that a paper makes over several presets, or stakes its name on."""
    return [verdict for verdict in verdicts if len(verdict.claim.presets) > 1 or verdict.claim.kind == "headline"]


def rows(verdicts: Verdicts) -> list[FigureRow]:
    """Return the rows of one paper's figure: its means with their models where it has means, else every published number."""
    means = [verdict for verdict in verdicts if len(verdict.claim.presets) > 1 and verdict.claim.ends]
    if means:
        found = _mean_rows(verdicts, means)
    else:
        published = [verdict for verdict in verdicts if verdict.claim.ends]
        several = len({verdict.preset for verdict in published}) > 1
        found = [_claim_row(verdict, several) for verdict in published]
    return [row for kind in dict.fromkeys(row.panel for row in found) for row in found if row.panel == kind]


def _mean_rows(verdicts: Verdicts, means: Verdicts) -> list[FigureRow]:
    """Return the means, those of one comparison together, headlines first; the first of each result is followed by its models."""
    groups: dict[tuple[str, ...], list[ClaimVerdict]] = {}
    for verdict in sorted(means, key=lambda one: one.claim.kind != "headline"):
        claim = verdict.claim
        groups.setdefault((claim.metric, claim.form, claim.system, claim.baseline), []).append(verdict)
    found: list[FigureRow] = []
    split: set[str] = set()
    for (metric, *_), group in groups.items():
        found += [_claim_row(verdict, several=False) for verdict in group]
        if metric not in split:
            split.add(metric)
            found += [_model_row(verdicts, group[0].claim, name) for name in group[0].claim.presets]
    return sorted(found, key=lambda row: row.panel != PANELS["speed-up"])


def _claim_row(verdict: ClaimVerdict, several: bool) -> FigureRow:
    claim = verdict.claim
    return FigureRow(
        panel=panel(claim),
        label=label(verdict, several),
        subject=subject(claim),
        ours=verdict.ours,
        ends=claim.ends,
        allowed=claim.allowed or 0.0,
        met=verdict.passed,
        source=claim.source,
    )


def panel(claim: Claim) -> str:
    """Return a claim's quantity and unit: numbers of one panel share an axis."""
    unit = f"[{claim.title.rpartition('[')[2]}" if claim.title.endswith("]") else ""
    return TIMES if unit == "[x]" else PANELS.get(claim.form) or unit or claim.metric


def subject(claim: Claim) -> str:
    """Return the quantity that a claim's title begins with."""
    return claim.title.partition(" [")[0].partition(",")[0]


def label(verdict: ClaimVerdict, several: bool) -> str:
    """Return a claim's title without its unit, with the systems' own titles; `several` names the preset too."""
    text = verdict.claim.title.partition(" [")[0]
    for slug, system in sorted(every("systems").items(), key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<![\w-]){re.escape(slug)}(?![\w-])", system.title, text)
    text = text.removeprefix(f"{PANELS['speed-up'].partition(' [')[0]}, ") if len(verdict.claim.presets) > 1 else text
    return f"{preset(verdict.preset).title.rpartition(' on ')[2]}: {text}" if several else text


def frame(found: Sequence[FigureRow]) -> pd.DataFrame:
    """Return a figure's numbers as a table, one row each."""
    cells = [
        {
            "panel": row.panel,
            "label": row.label,
            "published": row.ends[0] if row.ends else None,
            "published_to": row.ends[1] if row.ends and row.ends[1] != row.ends[0] else None,
            "ours": row.ours,
            "allowed": row.allowed if row.ends and not row.derived else None,
            "met": None if row.met is None else "yes" if row.met else "no",
            "derived": "from published step times" if row.derived else "",
            "source": row.source,
        }
        for row in found
    ]
    return pd.DataFrame(cells, columns=list(TITLES)).rename(columns=TITLES)


def _model_row(verdicts: Verdicts, claim: Claim, name: str) -> FigureRow:
    """Return one model's row under its mean: published where both step times are, else ours alone."""
    ours = validate.measure(replace(claim, presets=(name,), aggregate="mean"))
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
        ours=ours,
        ends=None if number is None else (number, number),
        derived=number is not None,
        indented=True,
        source="ratio of the paper's step times" if number is not None else "Emberpool alone",
    )
