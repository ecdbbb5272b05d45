"""Each cache policy once more, by its definition: plain dictionaries and lists, no batch loop shared with the engine."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

COLUMNS = ("unique", "missed_lookups", "misses", "evicted", "held")


class Lru:
    """A row's place in the dictionary is its age."""

    def __init__(self, rows):
        self.rows, self.held = rows, OrderedDict()

    def use(self, row):
        self.held.move_to_end(row)

    def evict(self, kept):
        del self.held[next(row for row in self.held if row not in kept)]

    def admit(self, row):
        self.held[row] = None


class Clock(Lru):
    """Rows stand in places; the hand goes round those that are taken, and freed places fill up in the order of its visits."""

    def __init__(self, rows):
        self.rows, self.held, self.marked, self.freed, self.hand = rows, [], set(), [], 0

    def use(self, row):
        self.marked.add(row)

    def evict(self, kept):
        while self.hand in self.freed or self.held[self.hand] in kept | self.marked:
            if self.hand not in self.freed and self.held[self.hand] not in kept:
                self.marked.discard(self.held[self.hand])
            self.hand = (self.hand + 1) % len(self.held)
        self.freed.append(self.hand)
        self.hand = (self.hand + 1) % len(self.held)

    def admit(self, row):
        self.marked.discard(row)
        if self.freed:
            self.held[self.freed.pop(0)] = row
        else:
            self.held.append(row)


class Lfu(Lru):
    """Each row with its count and the time when it reached it."""

    def __init__(self, rows):
        self.rows, self.held, self.time = rows, {}, 0

    def use(self, row):
        self.time += 1
        self.held[row] = (self.held.get(row, (0, 0))[0] + 1, self.time)

    admit = use

    def evict(self, kept):
        del self.held[min((row for row in self.held if row not in kept), key=self.held.__getitem__)]


def served(cache, batches: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return the counts of each batch in the order of COLUMNS."""
    result = []
    for ids in batches:
        before = set(cache.held)
        unique = list(dict.fromkeys(ids))
        hits, missing = [row for row in unique if row in before], [row for row in unique if row not in before]
        for row in hits:
            cache.use(row)
        evictions = max(0, len(before) + len(missing) - cache.rows)
        for _ in range(evictions):
            cache.evict(set(hits))
        for row in missing:
            cache.admit(row)
        result.append([len(unique), sum(row not in before for row in ids), len(missing), evictions, len(cache.held)])
    return result


def counted_in_sets(batches: Iterable[Sequence[int]], ways: int, sets: int, set_of) -> list[list[int]]:
    """Each set holds the rows looked up most so far, as far as they asked while they were: nothing is ever forgotten."""
    counts: dict[int, int] = {}
    places: list[list[int | None]] = [[None] * ways for _ in range(sets)]
    result = []
    for ids in batches:
        before = {row for own in places for row in own if row is not None}
        for row in ids:
            counts[row] = counts.get(row, 0) + 1
        missing = sorted((row for row in dict.fromkeys(ids) if row not in before), key=lambda row: -counts[row])
        came, evicted, refused = set(), 0, 0
        for row in missing:
            own = places[set_of(row)]
            free = [way for way, other in enumerate(own) if other not in came]
            least = min(free, key=lambda way: -1 if own[way] is None else counts[own[way]], default=None)
            if least is None or (own[least] is not None and counts[own[least]] > counts[row]):
                refused += 1
                continue
            evicted += own[least] is not None
            own[least] = row
            came.add(row)
        held = sum(row is not None for own in places for row in own)
        missed = sum(row not in before for row in ids)
        result.append([len(set(ids)), missed, len(missing), evicted + refused, held, refused])
    return result


def belady(batches: Sequence[Sequence[int]], rows: int, ahead: int) -> list[list[int]]:
    """Keep what one of the next `ahead` batches uses; where room is short, drop what is used last of all."""
    held: dict[int, int] = {}
    result = []
    for n, ids in enumerate(batches):
        unique, before = set(ids), set(held)
        missing, evictions = unique - before, 0
        while len(held) + len(missing) > rows:
            del held[max((row for row in held if row not in unique), key=held.__getitem__)]
            evictions += 1
        for row in unique:
            due = next((m for m in range(n + 1, len(batches)) if row in batches[m]), None)
            held.pop(row, None)
            if due is not None and due - n <= ahead:
                held[row] = due
            else:
                evictions += 1
        result.append([len(unique), sum(row not in before for row in ids), len(missing), evictions, len(held)])
    return result
