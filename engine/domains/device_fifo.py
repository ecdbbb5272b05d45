"""Every write, the host's too, passes the device's controllers: first in, first out in each, each on its own."""

from engine.domain import Domain, by_controller

DOMAIN = Domain("Controller queues", "Writes are durable first in, first out per memory controller.", by_controller)
