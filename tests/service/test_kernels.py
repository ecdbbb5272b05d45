"""Kernels compiled before they are asked for: is each counted once, does one process do it at a time, is the stamp true?"""

import sys
import threading

import pytest

from engine.core.jit import called_kernels, entry_kernel, inner_kernel
from engine.service import kernels
from tests import HANG_SECONDS
from tests.service_fakes import wait_until


@inner_kernel
def _once(x):
    return x + 1


@inner_kernel
def _twice(x):
    return _once(_once(x))


@entry_kernel
def _thrice(x):
    return _twice(x) + _once(x)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "FOLDER", tmp_path / "kept")
    return tmp_path / "kept"


def compile_all(uses):
    said = []
    kernels.compile_all(iter(uses), said.append)
    return said


def test_a_kernel_is_made_of_all_that_it_calls():
    assert called_kernels(_thrice) == {_once, _twice, _thrice}
    assert called_kernels(_once) == {_once}


def test_what_is_compiled_once_is_not_compiled_again_until_the_code_changes(monkeypatch):
    assert not kernels.all_compiled()
    assert compile_all([None, None]) == [kernels.READY]
    assert kernels.all_compiled()
    assert compile_all([]) == []
    monkeypatch.setattr(kernels.version, "CODE", "other")
    assert not kernels.all_compiled()
    assert compile_all([None]) == [kernels.READY]


def test_what_fails_on_the_way_leaves_no_stamp():
    with pytest.raises(ZeroDivisionError):
        compile_all(1 // n for n in (1, 0))
    assert not kernels.all_compiled()


def test_others_wait_for_whoever_compiles():
    begun, go_on, waited = threading.Event(), threading.Event(), threading.Event()

    def uses():
        begun.set()
        yield go_on.wait()

    def other():
        kernels.await_compiled()
        waited.set()

    threads = [threading.Thread(target=compile_all, args=(uses(),)), threading.Thread(target=other)]
    threads[0].start()
    assert begun.wait(HANG_SECONDS)
    threads[1].start()
    assert not waited.wait(0.2)
    go_on.set()
    assert waited.wait(HANG_SECONDS)
    for thread in threads:
        thread.join()


def test_a_folder_that_cannot_be_made_keeps_no_stamp_and_nobody_waits(folder):
    folder.write_text("a file stands where the folder would")
    assert compile_all([None]) == [kernels.READY]
    kernels.await_compiled()
    assert not kernels.all_compiled()


SAYS = "import pathlib, time\nprint({!r}, flush=True)\nwhile not pathlib.Path({!r}).exists(): time.sleep(0.01)"


@pytest.mark.parametrize("says, ready", [("1 2", False), ("ready\n1 2", True)])
def test_a_process_tells_how_far_it_is_and_its_end_lets_everybody_go_on(says, ready, tmp_path):
    found = kernels.CompileProcess([sys.executable, "-c", SAYS.format(says, str(tmp_path / "end"))])
    wait_until(lambda: found.total)
    assert (found.done, found.total, found.ready.is_set()) == (1, 2, ready)
    (tmp_path / "end").touch()
    found.join(HANG_SECONDS)
    assert found.ready.is_set()


def test_a_program_that_cannot_be_started_holds_nobody_up(tmp_path):
    found = kernels.CompileProcess([str(tmp_path / "missing")])
    found.join(HANG_SECONDS)
    assert found.ready.is_set()
