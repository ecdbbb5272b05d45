"""Cache policies by their names in `policy.cache_policy` and in a full run."""

from typing import NamedTuple

from ..registry import all_variants
from ..systems.system import Cache


class CachePolicy(NamedTuple):
    """A policy as `list caches` shows it: name, title, and evicted rows."""

    name: str
    title: str
    help: str


POLICIES = {
    "frequency": CachePolicy("frequency", "By frequency", "The row that is rarest in the data goes."),
    "hash": CachePolicy("hash", "By hash", "No row goes: its hash says whether it lies in HBM or in host memory."),
    "lfu": CachePolicy("lfu", "LFU", "The row used in the fewest batches since it came in goes; counts do not age."),
    "lfu in sets": CachePolicy(
        "set-associative-lfu",
        "Set-associative LFU",
        "A row may only stand in one set of 32, and only in place of one looked up no more often; counts do not age.",
    ),
    "look-ahead": CachePolicy("look-ahead", "Look-ahead", "A row stays if one of the next batches uses it."),
    "lru": CachePolicy("lru", "LRU", "The row that has not been used for longest goes."),
    "lru in sets": CachePolicy(
        "set-associative",
        "Set-associative",
        "A row may only stand in one set of 32, where the one not used for longest goes.",
    ),
}


def policies_of(cache: Cache) -> tuple[str, ...]:
    """Return the names of the policies that a system's cache can have."""
    return tuple(f"{name} in sets" if cache.in_sets else name for name in (cache.policy, *cache.other_policies))


def systems_with(policy: str) -> tuple[str, ...]:
    """Return the names of the systems that can have a policy."""
    return tuple(name for name, system in all_variants("systems").items() if system.cache and policy in policies_of(system.cache))
