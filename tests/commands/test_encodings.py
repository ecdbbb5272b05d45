"""Does a command end as it would, and legibly, where standard output lacks some characters? Are files UTF-8 everywhere?"""

import ast
import codecs
import os
import re
import subprocess
import sys
from collections.abc import Callable
from encodings.aliases import aliases
from io import BytesIO, TextIOWrapper
from pathlib import Path
from zipfile import ZipFile

import pytest

from engine.__main__ import main
from engine.artefact import RESULT, pack_artefact, read_artefact
from engine.commands import output, scenario_arguments, torchrec
from engine.core.part_files.folder import parsed
from engine.errors import BadFile
from engine.estimate import estimate
from engine.measure.here.read_back import FIRST_MACHINE_FILE, read_trials
from engine.scenario.presets import preset, scenario_file
from engine.torchrec.answer import read_request
from engine.torchrec.plan_json import read_plan
from engine.torchrec.sharding_plan import RankLayout
from engine.user_text import decoded, json_content
from engine.validation.accepted import read_record
from engine.validation.studies import study_file
from engine.workload.readers.mapping import read_mapping
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


PART = (ROOT / "engine/hardware/catalog/media/optane-100.toml").read_text(encoding="utf-8")
STUDY = study_file.STORED_PROTECTIONS.read_text(encoding="utf-8")
TABLE = '[{"num_embeddings": 100, "embedding_dim": 8, "name": "a", "feature_names": ["f"]}]'
PLAN = '{"a": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1]}}'


def scenario_of(path: Path) -> object:
    return scenario_file(path)


def mapping_of(path: Path) -> object:
    return read_mapping(path.with_suffix(""))


def table_list_of(path: Path) -> object:
    return scenario_arguments._read_tables(path)


def torchrec_of(option: str) -> Callable[[Path], object]:
    """Return a reading of one of the files that `torchrec` takes, beside others."""

    def read(path: Path) -> object:
        texts = {
            "listing": TABLE,
            "topology": '{"world_size": 2}',
            "pooling": "{}",
            "plan": "",
            option: torchrec._text(str(path)),
        }
        request = read_request(preset("tiny").scenario, *(texts[name] for name in ("listing", "topology", "pooling")), {})
        return request, texts["plan"] and read_plan(texts["plan"], request.tables, RankLayout(2, 2))

    return read


