"""The ledger of a campaign: every second and joule is booked once, under one name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum

# useful: training that still counts at the end; lost: training that does not, and was not done again;
# replay: training done a second time; slow: what a fail-slow fault adds; the rest says itself.
BUCKETS = ("useful", "checkpoint", "lost", "replay", "slow", "detect", "restart", "restore")


@dataclass
class CampaignLedger:
    """Books under way: seconds and joules by bucket; bytes by medium that the protection wrote, and that training stored."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BUCKETS})
    joules: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BUCKETS})
    written: dict[str, list[float]] = field(default_factory=dict)
    trained: dict[str, list[float]] = field(default_factory=dict)

    def book(self, bucket: str, seconds: float, joules: float) -> None:
        """Add to a bucket."""
        if seconds or joules:
            self.seconds[bucket].append(seconds)
            self.joules[bucket].append(joules)

    def carry(self, way: str, amounts: Mapping[str, float], times: float) -> None:
        """Add bytes `written` or `trained`, so many times."""
        for medium, nbytes in amounts.items() if times else ():
            getattr(self, way).setdefault(medium, []).append(nbytes * times)


def closed(parts: Mapping[str, list[float]]) -> Mapping[str, float]:
    """Return exactly rounded sums."""
    return {name: fsum(amounts) for name, amounts in parts.items()}
