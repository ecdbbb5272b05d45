"""Extended ADR: caches are flushed by stored energy, so stores are durable in program order, torn at one word at most."""

from engine.domain import Domain, in_order

DOMAIN = Domain("eADR", "Every store is durable at once, in program order.", in_order, at_once=True)
