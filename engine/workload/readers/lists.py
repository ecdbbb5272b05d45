"""Lists of tokens end to end, of which samples know where theirs begin."""

import numpy as np

from ...core.arrays import Ints, Words

MOST_LENGTH = 10_000  # of a list: what a model's pooling factor can be


def side_by_side(fields: list[tuple[Words, Ints]]) -> tuple[Words, Ints, Ints]:
    """Return tokens of samples, field by field inside each; where each sample's begin, (n,); and their lengths (n, F).

    `fields` has each field's tokens, sample by sample, and their lengths.
    """
    lengths = np.stack([sizes for _, sizes in fields], axis=1).astype(np.int64)
    begins = np.concatenate(([0], np.cumsum(lengths)))[:-1].reshape(lengths.shape)
    tokens = np.empty(int(lengths.sum()), np.uint64)
    for field, (held, sizes) in enumerate(fields):
        tokens[runs(begins[:, field], sizes)] = held
    return tokens, begins[:, 0], lengths


def runs(begins: Ints, lengths: Ints) -> Ints:
    """Return the places of runs of consecutive ones, run after run."""
    found: Ints = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    return found
