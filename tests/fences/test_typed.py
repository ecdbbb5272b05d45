"""Does mypy check every file of the engine, the pages and the tests' helpers? It leaves out a file silently where names clash."""

import subprocess
from collections.abc import Iterable

from mypy.main import process_options

from tests import ROOT

TYPED = ("engine/*.py", "pages/*.py", "app.py", "explorer.py", ":(glob)tests/*.py")  # as git reads it, `*` crosses folders


def checked(monkeypatch, arguments: Iterable[str] = ()) -> set[str]:
    """Return the files of which `make check` says "no issues found": those that mypy finds by its configuration."""
    monkeypatch.chdir(ROOT)
    return {source.path for source in process_options([*arguments])[0]}


def test_every_file_that_git_lists_is_checked_by_mypy(monkeypatch):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *TYPED]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    present = {name for name in listed if (ROOT / name).exists() and not name.startswith("tests/test_")}
    assert len(present) > 500 and checked(monkeypatch) == present


def test_a_script_that_shares_a_folders_name_would_be_missed(monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("data.py", "data/__init__.py"):
        (tmp_path / name).write_text("")
    assert {path.rpartition("/")[2] for path in checked(monkeypatch, [str(tmp_path)])} == {"__init__.py"}
