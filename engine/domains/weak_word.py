"""No order at all between fences: any subset of the pending words may be durable, the weakest that a fence allows."""

from engine.domain import Domain, by_word

DOMAIN = Domain("Weak words", "Any subset of pending words may be durable.", by_word)
