"""Takes the pictures of the documents from the explorer's pages; with --check says which are older than the model.

    python scripts/pictures.py [NAME ...]
    python scripts/pictures.py --captions
    python scripts/pictures.py --check

Each picture holds the model version that drew it, and its caption in the documents repeats the version. --captions writes the
captions alone. --check ends with 1 if a caption differs, and names older pictures in a warning. Pictures need Chromium and the
packages of the tests; docs/collectives.png has a script of its own, scripts/collectives_picture.py.
"""

import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen
from zlib import crc32

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engine.version import MODEL  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Page

DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
SHOWN = re.compile(r"^!\[[^\]]*\]\((?P<file>[^)]+\.png)\)\n(?:\*Model version (?P<model>[\d.]+)\.\*\n)?", re.MULTILINE)
SIGNATURE, KEYWORD = b"\x89PNG\r\n\x1a\n", b"Model version\0"
QUESTION = (  # of the README
    "preset=dlrm-kaggle&model.num_tables=200&model.num_embeddings=10000000&model.embedding_dim=128&model.pooling=30"
    "&model.bottom_mlp=13-512-256-64-128&model.optimizer=sgd&data.batch_size=8192"
)
SWEPT = "axis=machine.cxl_bandwidth_GBps:0.5,1,2,4,8,16,32&axis=system:cxl-d,cxl-b,cxl"
PAGES = {  # the address and the height of each picture
    "start": ("start", 1000),
    "decide": (f"decide?{QUESTION}", 900),
    "design": ("design?preset=dlrm-kaggle", 1000),
    "search": (f"search?preset=dlrm-kaggle&{SWEPT}", 1100),
    "failures": ("failures?preset=dlrm-kaggle", 1000),
    "data": ("data?preset=dlrm-kaggle", 1000),
}
WIDTH, MOST_SECONDS, STILL_SECONDS = 1400, 1800, 15
READY = "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
WAITING = re.compile(r"is running|starts once|searching|follows? …|is comparing|is computed|Computing|Waiting for|Running")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def stamped(png: bytes, model: str = MODEL) -> bytes:
    """Return a PNG with the model version as its first text."""
    chunk = b"tEXt" + KEYWORD + model.encode()
    head = len(SIGNATURE) + 25  # with IHDR, which comes first
    return png[:head] + struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", crc32(chunk)) + png[head:]


def model_of(png: bytes) -> str:
    """Return the model version of a stamped PNG, "" without one."""
    found = re.search(rb"tEXt" + KEYWORD + rb"([\d.]+)", png)
    return found[1].decode() if found else ""


def captioned(document: Path) -> str:
    """Return a document whose captions say the model version of each picture."""

    def with_caption(shown: re.Match[str]) -> str:
        model = model_of((document.parent / shown["file"]).read_bytes())
        return f"{shown[0].splitlines()[0]}\n*Model version {model}.*\n"

    return SHOWN.sub(with_caption, document.read_text(encoding="utf-8"))


def older_pictures(model: str = MODEL) -> list[str]:
    """Return a line for each picture of the documents that another model version drew."""
    pictures = {path.relative_to(ROOT): model_of(path.read_bytes()) for path in sorted((ROOT / "docs").glob("*.png"))}
    return [f"{path} is of model version {drawn or 'unknown'}" for path, drawn in pictures.items() if drawn != model]


def take(names: list[str]) -> None:
    """Take the named pictures, or all, with a server of their own."""
    from playwright.sync_api import sync_playwright

    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with server() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        for name in names or PAGES:
            path, height = PAGES[name]
            page = browser.new_page(viewport={"width": WIDTH, "height": height}, reduced_motion="reduce")
            page.goto(f"{address}/{path}")
            page.wait_for_selector(READY, timeout=60_000)
            (ROOT / "docs" / f"{name}.png").write_bytes(stamped(_still(page)))
            page.close()
        browser.close()


@contextmanager
def server() -> Iterator[str]:
    """Start the explorer in an empty folder; yield its address."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        started = subprocess.Popen(
            [sys.executable, str(ROOT / "explorer.py"), "--port", str(port)],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "STREAMLIT_SERVER_HEADLESS": "true"},
        )
        try:
            for _ in range(600):
                with suppress(OSError):
                    urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1)
                    break
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            started.terminate()
            started.wait(30)


def _still(page: "Page") -> bytes:
    """Return the picture of a page once it waits for no answer and has not changed for a while: answers come one by one."""
    picture, since, deadline = page.screenshot(), time.monotonic(), time.monotonic() + MOST_SECONDS
    while time.monotonic() - since < STILL_SECONDS and time.monotonic() < deadline:
        page.wait_for_timeout(1000)
        if WAITING.search(page.inner_text("[data-testid=stApp]")) or page.screenshot() != picture:
            picture, since = page.screenshot(), time.monotonic()
    return picture


def _write_captions(check: bool) -> bool:
    """Write the captions of all documents, or only compare them; return whether they differed."""
    changed = {document: text for document in DOCUMENTS if (text := captioned(document)) != document.read_text(encoding="utf-8")}
    for document, text in changed.items():
        if check:
            print(f"{document.relative_to(ROOT)}: captions differ from the pictures; run python scripts/pictures.py --captions")
        else:
            document.write_text(text, encoding="utf-8")
    return bool(changed)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if not {"--check", "--captions"} & {*arguments}:
        take(arguments)
    differs = _write_captions(check="--check" in arguments)
    for line in older_pictures():
        print(f"Warning: {line}, and the model is {MODEL}: take it again by python scripts/pictures.py.", file=sys.stderr)
    sys.exit(differs and "--check" in arguments)
