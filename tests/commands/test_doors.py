"""Doors: does a command wait for nobody, read no endless file, and show a stranger's text as it is?"""

import json
import os
import subprocess
import sys
import zipfile

import pytest

from engine.errors import BadFile
from engine.paths import open_regular, read_regular
from engine.user_text import visible
from tests import HANG_SECONDS, ROOT
from tests.cases import each

ESCAPE, TURN = "\x1b]0;owned\x07\x1b[2J", "\u202egnp\u2066"
PARTS = "dram/x.toml"


def command(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "engine", *map(str, words)],
        cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS, check=False, **options,
    )  # fmt: skip


def refusal(*words, **options):
    """Return the one line that a refused command prints."""
    ended = command(*words, **options)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended
    return ended.stderr


@each(
    ("make", "cause"),
    [
        (os.mkfifo, "a pipe, which cannot be read twice"),
        (os.mkdir, "a directory"),
        (lambda path: path.symlink_to("/dev/zero"), "a device, which has no end"),
        (lambda path: None, "No such file or directory"),
    ],
)
def test_only_a_regular_file_is_opened(tmp_path_factory, make, cause):
    path = tmp_path_factory.mktemp("door") / "file"
    make(path)
    with pytest.raises(BadFile, match=cause):
        open_regular(path)


def test_a_file_of_the_most_bytes_is_read_and_one_byte_more_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345678")
    assert read_regular(path, 8) == b"12345678"
    with pytest.raises(BadFile, match="8 bytes, but at most 7"):
        read_regular(path, 7)


def test_a_file_that_says_it_is_empty_is_bounded_all_the_same():
    with pytest.raises(BadFile, match="beyond 10 bytes"):
        read_regular("/proc/self/status", 10)


@pytest.mark.slow
@each(
    "words",
    [
        ("verify", "{door}"),
        ("run", "--scenario", "{door}", "--estimate"),
        ("run", "--tables", "{door}", "--estimate"),
        ("run", "--data", "{door}"),
        ("workload", "describe", "{door}"),
        ("workload", "fit", "{door}"),
        ("torchrec", "{door}"),
        ("torchrec", "{tables}", "--topology", "{door}"),
        ("torchrec", "{tables}", "--pooling", "{door}"),
        ("torchrec", "{tables}", "--read-plan", "{door}"),
        ("list", "devices", "--check", "{parts}"),
    ],
)
def test_no_command_waits_for_a_pipe_or_reads_a_device(tmp_path_factory, words):
    folder = tmp_path_factory.mktemp("door")
    tables = folder / "tables.json"
    tables.write_text(json.dumps([{"name": "t", "num_embeddings": 100, "embedding_dim": 16, "feature_names": ["f"]}]))
    (folder / "dram").mkdir()
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        door, part = folder / "door.toml", folder / PARTS
        for path in (door, part):
            path.unlink(missing_ok=True)
            make(path)
        sentence = refusal(*[word.format(door=door, tables=tables, parts=part) for word in words])
        assert "cannot be read" in sentence, sentence


@pytest.mark.slow
def test_a_pipe_among_parts_is_named(tmp_path):
    (tmp_path / "dram").mkdir()
    os.mkfifo(tmp_path / PARTS)
    assert "it is a pipe" in refusal("list", "devices", "--parts-dir", tmp_path)


@pytest.mark.slow
def test_a_process_substitution_is_refused_with_the_way_to_pipe():
    words = f"{sys.executable} -m engine torchrec <(echo '[]')"
    ended = subprocess.run(["bash", "-c", words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and "write - or the name of a file" in ended.stderr


def test_control_characters_and_marks_of_direction_are_escaped_and_letters_stay():
    assert visible(f"a{ESCAPE}b{TURN}c") == "a\\x1b]0;owned\\x07\\x1b[2Jb\\u202egnp\\u2066c"
    plain = "Zürich µs × 東京 é e\u0301\tx\nnext\u00a0line"
    assert visible(plain) == plain


@pytest.mark.slow
def test_what_a_stranger_wrote_reaches_a_terminal_escaped(tmp_path):
    own = (ROOT / "engine/hardware/catalog/dram/ddr5-4800.toml").read_text(encoding="utf-8")
    (tmp_path / "dram").mkdir()
    title = json.dumps(f"Mine {ESCAPE}{TURN}")
    (tmp_path / "dram/mine.toml").write_text(own.replace('title = "DDR5-4800"', f"title = {title}", 1))
    header = f"label{TURN},{ESCAPE}price,c\n" + "1,2,3\n0,4,5\n" * 5
    (tmp_path / "rows.csv").write_text(header)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("result.json", "{}")
    for words in (
        ("list", "devices", "--parts-dir", tmp_path),
        ("workload", "describe", tmp_path / "rows.csv"),
        ("run", "--data", tmp_path / "rows.csv"),
        ("verify", tmp_path / "a.zip"),
        ("run", "--preset", f"tiny{ESCAPE}{TURN}"),
        ("run", "--scenario", tmp_path / f"no{TURN}ne.toml"),
    ):
        ended = command(*words)
        shown = ended.stdout + ended.stderr
        assert shown and not {"\x1b", "\x07", "\u202e", "\u2066"} & set(shown), (words, shown)
