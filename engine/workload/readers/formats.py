"""The formats of data files: recognised by name and first bytes, or named by a mapping beside the file; one reader each."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path

from ...errors import BadFile, nearest
from . import arrays, criteo, foreign, mapping
from .blocks import GZIP, MARK, Blocks, opened, shown, unchanged
from .layouts import AVAZU, EVENTS, MOVIELENS, TAOBAO, TAOBAO_ADS, TEXTS, YAMBDA, Layout
from .recording import Recording
from .samples import Watch, unwatched
from .traces import torch_save

HEAD = 1 << 16
PARQUET, ZIP, NPY = b"PAR1", b"PK\x03\x04", b"\x93NUMPY"
BY_NAME: Mapping[str, Layout] = {one.name: one for one in (*TEXTS, YAMBDA)}
NAMES = ("criteo", "torchrec", "mlperf", *BY_NAME)
TITLES = {
    AVAZU: "Avazu's click-through data",
    TAOBAO: "Taobao's UserBehavior.csv",
    TAOBAO_ADS: "Taobao's raw_sample.csv",
    MOVIELENS: "MovieLens' ratings.csv",
}


def read(path: Path | str, watch: Watch = unwatched, labels: bool = True) -> Recording:
    """Read a data file from disk; raises BadFile with the file's name and, where there is one, the line.

    `watch` is told how far the reading is, from 0 to 1, and of what. A file without `labels` is refused if they are needed.
    """
    path = Path(path)
    given, (head, packed) = mapping.content(path), _head(path)
    name, wanted = shown(path.name), str(given.get("format", ""))
    if wanted and wanted not in NAMES:
        raise BadFile(f"{mapping.name_of(path)}: format={wanted[:40]!r} is not known; {nearest(wanted[:40], NAMES)}")
    if torch_save.is_trace(path):
        mapping.refuse_idle(path, given, "a trace", mapping.KEYS)
        trace = torch_save.read(path, watch)
        raise BadFile(
            f"{name} is a trace of lookups in {trace.tables} tables, without labels and with bags of unlike sizes: "
            f"`python -m engine workload fit {name}` counts it; a run trains on data that is fitted to it."
        )
    foreign.check(path, name, head)
    if packed and head.startswith((NPY, ZIP, PARQUET)):
        raise BadFile(f"{name} is a gzipped file of arrays or Parquet; unpack it with gunzip, so that it can be mapped.")
    if head.startswith((NPY, ZIP)) or wanted in ("torchrec", "mlperf"):
        foreign.check_zip(path, name)
        mapping.refuse_idle(path, given, "arrays, whose names say what they are", mapping.KEYS[1:])
        return _unchanged(path, lambda: arrays.read(path, name))
    if head.startswith(PARQUET):
        from . import parquet  # late, as below

        mapping.refuse_idle(path, given, "Parquet, which names and parts its columns itself", mapping.TEXT_ALONE)

        def meaning(names: tuple[str, ...]) -> Layout:
            base = BY_NAME.get(wanted) or (None if given else _parquet_layout(name, names))
            return _labelled(path, mapping.layout(path, given, base) if given else base, labels)

        return _unchanged(path, lambda: parquet.read(path, name, meaning, watch))
    base = BY_NAME.get(wanted) or (None if given and wanted != "criteo" else _text_layout(name, head, wanted == "criteo"))
    layout = _labelled(path, mapping.layout(path, given, base) if given else base, labels)
    return _unchanged(path, lambda: _text(path, name, layout, watch))


def _labelled(path: Path, layout: Layout | None, labels: bool) -> Layout:
    """Return the layout; raises BadFile for one without a label where one is asked for."""
    assert layout is not None
    if labels and not layout.label:
        raise BadFile(
            f"{mapping.name_of(path)} names no label, without which a file can only be fitted and counted; write "
            'label = "COLUMN" to train on it.'
        )
    return layout


def files_of(path: Path) -> tuple[Path, ...]:
    """Return all files that belong to a data file: those beside it, and its mapping."""
    own = arrays.files(path) if path.suffix in (".npy", ".npz") else (path,)
    there = mapping.place(path)
    return (*own, there) if there else own


def digest_of(path: Path) -> str:
    """Return the SHA-256 by which links name a data file: of its bytes, or of the digests of all files that belong to it."""
    try:
        digests = []
        for one in files_of(path):
            with opened(one) as file:
                digests.append(file_digest(file, "sha256").hexdigest())  # type: ignore[arg-type]
    except OSError as error:
        raise BadFile(f"{shown(path)} cannot be read: {error.strerror or error}; give a readable file.") from error
    return digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()


def _head(path: Path) -> tuple[bytes, bool]:
    """Return a file's first bytes, unpacked if it is gzipped, and whether it is; raises BadFile."""
    with opened(path) as file:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        head = b""
        for piece in Blocks(shown(path.name), file).pieces():
            head += piece
            if len(head) >= HEAD:
                break
        return head, packed


