"""The package: do its examples hold, does a notebook show what it says, and does an installed wheel work outside the checkout?"""

import doctest
import json
import os
import re
import stat
import subprocess
import sys
import sysconfig
import time
import tomllib
import venv
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from engine import api
from engine.api import calls, table
from engine.errors import BadInput, BadKnob
from engine.results import citations
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from scripts import notebook
from tests import ROOT

BOOK = ROOT / "docs" / "notebook.ipynb"
THREE_LINES = """import emberpool as ep
table = ep.estimate("dlrm-kaggle", cxl_bandwidth_GBps=[8, 16, 32])
print(table.frame["Step time [ms]"].tolist())
"""


@pytest.fixture
def ep(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout the package is the engine's own face, so that kernels are compiled once."""
    monkeypatch.setitem(sys.modules, "emberpool", api)
    assert api.Table is table.Table


LONG_EXAMPLE = "engine.api.calls.decide"  # searches all systems for ten seconds


def failed_examples(module: ModuleType, is_long: bool = False) -> int:
    """Run the examples of a module, all but the long one or that alone, and return how many fail."""
    runner = doctest.DocTestRunner()
    for examples in doctest.DocTestFinder().find(module):
        if (examples.name == LONG_EXAMPLE) == is_long:
            runner.run(examples)
    assert runner.tries
    return runner.failures


@pytest.mark.usefixtures("ep")
@pytest.mark.parametrize("module", [api, calls, citations], ids=lambda module: module.__name__)
def test_examples_in_docstrings_hold(module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert not failed_examples(module)


@pytest.mark.slow
@pytest.mark.usefixtures("ep")
def test_the_long_example_in_a_docstring_holds() -> None:
    assert not failed_examples(calls, is_long=True)


@pytest.mark.usefixtures("ep")
def test_the_notebook_shows_what_its_cells_show_now(monkeypatch: pytest.MonkeyPatch) -> None:
    book = json.loads(BOOK.read_text(encoding="utf-8"))
    assert notebook.differing(book) == []
    monkeypatch.setattr(api, "estimate", lambda *_, **__: SimpleNamespace(frame=SimpleNamespace(iloc={}), chart=print))
    with pytest.raises((KeyError, TypeError)):
        notebook.differing(book)


def test_every_name_of_the_face_is_there_and_described() -> None:
    text = (ROOT / "emberpool" / "__init__.py").read_text(encoding="utf-8")
    assert set(re.findall(r'^    "(\w+)",$', text, re.M)) == set(api.__all__) == set(re.findall(r"^    (\w+),$", text, re.M))
    assert all(getattr(api, name).__doc__ for name in api.__all__)


def test_the_package_is_imported_without_what_only_files_and_crash_checks_need() -> None:
    words = [sys.executable, "-c", "import sys, emberpool; print(*sys.modules)"]
    modules = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "emberpool.engine.estimates" in modules
    assert not {"pyarrow", "pandas", "emberpool.engine.crashcheck"} & set(modules)


def test_one_point_and_many_many_jobs_and_one_give_the_same_table() -> None:
    links = [2.0, 8.0, 64.0]
    together = api.estimate("dlrm-kaggle", cxl_bandwidth_GBps=links)
    assert [one.results for one in together] == [api.estimate(cxl_bandwidth_GBps=one)[0].results for one in links]
    alone, shared = (api.run("tiny", jobs=jobs, batches=20, cxl_bandwidth_GBps=links, data__seed=[1, 2]) for jobs in (1, 2))
    assert alone.csv == shared.csv and len(alone) == 6
    assert alone.frame.equals(shared.frame) and alone.links == shared.links
    assert [one.scenario for one in alone[:2]] == [
        api.scenario("tiny", batches=20, cxl_bandwidth_GBps=2.0, data__seed=seed) for seed in (1, 2)
    ]
    assert (
        api.sweep("tiny", "system=pmem,cxl", "cxl_bandwidth_GBps=2,8").csv
        == api.estimate("tiny", system=["pmem", "cxl"], cxl_bandwidth_GBps=[2, 8]).csv
    )


def test_what_cannot_be_is_a_sentence() -> None:
    for knobs, words in (
        ({"cxl_bandwith_GBps": 8}, "cxl_bandwidth_GBps"),
        ({"seed": 1}, "data.seed and"),
        ({"cxl_bandwidth_GBps": [8, -1]}, "cxl_bandwidth_GBps"),
        ({"system": "pmem", "relaxed_lookup": "on"}, "relaxed_lookup"),
    ):
        with pytest.raises(BadKnob, match=words):
            api.estimate("dlrm-kaggle", **knobs)
    with pytest.raises(BadInput, match=r"Step time"):
        api.estimate("tiny").spec("Step time")
    full = api.estimate("dlrm-terabyte", system="all-hbm")
    assert not full[0].ran and full.frame["Outcome"][0] == full[0].outcome


def test_a_link_of_another_version_opens_with_a_warning() -> None:
    address = api.link(api.scenario("tiny"))
    with pytest.warns(UserWarning, match="0.1"):
        api.load(re.sub("model=[^&]*", "model=0.1", address))
    with pytest.warns(UserWarning, match="is a sweep over"):
        api.load(address + "&axis=machine.cxl_bandwidth_GBps:8,16")


def test_what_a_result_used_is_cited_and_nothing_else() -> None:
    entry = re.compile(r"@(\w+)\{([^,]+),\n((?:  \w+ = \{.*\},\n)+)\}\n")
    for name in preset_names():
        text = citations.bibtex(preset(name).scenario)
        found = entry.findall(text)
        assert "".join(f"@{kind}{{{key},\n{rest}}}\n\n" for kind, key, rest in found) == text + "\n"
        keys = [key for _, key, _ in found]
        assert len(keys) == len(set(keys)) and all(text.count("{") == text.count("}") for *_, text in found)
    kaggle = preset("optane-kaggle").scenario
    ours, theirs = (citations.bibtex(with_values(kaggle, {"system": name})) for name in ("cxl", "bagpipe"))
    assert "agarwal2022bagpipe" in theirs and "agarwal2022bagpipe" not in ours
    assert "llama2024herd" in citations.bibtex(with_values(kaggle, {"faults.rates": "llama3"}))
    assert "llama2024herd" not in ours


def test_every_work_is_cited_by_something() -> None:
    """A name that no source has any more would go unnoticed."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "engine").rglob("*.toml") if path != citations.WORKS)
    sources += "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "engine").rglob("*.py"))
    for name, work in citations._works().items():
        assert any(word in sources for word in work["named"]), name


def test_citation_file_package_and_container_agree() -> None:
    cff = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title"} <= set(cff) and cff["version"] == project["version"]
    assert cff["license"] == project["license"]
    copied = re.findall(r"^COPY --chown=emberpool (.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.M)
    assert all((ROOT / name).exists() for names in copied for name in names.split())


@pytest.mark.slow
def test_a_wheel_works_outside_the_checkout_without_network_and_where_it_cannot_write(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", tmp_path, ROOT],
        check=True,
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("*.whl")
    inside = {name.removeprefix("emberpool/") for name in zipfile.ZipFile(wheel).namelist()}
    listed = subprocess.run(["git", "ls-files", "engine", "presets"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(listed.stdout.split()) <= inside and not any(name.startswith(("tests", "pages")) for name in inside)
    venv.create(tmp_path / "empty", symlinks=True)
    (site,) = (tmp_path / "empty" / "lib").glob("python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    Path(site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
    for path in (site / "emberpool", *(site / "emberpool").rglob("*")):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    home = tmp_path / "home"
    home.mkdir()

    def python(*words: str) -> str:
        command = [str(tmp_path / "empty" / "bin" / "python"), *words]
        blas = {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}  # losses are its kernels'
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], **blas}
        return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=True).stdout

    start = time.monotonic()
    said = python("-c", THREE_LINES)
    assert time.monotonic() - start < 60.0
    assert json.loads(said) == api.estimate("dlrm-kaggle", cxl_bandwidth_GBps=[8, 16, 32]).frame["Step time [ms]"].tolist()
    assert "streamlit" not in python("-c", "import sys, emberpool; print(sorted(sys.modules))")
    axis = ("--axis", "machine.cxl_bandwidth_GBps=8,16", "--set", "run.batches=20")
    python("-m", "emberpool.engine", "sweep", "--preset", "tiny", *axis, "--store", "there.sqlite", "--csv", "there.csv")
    here = api.run("tiny", batches=20, cxl_bandwidth_GBps=[8.0, 16.0])
    assert (home / "there.csv").read_text(encoding="utf-8").splitlines()[1:] == here.csv.splitlines()[1:]
    python(
        "-c",
        "import time; from pathlib import Path; from emberpool.engine.service.service import ensure_service;"
        "from emberpool.engine.store import requests, status; from emberpool.engine.scenario.presets import preset;"
        "one = requests.submit(Path('s.sqlite'), [preset('tiny').scenario], 'estimate', keeps_on=True);"
        "print(ensure_service(Path('s.sqlite'), 1, 1.0));"
        "[time.sleep(0.1) for _ in range(300) if not status.status(Path('s.sqlite'), one).is_ended];"
        "assert status.status(Path('s.sqlite'), one).finished_points == 1",
    )
