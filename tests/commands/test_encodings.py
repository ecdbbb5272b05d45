"""Does a command end as it would, and legibly, where standard output lacks some characters? Are files UTF-8 everywhere?"""

import ast
import codecs
import os
import re
import subprocess
import sys
from encodings.aliases import aliases
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.commands import output
from tests import ROOT
from tests.house import files, nodes, text

ENCODINGS = ("cp932", "cp936", "cp949", "iso8859-2", "koi8-r", "cp437", "ascii")
TINY = "--preset tiny"
QUICK = (f"run {TINY} --estimate", "run --preset nope", "list devices", "list metrics", f"cite {TINY}", "run --help", "--help")
SLOWER = (
    f"enough {TINY}",
    f"campaign {TINY} --mtbf gpu-crash=6 --days 1 --seeds 1",
    f"sweep {TINY} --estimate --axis system=pmem,cxl --csv - --pareto",
)


class Streams:
    """Standard output and error of an encoding, that of a terminal abroad."""

    def __init__(self, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.encoding, self.out, self.err = encoding, BytesIO(), BytesIO()
        for name, raw in (("stdout", self.out), ("stderr", self.err)):
            monkeypatch.setattr(sys, name, TextIOWrapper(raw, encoding=encoding))

    def run(self, command: str) -> tuple[int, str]:
        """Return the exit status and what was written to both."""
        try:
            status = main(command.split())
        except SystemExit as end:
            status = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        return status, (self.out.getvalue() + self.err.getvalue()).decode(self.encoding)


def everywhere(command: str, encodings: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, whole = Streams("utf-8", monkeypatch).run(command)
    for encoding in encodings:
        codecs.lookup(encoding)
        assert Streams(encoding, monkeypatch).run(command) == (status, whole.encode(encoding, output.LEGIBLE).decode(encoding))


@pytest.mark.parametrize("command", QUICK)
def test_a_command_ends_as_it_would_in_every_encoding(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere(command, ENCODINGS, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("command", SLOWER)
def test_a_longer_command_ends_as_it_would_in_ascii(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere(command, ("ascii",), monkeypatch)


def test_a_unit_stays_legible_where_its_sign_is_lacking() -> None:
    assert "79 µs ± 2 ×".encode("ascii", output.LEGIBLE) == b"79 us +- 2 x"
    assert "é ｶ \udcff 日".encode("ascii", output.LEGIBLE) == b"e ? ? ?"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", output.LEGIBLE)


def test_every_sign_of_the_engine_has_its_like_in_ascii() -> None:
    signed = (path for path in files("engine") if not text(path).isascii())
    texts = (node.value for path in signed for node in nodes(path) if isinstance(node, ast.Constant))
    signs = {sign for said in texts if isinstance(said, str) for sign in said if not sign.isascii()}
    drawn = set("├─│└\ufffd")  # trees in docstrings, and a character that says itself that another is lacking
    assert {sign for sign in signs - drawn if "?" in sign.encode("ascii", output.LEGIBLE).decode()} == set()


def test_no_encoding_of_python_refuses_a_report() -> None:
    report = "79 µs ± 2 × ≤ é 日 \udcff …\n"
    for encoding in sorted({*aliases.values()} - {"mbcs", "oem"}):
        if codecs.lookup(encoding)._is_text_encoding and not encoding.startswith(("utf", "idna", "punycode")):
            stream = TextIOWrapper(BytesIO(), encoding=encoding)
            stream.reconfigure(errors=output.LEGIBLE)
            stream.write(report)
            stream.flush()


def test_a_closed_output_is_a_sentence_and_a_closed_error_is_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["list", "metrics"]) == 2
    assert capsys.readouterr().err == "Standard output is closed; name a file instead.\n"
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["run", "--preset", "nope"]) == 2
    sys.stderr.close()
    assert capsys.readouterr().out == ""


def test_files_are_utf_8_and_names_any_bytes_in_a_foreign_locale(tmp_path: Path) -> None:
    foreign = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "cp932"}
    name = os.fsdecode(b"\xe3\x83\x87.toml")
    (tmp_path / name).write_text('preset = "tiny"\n[knobs]\n', encoding="utf-8")
    words = [sys.executable, "-m", "engine", "run", "--estimate", "--scenario", tmp_path / name, "--json", tmp_path / "r.json"]
    found = subprocess.run(words, cwd=ROOT, env=foreign, capture_output=True, check=True)
    assert "CXL" in found.stdout.decode("cp932") and found.stderr == b""
    assert main(["run", "--estimate", *TINY.split(), "--json", str(tmp_path / "here.json")]) == 0
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == (tmp_path / "here.json").read_text(encoding="utf-8")


def test_every_text_that_is_read_or_written_names_its_encoding() -> None:
    places = [*files("engine"), *files("pages"), *files("emberpool"), *files("scripts"), Path("app.py")]
    bare = []
    for path in (path for path in places if re.search(r"open\(|_text\(|NamedTemporaryFile", text(path))):
        for call in (node for node in nodes(path) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            binary = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and "b" in str(arg.value)]
            texts = name in ("read_text", "write_text", "fdopen", "NamedTemporaryFile") or (name == "open" and _of_path(call))
            if texts and not binary and "encoding" not in {keyword.arg for keyword in call.keywords}:
                bare.append(f"{path}:{call.lineno}")
    assert bare == []


def _of_path(call: ast.Call) -> bool:
    """Return whether a call opens a file's text: of os, archives and gzip all are bytes."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return getattr(owner, "id", "") not in ("os", "archive", "gzip", "zipfile", "webbrowser")
