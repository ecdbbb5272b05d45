"""What a disk may hold after the power failed: what was synced, and of what was not any part, torn at sectors.

Writes since a file's last sync are kept, lost or torn one by one, whatever their order; entries of the folder
that no sync has covered are kept up to any of them. SQLite's shared index comes back as garbage, or not at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.store.disk import LINK, RENAME, SYNC, SYNC_FOLDER, TRUNCATE, UNLINK, Op

SECTORS = (512, 4096)
Image = dict[str, bytes]  # by file name


@dataclass
class Platter:
    """What is durable, and what is still on its way: of each file's content, and of the folder's entries."""

    files: dict[int, bytearray] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    writes: dict[int, list[Op]] = field(default_factory=dict)
    entries: list[Op] = field(default_factory=list)

    def take(self, op: Op) -> None:
        """Go on by one change."""
        if op.kind == SYNC:
            for write in self.writes.pop(op.file, []):
                _apply(self.files.setdefault(op.file, bytearray()), write)
        elif op.kind == SYNC_FOLDER:
            _rename(self.names, self.entries)
            self.entries = []
        elif op.kind in (LINK, RENAME, UNLINK):
            self.entries.append(op)
        elif op.kind != SYNC:
            self.writes.setdefault(op.file, []).append(op)


def _rename(names: dict[str, int], entries: Sequence[Op]) -> None:
    for op in entries:
        file = names.pop(op.name, None)
        if op.kind == RENAME and file is not None:
            names[op.content.decode()] = file
        if op.kind == LINK:
            names[op.name] = op.file


def _apply(content: bytearray, op: Op, sector: int = 0, mask: np.ndarray | None = None) -> None:
    """Write all of it, or only those pieces between multiples of `sector` that `mask` has."""
    if op.kind == TRUNCATE:
        del content[op.offset :]
        content.extend(bytes(op.offset - len(content)))
        return
    end = op.offset + len(op.content)
    content.extend(bytes(max(0, end - len(content))))
    if mask is None:
        content[op.offset : end] = op.content
        return
    for piece in np.flatnonzero(mask):
        number = op.offset // sector + int(piece)
        start, stop = max(op.offset, number * sector), min(end, (number + 1) * sector)
        content[start:stop] = op.content[start - op.offset : stop - op.offset]


def image(platter: Platter, rng: np.random.Generator) -> Image:
    """Return one state of the disk that this cut allows."""
    names = dict(platter.names)
    _rename(names, platter.entries[: rng.integers(len(platter.entries) + 1)])
    contents = {file: _content(platter, file, rng) for _, file in sorted(names.items())}
    state = {Path(name).name: contents[file] for name, file in sorted(names.items())}
    if any(name.endswith("-wal") for name in state) and rng.random() < 0.5:
        state[next(name for name in state if name.endswith("-wal"))[:-3] + "shm"] = rng.bytes(32768)
    return state


def _content(platter: Platter, file: int, rng: np.random.Generator) -> bytes:
    content = bytearray(platter.files.get(file, b""))
    mood = rng.random(3)  # how often this file's writes are kept, lost, torn: some cuts lose all, some nothing
    for op in platter.writes.get(file, []):
        fate = rng.choice(3, p=mood / mood.sum())
        if fate == 0 or (fate == 2 and op.kind == TRUNCATE):
            _apply(content, op)
        elif fate == 2:
            sector = int(rng.choice(SECTORS))
            pieces = (op.offset + len(op.content) - 1) // sector - op.offset // sector + 1
            _apply(content, op, sector, rng.random(pieces) < 0.5)
    return bytes(content)


def images(ops: Sequence[Op], count: int, seed: int, earlier_ops: Sequence[Op] = ()) -> Iterator[tuple[int, Image]]:
    """Yield `count` images, each with how many changes had been asked for when the power failed: spread over all of them.

    `earlier_ops` had been asked for already.
    """
    rng, platter = np.random.default_rng([seed, count]), Platter()
    for op in earlier_ops:
        platter.take(op)
    cuts = np.bincount(np.arange(count) * (len(ops) + 1) // count, minlength=len(ops) + 1)
    for num_ops in range(len(ops) + 1):
        for _ in range(cuts[num_ops]):
            yield num_ops, image(platter, rng)
        if num_ops < len(ops):
            platter.take(ops[num_ops])


def write_image(folder: Path, image: Image) -> None:
    """Make the folder hold the image and nothing else; names of one file share its content, to the object."""
    for path in folder.iterdir():
        path.unlink()
    path_by_content: dict[int, Path] = {}
    for name, content in image.items():
        if content and id(content) in path_by_content:
            (folder / name).hardlink_to(path_by_content[id(content)])
        else:
            (folder / name).write_bytes(content)
            path_by_content[id(content)] = folder / name
