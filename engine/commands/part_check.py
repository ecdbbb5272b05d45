"""`list devices --check`: all faults in the file of one part, by line.

The catalogue refuses a file at its first fault. Each fault is noted and corrected from a shipped part, and the file is
checked again, until it has no fault. A wrong price is taken out, as a part may have none.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core import catalog
from ..core.part_files.folder import parsed
from ..core.part_files.known import NAME
from ..errors import BadFile, BadInput, nearest_hint
from ..user_text import decoded_file
from ..version import PROGRAM
from . import output
from .parser import BAD_INPUT

MOST_FAULTS = 100
WORD_PATTERN = re.compile(r"says '(?P<word>[^']*)'(?: of (?P<table>[\w-]+)[\w.-]*)?, which")
LINE_PATTERN, MORE_PATTERN = re.compile(r"at line (\d+)|^:(\d+): "), re.compile(r"(?<=\]) and \d+ more(?=;)")
HEAD_PATTERN = re.compile(r"\s*\[\s*(?P<head>[^\]]+?)\s*\]")
KEY_PATTERN = re.compile(r"""\s*(?P<key>"[^"]*"|'[^']*'|[\w-]+)\s*[=.]""")
Table = dict[str, Any]


def call(list_name: str, path: Path, kind: str | None) -> int:
    """Write the faults in a part's file, or that there are none.

    Return the exit status.
    """
    if list_name != "devices":
        raise BadInput(f"--check can only be used with `{PROGRAM} list devices`, not with {list_name}.")
    kind = kind or path.absolute().parent.name
    if kind not in catalog.kinds():
        raise BadInput(f"{path} is in the folder {kind!r}, which is not a kind of part; {nearest_hint(kind, catalog.kinds())}")
    line_faults = list(faults(path, kind))
    for line, sentence in line_faults:
        output.tell(f"{path}:{line}: {sentence}")
    if not line_faults:
        for sentence in catalog.part_doubts(kind, path, parsed(path)):
            output.note(sentence)
        output.write_for_people(f"{path} is right: {kind} {path.stem}, {parsed(path)['title']}\n")
    return BAD_INPUT if line_faults else 0


def faults(path: Path, kind: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the sentence of each fault in a part's file.

    Lines are counted from 1 and come in order.
    """
    try:
        content = parsed(path)
    except BadFile as error:
        sentence = _without_path(path, error)
        line = LINE_PATTERN.search(sentence)
        number = int(line[1] or line[2]) if line else decoded_file(path).count("\n") if "at end of document" in sentence else 1
        yield number, sentence.partition(": ")[2] if line and line[2] else sentence
        return
    if not NAME.fullmatch(path.stem):
        yield 1, "is not a valid name of a part; a file's name has at most 40 small letters, digits, '.' and '-'."
    elif path.stem in catalog.shipped(kind) and path.absolute() != catalog.shipped(kind)[path.stem]:
        yield 1, f"has the same name as a part in {catalog.shipped(kind)[path.stem]}; give the file another name."
    text = decoded_file(path).splitlines()
    yield from sorted({(_line(text, key, word), sentence) for key, word, sentence in _of_content(path, kind, content)})


def _of_content(path: Path, kind: str, content: Table) -> Iterator[tuple[str, str, str]]:
    """Yield key, word within its table, and sentence of each fault, correcting the content on the way."""
    first_part = catalog.part_content(kind, catalog.part_names_of(kind)[0])
    own_part = {key: table for key, table in first_part.items() if not (isinstance(table, dict) and "year" in table)}
    for part_kind in set(catalog.kinds()) & content.keys():
        if (
            isinstance(content[part_kind], str)
            and (path.absolute().parent.parent / part_kind / f"{content[part_kind]}.toml").is_file()
        ):
            content[part_kind] = own_part.get(part_kind, content[part_kind])  # it stands beside, and is checked by itself
    corrected_keys: set[str] = set()
    while len(corrected_keys) < MOST_FAULTS:
        try:
            catalog.check_part(kind, path, content)
            return
        except BadFile as error:
            sentence = _without_path(path, error)
        key, word = _place(sentence, {*own_part, *content})
        yield key, word, MORE_PATTERN.sub("", sentence)  # the others follow one by one
        if not key or key in corrected_keys:
            return
        corrected_keys.add(key)
        if key in own_part:
            content[key] = own_part[key]
        else:
            content.pop(key, None)


def _without_path(path: Path, error: BadFile) -> str:
    return str(error).removeprefix(str(path)).lstrip()


def _place(sentence: str, keys: set[str]) -> tuple[str, str]:
    """Return the key of a file that a sentence is about, and the word within its table, "" for none."""
    if match := WORD_PATTERN.match(sentence):
        return match["table"] or match["word"], match["word"] if match["table"] else ""
    for mention in re.finditer(r"([\w-]+)((?:\.[\w-]+)*)", sentence):
        if mention[1] in keys:
            word = mention[2].rpartition(".")[2]
            rest = sentence[mention.end() :]
            return mention[1], word or ("unit" if rest.startswith(" in '") else "value" if "outside its range" in rest else "")
    return "", ""


def _line(text: list[str], key: str, word: str) -> int:
    """Return the line of a word in a key's table, else the line of the key, else 1."""
    head, key_line = "", 1
    for number, line in enumerate(text, 1):
        if section := HEAD_PATTERN.match(line):
            head = section["head"].replace('"', "").replace("'", "")
            table_name = head.partition(".")[0]
            if key and table_name == key and (key_line == 1 or head.rpartition(".")[2] == word):
                key_line = number
        elif key_match := KEY_PATTERN.match(line):
            name = key_match["key"].strip("\"'")
            if not head and name == key:
                return number
            if word and name == word and head.partition(".")[0] == key:
                return number
    return key_line
