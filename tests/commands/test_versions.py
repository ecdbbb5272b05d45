"""Do sentences name the command that exists, and do package and command line say their versions?"""

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from engine import api, version
from engine.__main__ import COMMANDS, main
from engine.errors import nearest_hint
from tests import ROOT
from tests.house import DOCUMENTED, files, nodes

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PENDING = {"engine/workload/readers/formats.py"}  # until its sentence names `version.PROGRAM` too


@cache
def texts(path: Path) -> list[str]:
    """Return the texts of a file that are no docstring."""
    said = [node for node in nodes(path) if isinstance(node, DOCUMENTED) and ast.get_docstring(node)]
    described = {id(node.body[0].value) for node in said}
    constants = (node for node in nodes(path) if isinstance(node, ast.Constant) and id(node) not in described)
    return [node.value for node in constants if isinstance(node.value, str)]


def installed(folder: Path) -> Path:
    """Lay the package out in a folder as pip does, with its metadata."""
    package = folder / "emberpool"
    package.mkdir()
    (package / "__init__.py").write_bytes((ROOT / "emberpool" / "__init__.py").read_bytes())
    (package / "engine").symlink_to(ROOT / "engine")
    (package / "presets").symlink_to(ROOT / "presets")
    about = folder / "emberpool-9.8.7.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: emberpool\nVersion: 9.8.7\n", encoding="utf-8")
    return folder


def said(folder: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    found = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return found.stdout


def test_no_sentence_of_the_engine_names_a_command_that_an_installed_package_lacks() -> None:
    naming = {str(path) for path in files("engine") for text in texts(path) if "python -m engine" in text}
    assert naming - PENDING == {"engine/version.py"}


def test_a_checkout_says_its_module_and_the_version_of_its_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert version.PROGRAM == "python -m engine" and "`python -m engine list knobs`" in nearest_hint("?", ["x"] * 13, "knobs")
    assert api.__version__ == version.release() == PROJECT["version"]
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"emberpool {PROJECT['version']}, model {version.MODEL}, links v{version.LINK}\n"


def test_an_installed_package_says_its_command_and_the_version_of_its_metadata(tmp_path: Path) -> None:
    code = "from emberpool.engine import errors, version;"
    code += "print(version.PROGRAM, version.release(), errors.nearest_hint('?', ['x'] * 13, 'presets'))"
    assert said(installed(tmp_path), code) == "emberpool 9.8.7 there are 13; `emberpool list presets` names them all.\n"


def test_a_copy_of_the_engine_without_a_project_is_of_no_known_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "_checkout", lambda: "")
    monkeypatch.setattr(version, "_installed", lambda: "")
    assert version.release() == "0+unknown"


def test_a_sentence_that_names_a_part_of_the_command_line_names_the_program() -> None:
    words = re.compile(rf"`(?:{'|'.join(COMMANDS)}) +[\w-]")
    bare = {f"{path}: {text[:80]}" for path in files("engine") for text in texts(path) if words.search(text)}
    assert bare == set()


def test_the_package_is_a_command_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["emberpool", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("emberpool", run_name="__main__")
    assert end.value.code == 0 and capsys.readouterr().out.startswith(f"emberpool {PROJECT['version']}, model ")
