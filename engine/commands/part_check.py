"""`list devices --check`: all that is wrong with the file of one part, by line.

The catalogue refuses a file by the first fault that it meets. Each is noted, put right from a part of our own, and the file
checked again, until nothing is wrong.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core import catalog
from ..core.part_files.folder import parsed
from ..core.part_files.known import NAME
from ..errors import BadFile, BadInput, nearest
from ..version import PROGRAM
from . import output
from .parser import BAD_INPUT

MOST_FAULTS = 100
SAYS = re.compile(r"says '(?P<word>[^']*)'(?: of (?P<table>[\w-]+)[\w.-]*)?, which")
LINE, MORE = re.compile(r"at line (\d+)"), re.compile(r"(?<=\]) and \d+ more(?=;)")
HEAD = re.compile(r"\s*\[\s*(?P<head>[^\]]+?)\s*\]")
ENTRY = re.compile(r"""\s*(?P<key>"[^"]*"|'[^']*'|[\w-]+)\s*[=.]""")
Table = dict[str, Any]


def call(what: str, path: Path, kind: str | None) -> int:
    """Write what is wrong with a part's file, or that nothing is; returns the exit status."""
    if what != "devices":
        raise BadInput(f"--check goes with `{PROGRAM} list devices`, not with {what}.")
    kind = kind or path.absolute().parent.name
    if kind not in catalog.kinds():
        raise BadInput(f"{path} is of the kind {kind!r}, its folder's name, which is none; {nearest(kind, catalog.kinds())}")
    found = list(faults(path, kind))
    for line, sentence in found:
        print(f"{path}:{line}: {sentence}", file=sys.stderr)
    if not found:
        output.write(output.STANDARD, f"{path} is right: {kind} {path.stem}, {parsed(path)['title']}\n")
    return BAD_INPUT if found else 0


def faults(path: Path, kind: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the sentence of each fault in a part's file, counted from 1, in the order of lines."""
    try:
        content = parsed(path)
    except BadFile as error:
        said = _short(path, error)
        line = LINE.search(said)
        yield int(line[1]) if line else path.read_bytes().count(b"\n") if "at end of document" in said else 1, said
        return
    if not NAME.fullmatch(path.stem):
        yield 1, "cannot name a part; a file's name is of at most 40 small letters, digits, '.' and '-'."
    elif path.stem in catalog.shipped(kind) and path.absolute() != catalog.shipped(kind)[path.stem]:
        yield 1, f"has the name of a part in {catalog.shipped(kind)[path.stem]}; give the file another name."
    text = path.read_text(encoding="utf-8").splitlines()
    yield from sorted({(_line(text, key, word), said) for key, word, said in _of_content(path, kind, content)})


def _of_content(path: Path, kind: str, content: Table) -> Iterator[tuple[str, str, str]]:
    """Yield key, word within its table, and sentence of each fault, putting the content right on the way."""
    ours = catalog.content(kind, catalog.names(kind)[0])
    for used in set(catalog.kinds()) & content.keys():
        if isinstance(content[used], str) and (path.absolute().parent.parent / used / f"{content[used]}.toml").is_file():
            content[used] = ours.get(used, content[used])  # it stands beside, and is checked by itself
    done: set[str] = set()
    while len(done) < MOST_FAULTS:
        try:
            catalog.check_part(kind, path, content)
            return
        except BadFile as error:
            said = _short(path, error)
        key, word = _place(said, {*ours, *content})
        yield key, word, MORE.sub("", said)  # the others follow one by one
        if not key or key in done:
            return
        done.add(key)
        if key in ours:
            content[key] = ours[key]
        else:
            content.pop(key, None)


def _short(path: Path, error: BadFile) -> str:
    return str(error).removeprefix(f"{path} ")


def _place(said: str, keys: set[str]) -> tuple[str, str]:
    """Return the key of a file that a sentence is about, and the word within its table, "" for none."""
    if match := SAYS.match(said):
        return match["table"] or match["word"], match["word"] if match["table"] else ""
    for found in re.finditer(r"([\w-]+)((?:\.[\w-]+)*)", said):
        if found[1] in keys:
            word = found[2].rpartition(".")[2]
            behind = said[found.end() :]
            return found[1], word or ("unit" if behind.startswith(" in '") else "value" if "outside its range" in behind else "")
    return "", ""


def _line(text: list[str], key: str, word: str) -> int:
    """Return the line where a word of a key's table stands, else that of the key, else the first."""
    head, at = "", 1
    for number, line in enumerate(text, 1):
        if section := HEAD.match(line):
            head = section["head"].replace('"', "").replace("'", "")
            inside = head.partition(".")[0]
            if key and inside == key and (at == 1 or head.rpartition(".")[2] == word):
                at = number
        elif entry := ENTRY.match(line):
            name = entry["key"].strip("\"'")
            if not head and name == key:
                return number
            if word and name == word and head.partition(".")[0] == key:
                return number
    return at
