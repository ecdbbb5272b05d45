"""Protocols broken on purpose; the crash explorer must catch each of them.

To add one, write a function of the seam's signature under `@bug("module.function", evidence="I2")` in the file of its group, or
under `@media_bug(evidence="I2")` a function that takes a medium and returns a broken one. The evidence is the invariant that must
not hold any more (`docs/persistence.md`); "no end" and "exception" are for bugs that do no more than that.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules, resolve_name
from typing import Any
from unittest.mock import patch

BUGS: dict[str, "Bug"] = {}


@dataclass(frozen=True)
class Bug:
    """A broken function and where it goes, or a broken medium, the configuration on which it must show, and by which evidence."""

    name: str
    group: str
    seam: str = ""
    broken: Callable[..., Any] | None = None
    wrap: Callable[[Any], Any] | None = None
    on: str = "undo"
    evidence: str = ""


def bug(seam: str, evidence: str, on: str = "undo") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a bug named after it, at a seam such as `records.checksum`.

    A seam outside the log protocol is written whole, such as `engine.crashcheck.judge.recover`.
    """

    def register(broken: Callable[..., Any]) -> Callable[..., Any]:
        group = broken.__module__.rpartition(".")[2]
        BUGS[broken.__name__] = Bug(broken.__name__, group, seam, broken, None, on, evidence)
        return broken

    return register


def media_bug(evidence: str, on: str = "undo") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function, from a medium to a broken one, as a bug named after it."""

    def register(wrap: Callable[..., Any]) -> Callable[..., Any]:
        group = wrap.__module__.rpartition(".")[2]
        BUGS[wrap.__name__] = Bug(wrap.__name__, group, wrap=wrap, on=on, evidence=evidence)
        return wrap

    return register


@contextmanager
def installed(bug: Bug) -> Iterator[None]:
    """Run the protocol with the bug in it."""
    if not bug.seam:
        yield
        return
    module, _, function = bug.seam.rpartition(".")
    place = module if module.startswith("engine.") else f"engine.persistence.{module}"
    with patch.object(resolve_name(place), function, bug.broken):
        yield


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
