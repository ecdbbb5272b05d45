"""Seeded bugs: log protocols that are broken on purpose, to test the checker.

`hunt` explores crash states until the checker finds the bug.
"""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from ..errors import BadFile, BadInput
from .exploration import ROUGH_EFFORT, SCALED_CONFIGURATIONS, OnProgress, explore_all, with_counter_overflow
from .reference_run import SINGLE_RUNS, Configuration, Wrap, configuration, configurations
from .report import CrashReport
from .visit import Effort

TESTS = Path(__file__).parent.parent.parent / "tests"
STEPS = (Effort(60, 1, 1, 4, 1, formats=12), Effort(500, 2, 6, 20, 2, formats=60))


@dataclass(frozen=True)
class BrokenProtocol:
    """A log protocol with a bug.

    name: the name of the bug.
    install: returns a context manager that installs the bug.
    wrap: a function that wraps the medium, or None.
    configurations: the configurations in which the bug should show.
    evidence: the invariant that the bug breaks, or NO_END or EXCEPTION of `report`; "" for any failure.
    """

    name: str
    install: Callable[[], AbstractContextManager[None]] = nullcontext
    wrap: Wrap | None = None
    configurations: tuple[Configuration, ...] = ()
    evidence: str = ""


def broken_protocol(name: str) -> BrokenProtocol:
    """Return the broken protocol with this name.

    The name is a bug in tests/seeded_bugs, or path/to/file.py:function with a function that wraps the medium. Raises BadInput.
    """
    if ":" in name:
        return _from_file(name)
    bugs = seeded()
    if name not in bugs:
        close = get_close_matches(name, bugs, 1, 0.0)[0]
        raise BadInput(f"seeded bug {name[:60]!r} is not known; tests/seeded_bugs has {len(bugs)}, such as {close}.")
    return bugs[name]


def seeded() -> Mapping[str, BrokenProtocol]:
    """Return {name: broken protocol} for all bugs in tests/seeded_bugs.

    Raises BadInput if there is no tests folder.
    """
    module = checkout_module("seeded_bugs")
    return {
        bug.name: BrokenProtocol(bug.name, partial(module.installed, bug), bug.wrap, (configuration(bug.on),), bug.evidence)
        for bug in module.BUGS.values()
    }


def checkout_module(name: str) -> Any:
    """Return a module of the folder `tests`; raises BadInput if there is no such folder."""
    if not (TESTS / "seeded_bugs").is_dir():
        raise BadInput(
            "The broken protocols are only in a checkout's folder tests, which an installed package lacks; run the command in a "
            "checkout."
        )
    if str(TESTS.parent) not in sys.path:
        sys.path.insert(0, str(TESTS.parent))
    return import_module(f"tests.{name}")


def hunt(
    bug: BrokenProtocol,
    models: tuple[str, ...] | None = None,
    steps: tuple[Effort, ...] = STEPS,
    seed: int = 0,
    on_progress: OnProgress = lambda share, message: None,
) -> CrashReport:
    """Explore crash states of a broken protocol until one shows the bug.

    The configurations of `bug` are explored first, then all others. Each of `steps` is an effort; later steps explore more
    states.
    """
    simple_first = sorted(
        configurations(), key=lambda variant: variant.name.count("-")
    )  # variants with the fewest features first
    other_variants = [
        variant
        for variant in (
            *map(with_counter_overflow, simple_first),
            *(replace(variant, size="tiny") for variant in simple_first[:4]),
        )
        if variant not in bug.configurations
    ]
    probes = [variant for variant in SCALED_CONFIGURATIONS if variant.size in SINGLE_RUNS]
    tries = [
        *product(steps, bug.configurations),
        *product(steps[:1], other_variants[:4]),
        *product([ROUGH_EFFORT], probes),
        *product(steps[:1], other_variants[4:]),
        *product([ROUGH_EFFORT], [variant for variant in SCALED_CONFIGURATIONS if variant not in probes]),
        *product(steps[1:], other_variants),
    ]
    with bug.install():
        report = explore_all(
            [(variant, effort, models) for effort, variant in tries], seed, on_progress, bug.wrap, bug.name, bug.evidence
        )
    report.failures.sort(key=lambda failure: (bug.evidence not in ("", failure.evidence), not failure.shows_loss))
    return report


def _from_file(name: str) -> BrokenProtocol:
    place, _, function = name.rpartition(":")
    path = Path(place)
    spec = importlib.util.spec_from_file_location("broken_medium", path) if path.suffix == ".py" else None
    if spec is None or spec.loader is None or not path.is_file():
        raise BadFile(f"--broken {name!r} is not a Python file with a function; write path/to/file.py:function.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{place} cannot be imported: {type(error).__name__}: {error}; correct the file first.") from error
    wrap = getattr(module, function, None)
    if not callable(wrap):
        raise BadInput(f"{place} has no function or class {function!r} that takes a medium and returns one.")
    return BrokenProtocol(function if function.isidentifier() else "broken", wrap=wrap)
