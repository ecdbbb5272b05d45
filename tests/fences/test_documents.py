"""Documents: short sentences, a heading a screen, links that lead somewhere, and an API page that is up to date."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from engine.version import MODEL
from tests import ROOT
from tests.cases import each

WORDS = {"README.md": 18.0, "CHANGELOG.md": 14.0, "CONTRIBUTING.md": 16.0}  # a sentence, in the mean; OTHERS elsewhere
OTHERS, OF_MODEL = 20.5, 18.0  # the aim is 20 in all
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MOST_CHARACTERS, OF_CHANGELOG = 2100, 3000  # under a heading, in the mean; the aim is 1,500
SHOWN = re.compile(r"^!\[[^\]]*\]\([^)]+\.png\)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)]*))?\)")


def _picture_script() -> Any:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


PICTURE_SCRIPT = _picture_script()
PICTURES = PICTURE_SCRIPT.PAGES


def prose(text: str) -> list[str]:
    """Return the sentences of a document, without code, formulas, tables, headings and pictures."""
    text = re.sub(r"^```.*?^```|^\$\$\n.*?^\$\$$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "!", "    "))]
    blocks = re.split(r"\n\s*\n|^\s*(?:-|\d+\.) ", "\n".join(lines), flags=re.MULTILINE)
    sentences = [sentence for block in blocks for sentence in re.split(r"(?<=[.!?])\s+", block)]
    return [sentence for sentence in sentences if re.search(r"\w", sentence)]


@each("path", DOCUMENTS)
def test_documents_are_short_of_breath(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    name = str(path.relative_to(ROOT))
    limit = WORDS.get(name, OF_MODEL if path.parent.name == "model" else OTHERS)
    assert mean(len(sentence.split()) for sentence in prose(text)) <= limit
    headings = len(re.findall(r"^#+ ", text, flags=re.MULTILINE))
    assert headings and len(text) / headings <= (OF_CHANGELOG if name == "CHANGELOG.md" else MOST_CHARACTERS)


@each("path", DOCUMENTS)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        place = path.parent / target if target else path
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), (target, anchor)


def test_no_command_of_dask_opens_its_status_pages_to_the_network() -> None:
    text = "\n".join(path.read_text(encoding="utf-8").replace("\\\n", "") for path in DOCUMENTS)
    commands = re.findall(r"dask (?:scheduler|worker) [^\n`]*", text)
    assert len(commands) >= 5
    for command in commands:
        assert " --dashboard-address 127.0.0.1:" in command, command
        assert " --host " in command or " --interface " in command, command


def test_scheduler_and_workers_of_dask_have_the_engine_on_their_path() -> None:
    blocks = [
        block for path in DOCUMENTS for block in re.findall(r"```(?:sh|bash)\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    ]
    with_dask = [block for block in blocks if re.search(r"\bdask (?:scheduler|worker) ", block)]
    assert len(with_dask) >= 2
    for block in with_dask:
        begin = re.split(r"\bdask (?:scheduler|worker) ", block)[0]
        assert re.search(r"^export .*\bPATH=\S+/\.venv/bin:\$PATH .*\bPYTHONPATH=", begin, re.MULTILINE), block


KEPT = (  # how sources name files in .emberpool or beside the store
    ("engine pages", r'\.emberpool(?:"\)? ?/ ?"|/)([\w.]+)'),
    ("pages", r'STORE\.with_name\("([^"]+)"\)'),
    ("engine/store", r'store_path\.parent / "([\w.]+)"'),
    ("engine/store engine/service", r'f"\{(?:path|self\.store)\}(\.[a-z]+)'),
)


def test_the_table_of_what_is_kept_has_every_file_that_the_sources_name() -> None:
    table = re.search(r"^\| file or folder .*?\n\n", (ROOT / "docs/store.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert table
    listed = set(re.findall(r"`([\w.]+)`", "\n".join(line.split("|")[1] for line in table[0].strip().splitlines())))
    sources = [
        (pattern, path.read_text("utf-8"))
        for rooms, pattern in KEPT
        for room in rooms.split()
        for path in (ROOT / room).rglob("*.py")
    ]
    named = {name for pattern, text in sources for name in re.findall(pattern, text)}
    assert {f"store.sqlite{name}" if name.startswith(".") else name for name in named} == listed - {"kernels"}


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as MkDocs makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("script", ["api_document.py", "validation_document.py"])
def test_a_page_that_a_script_writes_is_up_to_date(script: str) -> None:
    done = subprocess.run([sys.executable, f"scripts/{script}", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_each_picture_says_which_model_version_drew_it(capsys: pytest.CaptureFixture[str]) -> None:
    shown = [path for path in DOCUMENTS if SHOWN.search(path.read_text(encoding="utf-8"))]
    assert len(shown) >= 4 and all(path in PICTURE_SCRIPT.DOCUMENTS for path in shown)
    for path in shown:
        assert PICTURE_SCRIPT.captioned(path) == path.read_text(encoding="utf-8"), (
            f"{path}: python scripts/pictures.py --captions"
        )
    with capsys.disabled():  # a warning, which fails no suite: a new model version makes all pictures older
        for line in PICTURE_SCRIPT.older_pictures():
            print(f"\nWarning: {line}, and the model is {MODEL}.", end="")


def test_an_older_picture_is_named_and_its_caption_is_that_of_its_file(tmp_path: Path) -> None:
    png = (ROOT / "docs" / "start.png").read_bytes()
    assert PICTURE_SCRIPT.model_of(PICTURE_SCRIPT.stamped(png, "0.7")) == "0.7"
    assert len(PICTURE_SCRIPT.older_pictures("0.7")) == len([*(ROOT / "docs").glob("*.png")])
    (tmp_path / "new.png").write_bytes(PICTURE_SCRIPT.stamped(png, "0.7"))
    document = tmp_path / "page.md"
    for caption in ("", "*Model version 0.6.*\n"):
        document.write_text(f"![New](new.png)\n{caption}\nText.\n", encoding="utf-8")
        assert PICTURE_SCRIPT.captioned(document) == "![New](new.png)\n*Model version 0.7.*\n\nText.\n"


def test_decisions_fit_a_screen() -> None:
    decisions = sorted((ROOT / "docs" / "adr").glob("0*.md"))
    assert 0 < len(decisions) <= 20
    for path in decisions:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 45 and all(f"## {part}" in text for part in ("Context", "Decision", "Consequences"))
        assert f"]({path.name})" in (path.parent / "README.md").read_text(encoding="utf-8")


def test_each_control_of_the_security_page_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8").partition("## Threats and controls")[2]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| threat")]
    assert rows and all("`tests/" in row or row.endswith("| the same |") for row in rows)
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), (path, name)
