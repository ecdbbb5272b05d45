"""Calls in Python text, read without executing anything.

The text is a pasted repr or a script.
Text around the calls is skipped. An argument is read if it is a literal, a list of literals, arithmetic on numbers or a dotted
name; enum members of a repr, `<DataType.FP16: 'FP16'>`, are names too. Any other expression becomes `OpaqueExpression`.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import user_text
from ..core.figures import count
from ..errors import BadInput

MAX_CHARACTERS = 4 * 2**20  # of a text: 10,000 tables as TorchRec prints them
MAX_TOKENS = 20_000  # of one call
COMMENT = re.compile(r"[^\S\n]*#")  # the start of a line that is one
MAX_DEPTH = 20  # brackets in an argument that is read
MAX_NUMBER = 10**18  # of a number that arithmetic makes
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


class OpaqueExpression(NamedTuple):
    """The text of an expression whose value is not computed."""

    text: str


class Symbol(NamedTuple):
    """A dotted name, such as DataType.FP16."""

    name: str


class SourceCall(NamedTuple):
    """A call in a text.

    name: name of the function. positional, keywords: the arguments. repeated: whether a `for` repeats the call.
    """

    name: str
    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    repeated: bool


class Token(NamedTuple):
    """A token of Python: its kind, a group of TOKEN, and its text."""

    kind: str
    text: str


class UnreadableExpression(Exception):
    """Raised for an expression whose value is not computed."""


def source_calls(text: str, names: Sequence[str]) -> Iterator[SourceCall]:
    """Yield the outermost calls of the named functions in a text.

    Raises BadInput for a call without an end, or a call that is too long.
    """
    start = re.compile(rf"\b({'|'.join(names)})\s*\(")
    place, line, number = 0, 0, 0
    while match := start.search(text, place):
        line = max(line, text.rfind("\n", place, match.start()) + 1)
        place = match.end()
        if COMMENT.match(text, line) or text[max(line, match.start() - 10) : match.start()].rstrip().endswith("class"):
            continue
        number += 1
        tokens, place = _call_tokens(text, place, f"{match[1]} number {count(number)}")
        positional, keywords = _arguments(tokens)
        yield SourceCall(match[1], positional, keywords, bool(re.match(r"[\s\\]*for\b", text[place : place + 200])))


def json_content(text: str, subject: str, remedy: str) -> Any:
    """Return the content of a JSON text.

    Raises BadInput with a sentence that contains `subject`, a plural noun for the content, and `remedy`.
    """
    try:
        return user_text.json_content(check_size(text, subject), f"The JSON of the {subject}")
    except RecursionError:
        raise BadInput(f"The {subject} are nested too deeply; {remedy}.") from None
    except ValueError as error:
        raise BadInput(f"The {subject} are not valid JSON: {error}; {remedy}.") from None


def check_size(text: str, subject: str) -> str:
    """Return a text without a byte order mark.

    Raises BadInput if the text is too long.
    """
    if len(text) > MAX_CHARACTERS:
        raise BadInput(f"The {subject} have {count(len(text), 'character')}; at most {count(MAX_CHARACTERS)} are read.")
    return text.removeprefix("\ufeff")


def _call_tokens(text: str, place: int, call: str) -> tuple[list[Token], int]:
    """Return the tokens between the brackets of a call, and the position behind its closing bracket."""
    tokens: list[Token] = []
    depth = 1
    while match := TOKEN.match(text, place):
        place, kind, word = match.end(), str(match.lastgroup), match[0]
        depth += (kind == "sign" and word in OPENING) - (kind == "sign" and word in CLOSING)
        if not depth:
            return tokens, place
        if kind != "blank":
            tokens.append(Token(kind, word))
        if len(tokens) > MAX_TOKENS:
            raise BadInput(f"{call} is longer than {count(MAX_TOKENS)} words; paste the tables alone.")
    if place < len(text):
        raise BadInput(f"{call} has {text[place : place + 20]!r}, which is not Python; paste what print() shows of the tables.")
    raise BadInput(f"{call} is not closed: the text ends before its bracket; paste it to the end.")


def _arguments(tokens: list[Token]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for part in _split(tokens):
        if len(part) > 1 and part[0].kind == "name" and part[1].text == "=":
            keywords[part[0].text] = _parse_or_opaque(part[2:])
        else:
            positional.append(_parse_or_opaque(part))
    return tuple(positional), keywords


def _split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Split tokens at the commas outside of brackets; a trailing comma adds no part."""
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


