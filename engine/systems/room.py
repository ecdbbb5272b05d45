"""Room: does each part of a machine hold what the plan in force gives it?"""

from ..errors import BadKnob
from ..registry import load
from ..scenario.scenario import KNOBS, Scenario
from ..units import GB
from .balance import Balance, balance
from .parts import EVEN, Kind, kind_of, memories
from .sharding import filled
from .system import System
from .traffic import table_bytes


def unfit(s: Scenario, name: str) -> str:
    """Return why the plan in force cannot be, as a sentence; "" where it can."""
    system, kind = load("systems", name), kind_of(name)
    given = f"policy.plan={s.policy.plan[:40]}" if s.policy.plan else f"policy.sharding={s.policy.sharding}"
    if kind is None:
        if not s.policy.plan and s.policy.sharding in (None, EVEN):
            return ""
        return (
            f"{given} is not possible: system={name} shares its work evenly; set it to {'nothing' if s.policy.plan else 'auto'}."
        )
    try:
        found = balance(s, name)
    except BadKnob as error:
        if not s.policy.plan:
            raise
        return str(error)
    return "" if found is None else _overfull(s, system, kind, found, given)


def _overfull(s: Scenario, system: System, kind: Kind, found: Balance, given: str) -> str:
    """Return which part has more than its memory holds, if the whole would fit when shared evenly."""
    for place, need, have, size in memories(s, system):
        held = found.kept[place] if found.kept else found.held * need / table_bytes(s)
        full = filled(held, size)
        worst = int(full.argmax())
        if full[worst] > have >= need / len(full):
            who = f"{kind.title} {worst}" if size == 1 else f"node {worst}"
            other = "give it fewer tables" if s.policy.plan else "choose policy.sharding=planner or row-wise"
            more = kind.more or next(path for path in KNOBS if path.startswith(f"machine.{place}_capacity_"))
            asks = given if s.policy.plan or s.policy.sharding else "policy.sharding=auto"
            return (
                f"{asks} puts {full[worst] / GB:.3g} GB on {who}, whose {place} has {have / GB:.3g} GB left for tables; "
                f"{other}, or raise {more}."
            )
    return ""
