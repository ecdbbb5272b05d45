"""ADR: what has reached the memory controller is safe, caches are not; each line keeps a prefix of its pending words."""

from engine.domain import Domain, by_line

DOMAIN = Domain("ADR", "Flushed and fenced lines are durable; of others each keeps any prefix of its words.", by_line)
