"""Persistent memory, the logs that protect training on it, and recovery.

Reading order: `media` (the interface, and a medium of bytes), `layout` (addresses), `records` (one log record and its flag),
`protocol` (the operations), `logs` (the order of operations, undo or redo), `recovery`, `replay` (from a timeline's events to
the bytes that survive a power loss); `models` and `crash_media` (a medium that loses power, with its pending writes).
"""