def _unchanged(path: Path, decode: Callable[[], Recording]) -> Recording:
    """Read files that nobody may write to meanwhile; raises BadFile."""
    before = [os.stat(one) for one in files_of(path)]
    try:
        found = decode()
        return found if found.digest else replace(found, digest=digest_of(path))
    finally:
        for one, then in zip(files_of(path), before, strict=True):
            unchanged(then, os.stat(one), shown(one.name))


def _text(path: Path, name: str, layout: Layout, watch: Watch) -> Recording:
    """Read a text block by block; without a mapping its digest is of the bytes that were read."""
    from . import text_table  # late: Arrow takes a third of a second

    with opened(path) as file:
        blocks = Blocks(name, file, os.fstat(file.fileno()).st_size, watch=watch)
        found = text_table.decode(blocks, layout)
    return found if mapping.place(path) else replace(found, digest=blocks.digest())


def _parquet_layout(name: str, columns: tuple[str, ...]) -> Layout:
    if {"uid", "item_id", "timestamp", "is_organic"} <= set(columns):
        if "played_ratio_pct" not in columns:
            raise BadFile(
                f"{name} looks like a file of Yambda, but without played_ratio_pct, from which its labels follow; "
                "give listens.parquet or multi_event.parquet."
            )
        events = ("event_type", "listen") if "event_type" in columns else ()
        return replace(YAMBDA, where=events)
    raise _foreign(name, "a Parquet file", columns)


def _text_layout(name: str, head: bytes, criteo_alone: bool) -> Layout:
    """Return the layout of a text by its first line; raises BadFile."""
    first = head.removeprefix(MARK).partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    cells = tuple(cell.strip().strip('"') for cell in first.split(","))
    words = [cell.lower() for cell in cells]
    if criteo_alone or words[0] == "label" or words[:2] == ["id", "label"] or {"i1", "i13", "c26"} <= set(words):
        return criteo.layout(name, first)
    for layout in TEXTS:
        if not layout.columns and set(layout.wanted) <= set(cells):
            return layout
    if len(cells) == 5 and cells[3] in EVENTS and all(cells[at].isdigit() for at in (0, 1, 2, 4)):
        return TAOBAO
    foreign.check_text(name, first)
    if "\t" in first or len(cells) < 2 or not first.isprintable():
        return criteo.layout(name, first)
    near = [layout for layout in TEXTS if not layout.columns and len(set(layout.wanted) & set(cells)) > 1]
    raise _foreign(name, TITLES[near[0]] if near else "a table in CSV", cells, near[0] if near else None)


def _foreign(name: str, what: str, columns: tuple[str, ...], near: Layout | None = None) -> BadFile:
    lacks = f" but lacks {', '.join(one for one in near.wanted if one not in columns)[:60]}" if near else ""
    bare = all(cell.replace(".", "", 1).lstrip("-").isdigit() for cell in columns)
    there = f"its first line has {foreign.named(columns)}" if bare else f"its columns are {foreign.named(columns)}"
    more = "columns = [...], " if bare else ""
    return BadFile(
        f"{name} looks like {what}{' without a header' if bare else lacks}; {there}. Say what they mean in {name}.toml: "
        f'{more}label = "COLUMN", ids = ["COLUMN", ...].'
    )
