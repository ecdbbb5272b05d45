"""Seeded bugs: protocols broken on purpose, by which the checker shows that it is awake; `hunt` explores until it notices."""

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
from .exploration import AT_SCALE, ROUGH, OnProgress, follow, passing
from .reference_run import Configuration, Wrap, configuration, configurations
from .report import CrashReport
from .visit import Effort

TESTS = Path(__file__).parent.parent.parent / "tests"
STEPS = (Effort(60, 1, 1, 4, 1), Effort(500, 2, 6, 20, 2))


@dataclass(frozen=True)
class Broken:
    """A broken protocol: how to install it, the medium to put between, where it should show, and by which evidence.

    `evidence` is an invariant, or another name that `report` has for it; where it is empty, anything that is wrong will do.
    """

    name: str
    install: Callable[[], AbstractContextManager[None]] = nullcontext
    wrap: Wrap | None = None
    on: tuple[Configuration, ...] = ()
    evidence: str = ""


def broken(name: str) -> Broken:
    """Return a bug by its name in tests/seeded_bugs, or as path/to/file.py:function; raises BadInput."""
    if ":" in name:
        return _from_file(name)
    bugs = seeded()
    if name not in bugs:
        close = get_close_matches(name, bugs, 1, 0.0)[0]
        raise BadInput(f"seeded bug {name[:60]!r} is not known; tests/seeded_bugs has {len(bugs)}, such as {close}.")
    return bugs[name]


def seeded() -> Mapping[str, Broken]:
    """Return the bugs of this checkout; raises BadInput where there are no tests."""
    module = of_checkout("seeded_bugs")
    return {
        bug.name: Broken(bug.name, partial(module.installed, bug), bug.wrap, (configuration(bug.on),), bug.evidence)
        for bug in module.BUGS.values()
    }


def of_checkout(name: str) -> Any:
    """Return a module of the checkout's tests folder; raises BadInput where there is none."""
    if not (TESTS / "seeded_bugs").is_dir():
        raise BadInput("The broken protocols live in a checkout's tests folder, which an installed engine lacks; run it there.")
    if str(TESTS.parent) not in sys.path:
        sys.path.insert(0, str(TESTS.parent))
    return import_module(f"tests.{name}")


def hunt(
    bug: Broken,
    models: tuple[str, ...] | None = None,
    steps: tuple[Effort, ...] = STEPS,
    seed: int = 0,
    on_progress: OnProgress = lambda share, what: None,
) -> CrashReport:
    """Explore with the bug in place until a state shows it: where it should, then everywhere, each time further."""
    plain = sorted(configurations(), key=lambda one: one.name.count("-"))  # those with the fewest peculiarities first
    elsewhere = [one for one in (*map(passing, plain), *(replace(one, size="tiny") for one in plain[:4])) if one not in bug.on]
    tries = [*product(steps, bug.on), *product(steps[:1], elsewhere), *product([ROUGH], AT_SCALE), *product(steps[1:], elsewhere)]
    with bug.install():
        report = follow([(of, effort, models) for effort, of in tries], seed, on_progress, bug.wrap, bug.name, bug.evidence)
    report.failures.sort(key=lambda failure: bug.evidence not in ("", failure.evidence))
    return report


def _from_file(name: str) -> Broken:
    place, _, function = name.rpartition(":")
    path = Path(place)
    spec = importlib.util.spec_from_file_location("broken_medium", path) if path.suffix == ".py" else None
    if spec is None or spec.loader is None or not path.is_file():
        raise BadFile(f"--broken {name!r} names no Python file; write path/to/file.py:function.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{place} cannot be imported: {type(error).__name__}: {error}; mend it first.") from error
    wrap = getattr(module, function, None)
    if not callable(wrap):
        raise BadInput(f"{place} has no function or class {function!r} that takes a medium and returns one.")
    return Broken(function if function.isidentifier() else "broken", wrap=wrap)
