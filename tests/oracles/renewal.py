"""The share of useful time by renewal theory, from first principles: the chance of each checkpoint, one after the other."""

from math import exp


def uptime_share(train, pause, drain, recovery, mtbf, terms=100_000):
    """Return seconds of training kept per second, faults exponential, also in checkpoints and recoveries (`recovery` seconds).

    Between two recoveries the n-th checkpoint counts if no fault has come before n (train + pause) + drain seconds: the mean
    number of them is the sum of these chances. Begun anew at each fault, a recovery of R takes M (exp(R / M) - 1) seconds.
    """
    intervals, n = 0.0, 1
    while n <= terms and (chance := exp(-(n * (train + pause) + drain) / mtbf)) > 1e-15:
        intervals, n = intervals + chance, n + 1
    return intervals * train / (mtbf + mtbf * (exp(recovery / mtbf) - 1))
