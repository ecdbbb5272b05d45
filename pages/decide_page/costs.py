"""Costs in the objective's unit: of a month where a speed is asked for, else of a billion samples."""

from engine.analysis.verdict.aim import SplitCost
from engine.analysis.verdict.decide import SystemRow
from engine.analysis.verdict.question import VerdictQuestion
from engine.insight.running_costs import running_cost_unit


def is_monthly(question: VerdictQuestion) -> bool:
    """Return whether a question compares costs of a month."""
    return question.objective_in_force == "month"


def has_money_bands(question: VerdictQuestion) -> bool:
    """Return whether the bands of a question are of the costs that its bars show."""
    return question.objective_in_force in ("cost", "month")


def cost_in_force(row: SystemRow, question: VerdictQuestion) -> SplitCost | None:
    """Return a row's cost in the objective's unit; None without a price."""
    return row.month if is_monthly(question) else row.cost


def cost_title(question: VerdictQuestion) -> str:
    """Return the title of costs in the objective's unit."""
    return month_title(question) if is_monthly(question) else billion_title(question)


def month_title(question: VerdictQuestion) -> str:
    """Return the title of a month's cost, with the year of its dollars."""
    return f"Cost of a month [{running_cost_unit(question.base)}]"


def billion_title(question: VerdictQuestion) -> str:
    """Return the title of the cost of a billion samples, with the year of its dollars."""
    return f"Cost of a billion samples that count [{running_cost_unit(question.base)}]"
