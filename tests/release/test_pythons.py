"""Does each Python that README names give the same bytes of time, energy, wear, cost and answers?

A Python is found as python3.12 and so on, or in EMBERPOOL_PYTHONS, which names interpreters as PATH names folders. An interpreter
without the packages of requirements.txt gets them in an environment of its own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.release.test_floors import EXPLORER, install, pins

NAMED = re.search(r"Python ((?:3\.\d+(?:, | or )?)+)", (ROOT / "README.md").read_text(encoding="utf-8"))
PYTHONS = re.findall(r"3\.\d+", NAMED[1] if NAMED else "")
RELEASE = "import sys; print('%d.%d' % sys.version_info[:2])"
PACKAGES = [f"{name}=={version}" for name, version in pins("requirements.txt").items() if name not in EXPLORER]
CHECK = "import importlib.metadata as m; print(*('%s==%s' % (n, m.version(n)) for n in {names}))"
Digests = dict[str, str]


def printed(python: Path | str, *words: str) -> str:
    """Return what an interpreter prints, "" where it fails or there is none."""
    outside = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "COV_"))}
    try:
        done = subprocess.run([python, *words], cwd=ROOT, env=outside, stdout=subprocess.PIPE, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def interpreter(release: str) -> str:
    """Return an interpreter of a release of Python, "" where there is none."""
    listed = [path for path in os.environ.get("EMBERPOOL_PYTHONS", "").split(os.pathsep) if path]
    candidates = [sys.executable, *listed, shutil.which(f"python{release}") or ""]
    return next((path for path in candidates if path and printed(path, "-c", RELEASE) == release), "")


def has_packages(python: Path | str) -> bool:
    """Return whether an interpreter has the packages that requirements.txt pins."""
    names = [package.partition("==")[0] for package in PACKAGES]
    return printed(python, "-c", CHECK.format(names=names)).split() == PACKAGES


def digests(python: Path | str) -> Digests:
    """Return the digests of the engine's answers under an interpreter."""
    answered: Digests = json.loads(printed(python, "-m", "tests.release.digests") or "{}")
    return answered


@pytest.fixture(scope="module")
def own_digests() -> Digests:
    """Return the digests under this interpreter."""
    return digests(sys.executable)


def test_readme_names_the_pythons_that_are_compared() -> None:
    assert len(PYTHONS) > 1 and f">={PYTHONS[0]}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("release", PYTHONS)
def test_each_python_gives_the_same_bytes(release: str, own_digests: Digests, tmp_path: Path) -> None:
    python: Path | str = interpreter(release)
    if not python:
        pytest.skip(f"there is no python{release}; name it in EMBERPOOL_PYTHONS")
    if not has_packages(python):
        subprocess.run([python, "-m", "venv", tmp_path / release], check=True)
        try:
            install(tmp_path / release, *PACKAGES)
        except subprocess.CalledProcessError:
            pytest.skip(f"the packages of requirements.txt cannot be installed for Python {release}")
        python = tmp_path / release / "bin" / "python"
    other_digests = digests(python)
    assert len(other_digests) > 200 and other_digests.keys() == own_digests.keys()
    assert {name for name, digest in own_digests.items() if other_digests[name] != digest} <= {"arithmetic"}
