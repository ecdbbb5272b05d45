"""CXL's Global Persistent Flush that succeeds: host caches and device buffers reach the medium before power is gone."""

from engine.domain import Domain, in_order

DOMAIN = Domain("Global Persistent Flush", "Caches and buffers are flushed in time: program order.", in_order, at_once=True)
