"""The summary of a run for people: the finding, then the results with their units."""

from ..results.result import COUNTED, Result


def summary(result: Result) -> str:
    """Write a result for people, in lines."""
    lines = [result.finding or result.outcome]
    if result.finding and result.outcome and result.outcome != result.finding:
        lines.append(result.outcome)
    lines += [f"Note: {warning}" for warning in result.warnings]
    shown = {name: value for name, value in result.results.items() if value is not None}
    width = max(map(len, shown), default=0)
    lines += [f"  {name:<{width}}  {value:,.6g}" for name, value in shown.items()]
    lines += [COUNTED[result.energy_level]] if result.ran else []
    return "\n".join(lines) + "\n"
