"""The trained batches of a full run: all, or each N-th in a sampled run.

A sampled run counts and times every batch, and trains batches 0, N, 2N and so on, where N is `run.train_every`. The weights at
the start of batch n are those after the last trained batch before n.
"""

from ..core.figures import count, ordinal
from ..scenario.scenario import Scenario


def num_trained(batches: int, train_every: int) -> int:
    """Return how many of the first `batches` batches are trained, if each `train_every`-th is."""
    return -(-batches // train_every)


def evaluation_batches(batches: int, evaluations: int, train_every: int = 1) -> frozenset[int]:
    """Return the numbers of batches after which to evaluate, at most `evaluations`.

    They are evenly spread over the trained batches, and each lies right behind a trained batch; the last one behind the last.
    """
    trained = num_trained(batches, train_every)
    return frozenset((-(-trained * part // evaluations) - 1) * train_every + 1 for part in range(1, evaluations + 1))


def sampling_words(train_every: int) -> str:
    """Return words such as "each 64th batch trained", or "" if all batches are trained."""
    return "" if train_every == 1 else f"each {ordinal(train_every)} batch trained"


def sampled_run_note(scenario: Scenario, batches: int) -> str:
    """Return a sentence on a sampled run of `batches` batches.

    Return "" if all batches are trained, or none.
    """
    train_every = scenario.run.train_every
    if train_every == 1 or not scenario.run.training:
        return ""
    return (
        f"A sampled run: each {ordinal(train_every)} batch was trained, {count(num_trained(batches, train_every))} of "
        f"{count(batches)}, and all were counted and timed. Loss and AUC are those of a training on these batches alone, so the "
        "full run would have learned more."
    )
