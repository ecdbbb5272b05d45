"""Does a compiled kernel on disk serve until something that it was made of changes, in whatever file?"""

import importlib
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, objmode
from numba.core.datamodel.registry import default_manager

from engine.api import estimate
from engine.core import jit
from tests import ROOT

INNER = "from engine.core.jit import inner_kernel\n\nTIMES = {times}\n\n\n@inner_kernel\ndef scaled(x):\n"
INNER += "    if x < 0:\n        raise ValueError('less than nothing')\n    return TIMES * x + {more}\n"
BETWEEN = "from engine.core.jit import inner_kernel\nfrom made_up.inside import scaled\n\n\n"
BETWEEN += "@inner_kernel\ndef twice(x):\n    return 2 * scaled(x)\n"
ENTRY = """import numpy as np
from engine.core.jit import entry_kernel, entry_kernel_by_zero
from made_up import between
from made_up.numbers import ADDED


@entry_kernel
def told(x):
    return between.twice(x) + ADDED


@entry_kernel
def refused(x):
    return 1.0 / x


@entry_kernel_by_zero
def infinite(x):
    return 1.0 / x


@entry_kernel
def place(x):  # by what numba has inside, which is compiled along
    return np.searchsorted(x, 2.5)
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a package of three files, and return what its kernel says of 1, and whether it had to be compiled."""
    folder = tmp_path / "made_up"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name, text in (("__init__", ""), ("between", BETWEEN), ("entry", ENTRY)):
        (folder / f"{name}.py").write_text(text)

    def called(times=3, more=0, added=0):
        (folder / "inside.py").write_text(INNER.format(times=times, more=more))
        (folder / "numbers.py").write_text(f"ADDED = {added}\n")
        for name in [name for name in sys.modules if name.split(".")[0] == "made_up"]:
            del sys.modules[name]
        told = importlib.import_module("made_up.entry").told
        return told(1), sum(told.stats.cache_misses.values())

    yield called
    for name in [name for name in sys.modules if name.split(".")[0] == "made_up"]:
        del sys.modules[name]


def test_a_kernel_is_compiled_again_once_what_it_calls_in_another_file_changes(written):
    assert written() == (6, 1)
    assert written() == (6, 0)
    assert written(more=1) == (8, 1)
    assert written(more=1) == (8, 0)


def test_a_kernel_is_compiled_again_once_a_constant_changes_that_it_has_from_elsewhere(written):
    assert written() == (6, 1)
    assert written(added=5) == (11, 1)
    assert written(times=4, added=5) == (13, 1)


def test_a_kernel_is_compiled_again_once_what_compiles_it_changes(written, tmp_path, monkeypatch):
    ours = tmp_path / "options.py"
    monkeypatch.setattr(jit, "OPTIONS", ours)
    ours.write_text("fastmath = False")
    assert [written(), written()] == [(6, 1), (6, 0)]
    ours.write_text("fastmath = True")
    assert [written(), written()] == [(6, 1), (6, 0)]


def test_files_of_a_kernel_as_it_was_are_removed(written, tmp_path):
    for more in range(3):
        written(more=more)
    assert len(list(tmp_path.rglob("*.nbc"))) == 1


def test_a_folder_that_cannot_be_written_to_is_left_as_it_is(written, monkeypatch):
    written()
    monkeypatch.setattr("os.unlink", lambda path: (_ for _ in ()).throw(PermissionError(path)))
    assert written(more=1)[0] == 8


def test_a_checkout_that_cannot_be_written_to_keeps_its_kernels_in_the_users_folder(written, tmp_path, monkeypatch):
    (tmp_path / "made_up" / "__pycache__").write_text("a file stands where the folder would")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert written() == (6, 1)
    assert written() == (6, 0)
    assert len(list((tmp_path / "user").rglob("*.nbc"))) == 1


def test_kernels_are_compiled_anew_where_nothing_can_be_kept(written, tmp_path, monkeypatch):
    for name in ("made_up/__pycache__", "user"):
        (tmp_path / name).write_text("a file stands where the folder would")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert [written()[0], written()[0]] == [6, 6]


def test_what_a_kernel_within_another_raises_is_heard_also_of_one_that_was_kept(written):
    for compiled in (1, 0):
        assert written() == (6, compiled)
        with pytest.raises(ValueError, match="less than nothing"):
            sys.modules["made_up.entry"].told(-1)


def test_kernels_of_other_options_are_told_apart(written):
    written()
    assert sys.modules["made_up.entry"].infinite(0.0) == float("inf")
    with pytest.raises(ZeroDivisionError):
        sys.modules["made_up.entry"].refused(0.0)


class Pair(NamedTuple):
    """What a user's own kernel may be given."""

    values: np.ndarray
    more: float


def test_a_users_own_kernels_are_compiled_as_numba_does() -> None:
    @njit
    def summed(pair):
        with objmode(total="float64"):
            total = float(sum(pair.values))
        return total + pair.more

    pair = Pair(np.ones(3), 1.0)
    assert summed(pair) == 4.0


def test_nothing_of_numba_is_replaced_by_the_engine() -> None:
    """Every class of numba's, and every attribute of one, is still made by numba after a run."""
    owners = [kind for name, module in sorted(sys.modules.items()) if name.startswith("numba.") for kind in vars(module).values()]
    classes = [kind for kind in owners if isinstance(kind, type) and kind.__module__.startswith("numba.")]
    replaced = [
        f"{kind.__qualname__}.{name}"
        for kind in dict.fromkeys(classes)
        for name, member in vars(kind).items()
        if str(getattr(member, "__module__", "")).partition(".")[0] in ("engine", "emberpool")
    ]
    models = [model for model in default_manager._handlers.values() if model.__module__.startswith("engine")]
    assert len(classes) > 500 and replaced == models == []


@pytest.mark.slow
def test_numbers_are_the_same_where_a_user_has_disabled_compilation(written, tmp_path):
    written()
    code = (
        "import numba, numpy; from made_up.entry import infinite, place, told; from engine.api import estimate;"
        "own = type(numba.njit(lambda x: x)).__name__;"
        "print(told(1), infinite(0.0), place(numpy.arange(9.0)), len(told.overloads), own, end=' ');"
        "print(estimate('tiny')[0].results['Step time [ms]'])"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout == f"6 inf 3 1 function {estimate('tiny')[0].results['Step time [ms]']}\n"
