"""The share of useful time by renewal theory, from first principles: the chance of each checkpoint, one after the other."""

from math import exp


def uptime_share(train, pause, drain, down, mtbf, terms=100_000):
    """Return seconds of training kept per second, faults exponential, also in checkpoints and in recoveries of `down` seconds.

    Between two recoveries the n-th checkpoint counts if no fault has come before n (train + pause) + drain seconds: the mean
    number of them is the sum of these chances. A recovery that is begun anew at each fault takes M (exp(down / M) - 1) seconds.
    """
    kept, n = 0.0, 1
    while n <= terms and (chance := exp(-(n * (train + pause) + drain) / mtbf)) > 1e-15:
        kept, n = kept + chance, n + 1
    return kept * train / (mtbf + mtbf * (exp(down / mtbf) - 1))
