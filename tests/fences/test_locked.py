"""Are locked/'s hashes complete, and of the releases that constraints.txt pins? Renewed by `make lock`."""

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import ROOT

LOCKED = sorted((ROOT / "locked").iterdir())
PIN = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)(?: ; ([^\\\n]+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def pins(path: Path) -> dict[str, str]:
    """Return the releases that a requirements file names, by package."""
    named = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {canonicalize_name(name): release for name, release in named}


CONSTRAINTS = pins(ROOT / "constraints.txt")


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_each_line_is_a_release_of_constraints_with_hashes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert PIN.sub("", text) == ""
    assert pins(path).items() <= CONSTRAINTS.items()


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_what_is_required_is_locked_with_all_that_it_requires(path: Path) -> None:
    locked, required = pins(path), ROOT / path.name
    assert pins(required).items() <= locked.items()
    for included in re.findall(r"^-r (.+)$", required.read_text(encoding="utf-8"), flags=re.MULTILINE):
        assert pins(ROOT / "locked" / included).items() <= locked.items()
    for name, release in locked.items():
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # of another platform, or of a set that is not installed
            continue
        needs = [Requirement(text) for text in installed.requires or ()] if installed.version == release else []
        for need in needs:
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in locked, (name, need.name)
                assert need.specifier.contains(locked[canonicalize_name(need.name)], prereleases=True), (name, str(need))


def test_each_constraint_is_locked_somewhere() -> None:
    locked = [pins(path) for path in LOCKED]
    assert {name for file in locked for name in file} == set(CONSTRAINTS)


def test_what_is_locked_is_installed_by_its_hashes() -> None:
    assert {path.name for path in LOCKED} < {path.name for path in ROOT.glob("requirements*.txt")}
    assert "hashes=--require-hashes\n" in (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
    installs = re.findall(r"pip install[^&\n]*", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert len(installs) == 1 and "--require-hashes" in installs[0]