def _parse_or_opaque(tokens: Sequence[Token], depth: int = 0) -> Any:
    """Return the literal, list, number or name of an expression, or Opaque."""
    try:
        return _parse_expression(tokens, depth)
    except (UnreadableExpression, ArithmeticError, TypeError, ValueError):
        return OpaqueExpression(" ".join(token.text for token in tokens[:20])[:80])


def _parse_expression(tokens: Sequence[Token], depth: int) -> Any:
    if not tokens or depth > MAX_DEPTH:
        raise UnreadableExpression
    first_token, last_token = tokens[0], tokens[-1]
    if all(token.kind == "text" for token in tokens):
        return "".join(_text(token.text) for token in tokens)
    if len(tokens) == 1 and first_token.kind == "name":
        return WORDS[first_token.text] if first_token.text in WORDS else Symbol(first_token.text)
    if len(tokens) == 1 and first_token.kind == "angle":
        member = MEMBER.fullmatch(first_token.text)
        return Symbol(member[1]) if member else OpaqueExpression(first_token.text[:80])
    if first_token.text == "[" and last_token.text == "]":
        return [_parse_expression(part, depth + 1) for part in _split(tokens[1:-1])]
    if (
        first_token.text == "("
        and last_token.text == ")"
        and (len(parts := [*_split(tokens[1:-1])]) > 1 or tokens[-2].text == ",")
    ):
        return [_parse_expression(part, depth + 1) for part in parts]
    number, rest = _parse_arithmetic(tokens, 0, depth)
    if rest:
        raise UnreadableExpression
    return number


def _text(literal: str) -> str:
    quote = min(place for place in (literal.find("'"), literal.find('"')) if place >= 0)
    prefix, body = literal[:quote].lower(), literal[quote + 1 : -1]
    if "f" in prefix:
        raise UnreadableExpression
    return body if "r" in prefix else ESCAPE.sub(lambda match: _unescaped(match[1]), body)


def _unescaped(escape: str) -> str:
    """Return the character of an escape without its backslash."""
    return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPES.get(escape, f"\\{escape}")


def _parse_arithmetic(tokens: Sequence[Token], binding: int, depth: int) -> tuple[float | int, Sequence[Token]]:
    """Evaluate leading operands whose operators bind at least at `binding`; return the number and the remaining tokens."""
    if not tokens or depth > MAX_DEPTH:
        raise UnreadableExpression
    head, rest = tokens[0], tokens[1:]
    if head.kind == "number":
        left_operand = _number(head.text)
    elif head.text in ("-", "+"):
        left_operand, rest = _parse_arithmetic(rest, 3, depth + 1)
        left_operand = -left_operand if head.text == "-" else left_operand
    elif head.text == "(":
        left_operand, rest = _parse_arithmetic(rest, 0, depth + 1)
        if not rest or rest[0].text != ")":
            raise UnreadableExpression
        rest = rest[1:]
    else:
        raise UnreadableExpression
    while rest and (operator_binding := BINDING.get(rest[0].text, -1)) >= binding:
        right_operand, remaining = _parse_arithmetic(rest[1:], operator_binding + (rest[0].text != "**"), depth + 1)
        left_operand, rest = _apply_operator(rest[0].text, left_operand, right_operand), remaining
    return left_operand, rest


def _number(numeral: str) -> float | int:
    digits = numeral.replace("_", "")
    if digits[:2].lower() == "0x":
        return int(digits, 16)
    return float(digits) if re.search(r"[.eE]", digits) else int(digits)


def _apply_operator(sign: str, left_operand: float | int, right_operand: float | int) -> float | int:
    if sign in ("**", "<<") and not 0 <= right_operand <= 64:
        raise UnreadableExpression
    number = OPERATORS[sign](left_operand, right_operand)
    if isinstance(number, int | float) and abs(number) <= MAX_NUMBER:
        return number
    raise UnreadableExpression