# Each text file that users hand over, but for data files: how it is read, and a text of it.
USER_TEXTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "part.toml": (parsed, PART),
    "scenario.toml": (scenario_of, 'preset = "tiny"\n[knobs]\nrun.batches = 20\n'),
    "clicks.csv.toml": (mapping_of, 'label = "click"\nids = ["user"]\n'),
    "tables.csv": (table_list_of, "Table,Rows\na,100\n"),
    "study.jsonl": (study_file.read_study, STUDY),
    "accepted.json": (read_record, (ROOT / "presets/accepted.json").read_text(encoding="utf-8")),
    "trials.json": (lambda path: read_trials(path.name, path.read_bytes()), FIRST_MACHINE_FILE.read_text(encoding="utf-8")),
    "listing.json": (torchrec_of("listing"), TABLE),
    "topology.json": (torchrec_of("topology"), '{\n"world_size": 2\n}'),
    "pooling.json": (torchrec_of("pooling"), '{"f": 3}'),
    "plan.json": (torchrec_of("plan"), PLAN),
}
LINE_ENDS_AND_MARKS = {
    "a byte order mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "Windows line ends": lambda text: text.replace("\n", "\r\n").encode(),
    "both": lambda text: codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("name", USER_TEXTS)
def test_a_users_text_reads_the_same_with_a_mark_and_with_windows_line_ends(name: str, tmp_path: Path) -> None:
    read, content = USER_TEXTS[name]
    path = tmp_path / name
    path.write_bytes(content.encode())
    plain = read(path)
    for change, encode in LINE_ENDS_AND_MARKS.items():
        path.write_bytes(encode(content))
        assert read(path) == plain, change


@pytest.mark.parametrize("name", USER_TEXTS)
def test_a_users_text_in_another_encoding_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    read, content = USER_TEXTS[name]
    path = tmp_path / name
    for encoding, called in {"utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "utf-32": "UTF-32"}.items():
        path.write_bytes(content.encode(encoding))
        with pytest.raises(BadFile, match=rf"{re.escape(name)}:1: the text is {called}, .* save it as UTF-8"):
            read(path)
    path.write_bytes(b"\n\xe9\n" + content.encode())
    with pytest.raises(BadFile, match=rf"{re.escape(name)}:2: byte 0xe9 is not UTF-8; .*Windows-1252; save it as UTF-8"):
        read(path)


def test_the_check_of_a_part_names_the_encoding_and_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "media" / "mine.toml"
    path.parent.mkdir()
    path.write_bytes(codecs.BOM_UTF8 + PART.encode())
    assert main(["list", "devices", "--check", str(path)]) == 0
    assert main(["list", "devices", "--parts-dir", str(tmp_path)]) == 0
    capsys.readouterr()
    path.write_bytes(b"# a\n# \xe9\n" + PART.encode())
    assert main(["list", "devices", "--check", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"{path}:2: byte 0xe9 is not UTF-8")


def with_first_key_twice(content: str) -> str:
    """Return a JSON text whose innermost first object has its first key twice, with another value before."""
    match = re.search(r'\{\s*("[^"]+"):', content)
    assert match
    return f"{content[: match.start()]}{{{match[1]}: null, {content[match.start() + 1 :]}"


def with_number(content: str, number: str) -> str:
    """Return a JSON text with another number in the place of its first."""
    return re.sub(r"(?<=: )-?\d[\d.e+-]*", number, content, count=1)


JSON_TEXTS = {name: text for name, text in USER_TEXTS.items() if name.endswith((".json", ".jsonl"))}


@pytest.mark.parametrize("name", JSON_TEXTS)
def test_a_key_that_stands_twice_in_a_users_json_is_refused_by_name(name: str, tmp_path: Path) -> None:
    read, content = JSON_TEXTS[name]
    path = tmp_path / name
    path.write_text(with_first_key_twice(content), encoding="utf-8")
    key = re.search(r'\{\s*"([^"]+)"', content)
    with pytest.raises(BadFile, match=rf"has the key '{re.escape(key[1] if key else '')}' 2 times in one object; keep one"):
        read(path)


@pytest.mark.parametrize("name", [name for name in JSON_TEXTS if name != "plan.json"])
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_in_a_users_json_is_refused(name: str, number: str, tmp_path: Path) -> None:
    read, content = JSON_TEXTS[name]
    path = tmp_path / name
    path.write_text(with_number(content, number), encoding="utf-8")
    with pytest.raises(BadFile, match=rf"has {re.escape(number)} as a number; write a finite number"):
        read(path)


def test_a_key_that_stands_twice_in_an_artefact_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.zip"
    whole = pack_artefact(estimate(preset("tiny").scenario), "estimate")
    with ZipFile(BytesIO(whole)) as archive, ZipFile(path, "w") as edited:
        for member in archive.namelist():
            content = archive.read(member).decode()
            edited.writestr(member, with_first_key_twice(content) if member == RESULT else content)
    with pytest.raises(BadFile, match=rf"{RESULT} has the key 'scenario' 2 times in one object"):
        read_artefact(path)


def test_the_same_key_in_other_objects_stays_possible() -> None:
    assert json_content('{"a": {"b": 1}, "c": [{"b": 2}, {"b": 3}]}', "it") == {"a": {"b": 1}, "c": [{"b": 2}, {"b": 3}]}


WIDE = {
    b"a\0b\0": "UTF-16",
    b"\0a\0b": "UTF-16",
    b"a\0": "",  # too short to tell
    b"a\0b": "",
    b"abcd": "",
    b"a\0" * 9 + b"ab": "UTF-16",  # nine letters in ten
    b"a\0" * 8 + b"ab": "",
    b"a\0" * 450 + b"ab" * 50 + b"ab" * 500: "UTF-16",  # of the first thousand bytes
    b"a\0" * 449 + b"ab" * 51 + b"a\0" * 500: "",
    b"a\0" * 450 + b"ab" * 49 + b"abab": "UTF-16",
    codecs.BOM_UTF32_LE + b"a\0\0\0": "UTF-32",
    codecs.BOM_UTF16_LE + b"a\0": "UTF-16",
}


@pytest.mark.parametrize("content", WIDE, ids=range(len(WIDE)))
def test_an_encoding_of_two_bytes_shows_in_nine_of_ten_letters(content: bytes) -> None:
    if WIDE[content]:
        with pytest.raises(BadFile, match=f"the text is {WIDE[content]}, but it must be UTF-8"):
            decoded(content, "it")
    else:
        assert decoded(content, "it") == content.decode()


def test_a_key_and_a_number_are_shown_by_their_first_60_letters() -> None:
    for letters in (60, 61):
        key = '"' + "k" * letters + '"'
        with pytest.raises(BadFile, match=f"has the key '{'k' * 60}' 2 times"):
            json_content(f"{{{key}: 1, {key}: 2}}", "it")
