"""Does the wheel work with the oldest packages that it allows, and with the newest? Do the pinned ones lie between?

The wheel answers for its commands. The engine's tests run in the checkout, with the packages of the wheel's environment.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = {requirement.name: requirement for requirement in map(Requirement, PROJECT["dependencies"])}
FLOORS = [f"{name}=={bound.version}" for name, each in REQUIREMENTS.items() for bound in each.specifier if bound.operator == ">="]
EXPLORER = {"streamlit", "vl-convert-python"}  # packages that only the explorer needs
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "simpy", "vl-convert-python")  # packages that the tests below need
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "emberpool", "engine", "presets")
COMMANDS = """
--help
list knobs
run --preset tiny --set run.batches=20 --csv -
run --preset tiny --estimate --artefact run.zip
verify run.zip
decide --preset tiny --quick
enough --preset tiny
sweep --preset tiny --axis machine.cxl_bandwidth_GBps=8,16 --set run.batches=20 --jobs 2 --store store.sqlite --csv -
search --preset tiny --axis machine.cxl_bandwidth_GBps=8,16 --evaluations 10 --csv -
campaign --preset tiny --mtbf gpu-crash=6 --days 14
cite --preset tiny
"""
TESTS = {  # by the packages that these tests would find too old or too new
    "numba and numpy": ("tests/results", "tests/run/test_run.py", "tests/training/test_training_step.py"),
    "threadpoolctl": ("tests/core/test_arithmetic.py",),
    "scipy": ("tests/insight/test_fitting.py", "tests/measure/test_fitted.py", "tests/sweep/test_sweep.py"),
    "optuna": ("tests/analysis/test_search.py",),
    "pandas, pyarrow and joblib": (
        "tests/api/test_frames.py",
        "tests/api/test_data_files.py",
        "tests/workload/readers/test_ids.py",
    ),
    "altair": ("tests/api/test_display.py",),
}
ESTIMATES = """import json
import emberpool as ep
tables = {name: ep.estimate(name) for name in ep.presets()["name"]}
tables |= {sample: ep.sweep("tiny", "cxl_bandwidth_GBps=8:64", sample=sample) for sample in ("sobol:16", "lhs:16")}
print(json.dumps({name: [result.results for result in table] for name, table in tables.items()}))
"""
Environments = dict[str, Path]  # folders of virtual environments, by the age of their packages


def pins(file: str) -> dict[str, str]:
    """Return the versions that a requirements file pins, by package."""
    return dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / file).read_text(encoding="utf-8"), re.M))


def test_pinned_packages_lie_between_the_wheels_bounds() -> None:
    pinned = pins("requirements.txt")
    assert pinned.keys() - EXPLORER == REQUIREMENTS.keys()
    assert [name for name, requirement in REQUIREMENTS.items() if pinned[name] not in requirement.specifier] == []
    assert len(FLOORS) == len(REQUIREMENTS)


def install(environment: Path, *wanted: str) -> None:
    """Install packages into a virtual environment."""
    subprocess.run([environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", *wanted], check=True)


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """Return an environment of the oldest packages that the wheel allows, and one of the newest."""
    folder = tmp_path_factory.mktemp("floors")
    pip = [sys.executable, "-m", "pip"]
    probe = [*pip, "download", "--quiet", "--no-deps", "--no-cache-dir", "--retries", "0", "-d", folder, FLOORS[-1]]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip(f"pip reaches no package registry: it finds no {FLOORS[-1]}")
    (folder / "source").mkdir()
    for name in SOURCES:  # a copy, as a build leaves files beside the sources, which the next wheel would hold too
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / "source" / name)
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, folder / "source"], check=True)
    (wheel,) = folder.glob("emberpool-*.whl")
    versions = pins("requirements.txt") | pins("requirements-dev.txt")
    tools = [f"{name}=={versions[name]}" for name in TOOLS]
    for age, floors in {"oldest": FLOORS, "newest": []}.items():
        venv.create(folder / age, symlinks=True, with_pip=True)
        (folder / age / "home").mkdir()
        install(folder / age, str(wheel), *floors, *tools)
    return {age: folder / age for age in ("oldest", "newest")}


def output(environment: Path, command: str, *words: str, place: Path | None = None) -> str:
    """Return what a command of an environment prints, with its own home, kernels and temporary files."""
    home = environment / "home"
    outside = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "EMBERPOOL", "NUMBA"))}
    variables = outside | {"HOME": str(home), "NUMBA_CACHE_DIR": str(home / "kernels"), "TMPDIR": str(home)}
    done = subprocess.run(
        [environment / "bin" / command, *words], cwd=place or home, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command} {' '.join(words)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_the_commands_of_the_readme_work_from_the_wheel(environments: Environments, age: str) -> None:
    for command in COMMANDS.strip().splitlines():
        assert output(environments[age], "emberpool", *command.split()).strip(), command
    assert "streamlit" not in output(environments[age], "pip", "list")


@pytest.mark.slow
@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_the_engines_tests_pass(environments: Environments, age: str) -> None:
    files = [file for those in TESTS.values() for file in those]
    options = ("-o", "addopts=", "-p", "no:cacheprovider", "-q", "-n", "2", "-m", "not slow and not browser")
    output(environments[age], "python", "-m", "pytest", *options, *files, place=ROOT)


@pytest.mark.slow
def test_oldest_and_newest_packages_give_the_same_estimates(environments: Environments) -> None:
    """NumPy's exp and log may differ in the last digit from version to version."""
    oldest, newest = (json.loads(output(environments[age], "python", "-c", ESTIMATES)) for age in ("oldest", "newest"))
    assert len(oldest) > 20 and oldest.keys() == newest.keys()
    for name, rows in oldest.items():
        assert len(newest[name]) == len(rows)
        for row, newest_row in zip(rows, newest[name], strict=True):
            numbers = {result: value for result, value in row.items() if isinstance(value, float)}
            assert {**row, **newest_row, **numbers} == row and row.keys() == newest_row.keys(), name
            assert {result: newest_row[result] for result in numbers} == pytest.approx(numbers, rel=1e-12, abs=0.0), name
