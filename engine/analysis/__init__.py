"""From the points of a sweep to an answer: fronts, bounds, the point to buy, and which knob matters.

All of it works on columns: numbers of many points under a result's name or a knob's path. `objective` reads what is wanted,
`pareto` ranks, `choice` keeps and picks, `importance` shares out a metric's variance, `search` looks for the front without
computing every point.
"""

from .choice import COST, Choice, cheapest, kept
from .importance import Share, shares
from .objective import Columns, Constraint, Objective, column, constraint, objective, objectives
from .pareto import finding, knee, ranks

__all__ = [
    "COST",
    "Choice",
    "Columns",
    "Constraint",
    "Objective",
    "Share",
    "cheapest",
    "column",
    "constraint",
    "finding",
    "kept",
    "knee",
    "objective",
    "objectives",
    "ranks",
    "shares",
]
