"""No persistence at all, the control: fences promise nothing and nobody tells, so every protocol must fail here."""

from engine.domain import WITHOUT_END, Domain, each_line

DOMAIN = Domain(
    "Volatile (control)",
    "Nothing that was written is safe, and nothing tells.",
    each_line,
    buffered_lines=WITHOUT_END,
    safe=False,
)
