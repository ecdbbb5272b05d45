"""The ledger of a campaign: every second and joule is booked once, under one name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum

# useful: training that counts at the end; lost: training that does not count and was not repeated;
# replay: repeated training; slow: the time that a fail-slow fault adds; the others are phases of checkpoints and recoveries.
BUCKETS = ("useful", "checkpoint", "lost", "replay", "slow", "detect", "restart", "restore")


@dataclass
class CampaignLedger:
    """The bookings of a campaign.

    seconds, joules: the bookings by bucket.
    protection_bytes: the bytes that the protection wrote, by medium.
    training_bytes: the bytes that training stored, by medium.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BUCKETS})
    joules: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BUCKETS})
    protection_bytes: dict[str, list[float]] = field(default_factory=dict)
    training_bytes: dict[str, list[float]] = field(default_factory=dict)

    def book(self, bucket: str, seconds: float, joules: float) -> None:
        """Add seconds and joules to a bucket."""
        if seconds or joules:
            self.seconds[bucket].append(seconds)
            self.joules[bucket].append(joules)

    def book_bytes(self, side: str, amounts: Mapping[str, float], times: float) -> None:
        """Add `times` the bytes of each medium.

        `side` is the name of the field: `protection_bytes` or `training_bytes`.
        """
        for medium, nbytes in amounts.items() if times else ():
            getattr(self, side).setdefault(medium, []).append(nbytes * times)


def exact_sums(parts: Mapping[str, list[float]]) -> Mapping[str, float]:
    """Return the exactly rounded sum of each list."""
    return {name: fsum(amounts) for name, amounts in parts.items()}
