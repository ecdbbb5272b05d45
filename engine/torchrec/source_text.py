"""Calls in Python text, such as a pasted repr or a script, read without running anything.

Text around the calls is skipped. An argument is read if it is a literal, a list of literals, arithmetic on numbers or a dotted
name; enum members of a repr, `<DataType.FP16: 'FP16'>`, are names too. Any other expression is `Opaque`.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.figures import count
from ..errors import BadInput

MOST_CHARACTERS = 4 * 2**20  # of a text: 10,000 tables as TorchRec prints them
MOST_TOKENS = 20_000  # of one call
LINE = 200  # characters before a call in which a comment that it stands in may begin
DEEPEST = 20  # brackets in an argument that is read
LARGEST = 10**18  # of a number that arithmetic makes
TOKEN = re.compile(
    r"""(?P<blank>[\s\\]+|\#[^\n]*)
      | (?P<number>0[xX][0-9a-fA-F_]{1,20}|(?:\d[\d_]{0,40}(?:\.[\d_]{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?(?![\w.]))
      | (?P<text>[rRbBuUfF]{0,2}(?:'(?:[^'\\\n]|\\.){0,10000}'|"(?:[^"\\\n]|\\.){0,10000}"))
      | (?P<name>[^\W\d]\w{0,200}(?:\.[^\W\d]\w{0,200}){0,20})
      | (?P<angle><(?!<)(?:[^<>\n]|<[^<>\n]{0,400}>){1,400}>)
      | (?P<sign>\*\*|//|<<|->|[-+*/%()\[\]{},:=.<>@|&~^!;])""",
    re.X | re.S,
)
MEMBER = re.compile(r"<([\w.]+)(?::.*)?>", re.S)  # <DataType.FP16: 'FP16'>, or an enum of Python 3.11's short form
OPENING, CLOSING = "([{", ")]}"
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "<<": 0, "**": 4}
OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    "**": operator.pow,
}
WORDS = {"None": None, "True": True, "False": False, "null": None, "true": True, "false": False}
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


class Opaque(NamedTuple):
    """An expression that is not read, as written."""

    text: str


class Symbol(NamedTuple):
    """A dotted name, such as DataType.FP16."""

    name: str


class SourceCall(NamedTuple):
    """A call in a text: its name, what it is given by position and by keyword, and whether a `for` repeats it."""

    name: str
    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    repeated: bool


class Token(NamedTuple):
    """A word of Python: its kind, a group of TOKEN, and its text."""

    kind: str
    text: str


class Unreadable(Exception):
    """An expression is none of those that are read."""


def source_calls(text: str, names: Sequence[str]) -> Iterator[SourceCall]:
    """Yield the outermost calls of some names in a text; raises BadInput where one does not end, or is endless."""
    start = re.compile(rf"\b({'|'.join(names)})\s*\(")
    place, number = 0, 0
    while match := start.search(text, place):
        place = match.end()
        before = text[max(0, match.start() - LINE) : match.start()].rpartition("\n")[2].strip()
        if before.startswith("#") or before.endswith("class"):
            continue
        number += 1
        tokens, place = _inside(text, place, f"{match[1]} number {count(number)}")
        positional, keywords = _arguments(tokens)
        yield SourceCall(match[1], positional, keywords, bool(re.match(r"[\s\\]*for\b", text[place : place + 200])))


def json_content(text: str, subject: str, remedy: str) -> Any:
    """Return what JSON says, of a `subject` in the plural; raises BadInput with the remedy."""
    try:
        return json.loads(checked_size(text, subject))
    except RecursionError:
        raise BadInput(f"The {subject} are nested too deeply; {remedy}.") from None
    except ValueError as error:
        raise BadInput(f"The {subject} are not valid JSON: {error}; {remedy}.") from None


def checked_size(text: str, subject: str) -> str:
    """Return a text without a byte order mark; raises BadInput where it is too long to be read."""
    if len(text) > MOST_CHARACTERS:
        raise BadInput(f"The {subject} have {count(len(text))} characters; at most {count(MOST_CHARACTERS)} are read.")
    return text.removeprefix("\ufeff")


def _inside(text: str, place: int, call: str) -> tuple[list[Token], int]:
    """Return the tokens of a call from behind its bracket to the one that closes it, and where it ends."""
    tokens: list[Token] = []
    depth = 1
    while match := TOKEN.match(text, place):
        place, kind, word = match.end(), str(match.lastgroup), match[0]
        depth += (kind == "sign" and word in OPENING) - (kind == "sign" and word in CLOSING)
        if not depth:
            return tokens, place
        if kind != "blank":
            tokens.append(Token(kind, word))
        if len(tokens) > MOST_TOKENS:
            raise BadInput(f"{call} is longer than {count(MOST_TOKENS)} words; paste the tables alone.")
    if place < len(text):
        raise BadInput(f"{call} has {text[place : place + 20]!r}, which is not Python; paste what print() shows of the tables.")
    raise BadInput(f"{call} is not closed: the text ends before its bracket; paste it to the end.")


def _arguments(tokens: list[Token]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for part in _split(tokens):
        if len(part) > 1 and part[0].kind == "name" and part[1].text == "=":
            keywords[part[0].text] = _value(part[2:])
        else:
            positional.append(_value(part))
    return tuple(positional), keywords


def _split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the parts of a list between its own commas; nothing behind a last comma."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.text in OPENING and token.kind == "sign") - (token.text in CLOSING and token.kind == "sign")
        if token.text == "," and not depth:
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _value(tokens: Sequence[Token], depth: int = 0) -> Any:
    """Return what an expression means, or Opaque."""
    try:
        return _read(tokens, depth)
    except (Unreadable, ArithmeticError, TypeError, ValueError):
        return Opaque(" ".join(token.text for token in tokens[:20])[:80])


def _read(tokens: Sequence[Token], depth: int) -> Any:
    if not tokens or depth > DEEPEST:
        raise Unreadable
    first, last = tokens[0], tokens[-1]
    if all(token.kind == "text" for token in tokens):
        return "".join(_text(token.text) for token in tokens)
    if len(tokens) == 1 and first.kind == "name":
        return WORDS[first.text] if first.text in WORDS else Symbol(first.text)
    if len(tokens) == 1 and first.kind == "angle":
        member = MEMBER.fullmatch(first.text)
        return Symbol(member[1]) if member else Opaque(first.text[:80])
    if first.text == "[" and last.text == "]":
        return [_read(part, depth + 1) for part in _split(tokens[1:-1])]
    if first.text == "(" and last.text == ")" and (len(parts := [*_split(tokens[1:-1])]) > 1 or tokens[-2].text == ","):
        return [_read(part, depth + 1) for part in parts]
    number, rest = _arithmetic(tokens, 0, depth)
    if rest:
        raise Unreadable
    return number


def _text(written: str) -> str:
    quote = min(place for place in (written.find("'"), written.find('"')) if place >= 0)
    prefix, inside = written[:quote].lower(), written[quote + 1 : -1]
    if "f" in prefix:
        raise Unreadable
    return inside if "r" in prefix else ESCAPE.sub(lambda match: _unescaped(match[1]), inside)


def _unescaped(escape: str) -> str:
    """Return the character of an escape without its backslash."""
    return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPES.get(escape, f"\\{escape}")


def _arithmetic(tokens: Sequence[Token], binding: int, depth: int) -> tuple[float | int, Sequence[Token]]:
    """Return the number that the first operands make whose operators bind as closely, and the tokens behind them."""
    if not tokens or depth > DEEPEST:
        raise Unreadable
    head, rest = tokens[0], tokens[1:]
    if head.kind == "number":
        left = _number(head.text)
    elif head.text in ("-", "+"):
        left, rest = _arithmetic(rest, 3, depth + 1)
        left = -left if head.text == "-" else left
    elif head.text == "(":
        left, rest = _arithmetic(rest, 0, depth + 1)
        if not rest or rest[0].text != ")":
            raise Unreadable
        rest = rest[1:]
    else:
        raise Unreadable
    while rest and (own := BINDING.get(rest[0].text, -1)) >= binding:
        right, behind = _arithmetic(rest[1:], own + (rest[0].text != "**"), depth + 1)
        left, rest = _combined(rest[0].text, left, right), behind
    return left, rest


def _number(written: str) -> float | int:
    digits = written.replace("_", "")
    if digits[:2].lower() == "0x":
        return int(digits, 16)
    return float(digits) if re.search(r"[.eE]", digits) else int(digits)


def _combined(sign: str, left: float | int, right: float | int) -> float | int:
    if sign in ("**", "<<") and not 0 <= right <= 64:
        raise Unreadable
    made = OPERATORS[sign](left, right)
    if isinstance(made, int | float) and abs(made) <= LARGEST:
        return made
    raise Unreadable
