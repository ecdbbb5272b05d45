"""Protocols broken on purpose: each bug replaces one public function of engine.persistence, and must be caught.

To add one, write a function of the seam's signature under `@bug("module.function")` in the file of its group.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any
from unittest.mock import patch

BUGS: dict[str, "Bug"] = {}


@dataclass(frozen=True)
class Bug:
    """One broken function, where it goes, and the training run (keywords of `story`) on which it must show."""

    name: str
    seam: str
    broken: Callable[..., Any]
    run: dict[str, Any] = field(default_factory=dict)


def bug(seam: str, **run: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a bug named after it, at a seam such as `records.checksum`."""

    def register(broken: Callable[..., Any]) -> Callable[..., Any]:
        BUGS[broken.__name__] = Bug(broken.__name__, seam, broken, run)
        return broken

    return register


@contextmanager
def installed(bug: Bug) -> Iterator[None]:
    """Run the protocol with the bug in it."""
    module, function = bug.seam.split(".")
    with patch.object(import_module(f"engine.persistence.{module}"), function, bug.broken):
        yield


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
