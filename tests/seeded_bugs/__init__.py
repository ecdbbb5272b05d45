"""Protocols broken on purpose; the crash explorer must catch each of them.

To add one, write a function of the seam's signature under `@bug("module.function")` in the file of its group, or under
`@media_bug()` a function that takes a medium and returns a broken one.
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
    """A broken function and where it goes, or a broken medium, and the configuration on which it must show."""

    name: str
    group: str
    seam: str = ""
    broken: Callable[..., Any] | None = None
    wrap: Callable[[Any], Any] | None = None
    on: str = "undo"


def bug(seam: str, on: str = "undo") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a bug named after it, at a seam such as `records.checksum`.

    A seam outside the log protocol is written whole, such as `engine.crashcheck.judge.recover`.
    """

    def register(broken: Callable[..., Any]) -> Callable[..., Any]:
        BUGS[broken.__name__] = Bug(broken.__name__, broken.__module__.rpartition(".")[2], seam, broken, None, on)
        return broken

    return register


def media_bug(on: str = "undo") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function, from a medium to a broken one, as a bug named after it."""

    def register(wrap: Callable[..., Any]) -> Callable[..., Any]:
        BUGS[wrap.__name__] = Bug(wrap.__name__, wrap.__module__.rpartition(".")[2], wrap=wrap, on=on)
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
