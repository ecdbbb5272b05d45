"""The table of persistence models: a row each says which crash states are possible, given the writes so far."""

from collections.abc import Mapping

from .models import LINE, WITHOUT_END, Domain, by_controller, by_line, by_word, each_line, in_order

# What one Optane module holds that is fenced but not on the medium: 16 to 18 KiB (Yang et al., FAST'20).
BUFFER = 16 * 1024

MODELS: Mapping[str, Domain] = {
    # What has reached the memory controller is safe, caches are not.
    "adr": Domain("ADR", "Flushed and fenced lines are durable; of others each keeps any prefix of its words.", by_line),
    # Caches are flushed by stored energy; a store is torn at one word at most.
    "eadr": Domain("eADR", "Every store is durable at once, in program order.", in_order, at_once=True),
    # Every write, the host's too, passes the device's controllers.
    "device-fifo": Domain("Controller queues", "Writes are durable first in, first out per memory controller.", by_controller),
    # No order at all between fences: the weakest that a fence allows.
    "weak-word": Domain("Weak words", "Any subset of pending words may be durable.", by_word),
    # CXL's: host caches and device buffers reach the medium before power is gone.
    "gpf-ok": Domain("Global Persistent Flush", "Caches and buffers are flushed in time: program order.", in_order, at_once=True),
    # That, or ADR itself, fails: the device counts such a shutdown as dirty, and nothing else tells.
    "gpf-fail": Domain(
        "Global Persistent Flush fails",
        "Of the newest 16 KiB also fenced lines may be lost; only the dirty-shutdown counter tells.",
        each_line,
        buffered_lines=BUFFER // LINE,
        announced=True,
    ),
    # The control: fences promise nothing and nobody tells, so every protocol must fail here.
    "volatile": Domain(
        "Volatile (control)",
        "Nothing that was written is safe, and nothing tells.",
        each_line,
        buffered_lines=WITHOUT_END,
        safe=False,
    ),
}
