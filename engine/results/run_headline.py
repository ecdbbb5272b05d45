"""The course of a finished run in one sentence.

The sentence names training, faults, outages, and batches that were trained again, in this order.
"""

from collections.abc import Sequence

from ..core.arrays import Row
from ..core.figures import count, figure
from ..run.upcoming_faults import FULL_SPEED
from .ledger import OUTAGE, SECONDS, TRAINING, ledger_sum
from .result import Result
from .tables import fault_cause

RECOVERED, UNRECOVERABLE, FAULT = "recovered", "unrecoverable", "fault"
NAMED_SHARE = 0.01  # a phase of an outage, or a stall, below this share is not named


def run_headline(result: Result) -> str:
    """Return the course of a full run as one sentence.

    The sentence has no full stop. Several faults are summarised. A result without a ledger gives its outcome. An example is
    "Trained 0.240 s; power was lost at 0.120 s; 2.50 min until it ran again (detect 30.0 s, restart 2.00 min); 1 batch trained
    again".
    """
    if not result.ledger:
        return result.outcome
    is_trained = result.scenario.run.training
    verb, again = ("Trained", "trained again") if is_trained else ("Ran", "run again")
    training = ledger_sum(result.ledger, SECONDS, TRAINING)
    strikes = [row for row in result.events if row["Kind"] not in (RECOVERED, UNRECOVERABLE, FULL_SPEED)]
    if not strikes:
        batches = count(result.training[-1]["Batch"] + 1, "batch", "batches") + " in " if result.training else ""
        return f"{verb} {batches}{figure(training, 's')} without a fault"
    num_faults = max(int(result.results.get("Faults") or 0), len(strikes))
    more = f", and {count(num_faults - 1, 'more fault')}" if num_faults > 1 else ""
    clauses = [
        f"{verb} {figure(training, 's')}",
        f"{fault_cause(strikes[0])} at {figure(float(strikes[0]['Elapsed [s]']), 's')}{more}",
        _outage_clause(result),
        _stall_clause(result.ledger, training),
    ]
    if not result.ran:
        return "; ".join(filter(None, (*clauses, result.outcome)))
    lost = int(result.results.get("Lost batches") or 0)
    clauses += [f"{count(lost, 'batch', 'batches')} {again}"] if lost else []
    return "; ".join(filter(None, clauses))


def _outage_clause(result: Result) -> str:
    """Return how long training stood still and in which phases, or that it went on."""
    num_outages = sum(row["Kind"] == FAULT for row in result.events)
    seconds = ledger_sum(result.ledger, SECONDS, OUTAGE)
    if not num_outages:
        return "training went on"
    named = [
        f"{row['Account']} {figure(float(row[SECONDS]), 's')}"
        for row in result.ledger
        if row["Account"] in OUTAGE and float(row[SECONDS]) > NAMED_SHARE * seconds
    ]
    phases = f" ({', '.join(named)})" if named else ""
    if num_outages > 1:
        return f"{count(num_outages, 'outage')} of {figure(seconds, 's')} in all{phases}"
    return f"{figure(seconds, 's')} {'until it ran again' if result.ran else 'of recovery'}{phases}"


def _stall_clause(ledger: Sequence[Row], training: float) -> str:
    """Return how long batches waited for slow devices, "" if hardly at all."""
    stalled = ledger_sum(ledger, SECONDS, ("stalled",))
    return f"batches stalled for {figure(stalled, 's')}" if stalled > NAMED_SHARE * training else ""
