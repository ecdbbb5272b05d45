"""Cache policies by their names in `policy.cache_policy`."""

from typing import NamedTuple

from ..registry import all_variants
from ..systems.system import Cache


class CachePolicy(NamedTuple):
    """A cache policy as `list caches` shows it: name, title, and a sentence of help."""

    name: str
    title: str
    help: str


POLICIES = {
    "frequency": CachePolicy("frequency", "By frequency", "Evicts the row with the fewest lookups in the whole data."),
    "hash": CachePolicy("hash", "By hash", "Evicts no row: the hash of a row decides whether it lies in HBM or in host memory."),
    "lfu": CachePolicy(
        "lfu", "LFU", "Evicts the row used in the fewest batches since it came in; old uses count as much as new ones."
    ),
    "lfu in sets": CachePolicy(
        "set-associative-lfu",
        "Set-associative LFU",
        "A row can be cached in one set of 32 only, and replaces a row with no more lookups; old lookups count as much as new "
        "ones.",
    ),
    "look-ahead": CachePolicy("look-ahead", "Look-ahead", "Keeps a row as long as one of the next batches uses it."),
    "lru": CachePolicy("lru", "LRU", "Evicts the row that has been unused for the longest time."),
    "lru in sets": CachePolicy(
        "set-associative",
        "Set-associative",
        "A row can be cached in one set of 32 only, and replaces the row of that set that has been unused for the longest time.",
    ),
}


def policies_of(cache: Cache) -> tuple[str, ...]:
    """Return the names of the policies that can be chosen for a system's cache."""
    return tuple(f"{name} in sets" if cache.in_sets else name for name in (cache.policy, *cache.other_policies))


def systems_with(policy: str) -> tuple[str, ...]:
    """Return the names of the systems whose cache can have the policy."""
    return tuple(name for name, system in all_variants("systems").items() if system.cache and policy in policies_of(system.cache))
