"""What slow tests look for in texts still stands in some text: by day a golden file says so, and sees it go.

The file has each sentence of a slow test, with brackets around each word that no text of engine or pages has beside a neighbour
of it: names that the program fills in. A text that is changed puts more words into brackets.
"""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from tests.house import files, text, tree, walk

FEWEST = 3  # words of a sentence
WORD = re.compile(r"[^\W\d_][\w'-]*")
NO_SENTENCE = re.compile(r"[A-Z]{4,} |\n|=|::|[a-z]/[a-z]|import |\w\(|>")  # SQL, programs, links, places, selectors


def slow_tests(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield the tests of a file that run in slow jobs, or have cases that do."""
    if "mark.slow" not in text(path):
        return
    statements = tree(path).body
    is_all = any(isinstance(node, ast.Assign) and ast.unparse(node) == "pytestmark = pytest.mark.slow" for node in statements)
    for node in statements:
        if isinstance(node, ast.FunctionDef) and (
            is_all or any("mark.slow" in ast.unparse(mark) for mark in node.decorator_list)
        ):
            yield node


def strings(top: ast.AST) -> Iterator[str]:
    """Yield the texts in a piece of code; of a text with values in it, each part between them."""
    yield from (node.value for node in walk(top) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def sentences(test: ast.FunctionDef) -> Iterator[str]:
    """Yield the sentences that a test looks for."""
    statements = test.body[1:] if ast.get_docstring(test) else test.body
    for string in [string for statement in (*test.decorator_list, *statements) for string in strings(statement)]:
        if len(WORD.findall(string)) >= FEWEST and not NO_SENTENCE.search(string):
            yield string.strip()


def written_pairs() -> set[tuple[str, str]]:
    """Return all words that stand side by side in a text of engine and pages."""
    paths = [path for part in ("engine", "pages") for path in files(part)]
    lists = [WORD.findall(string) for path in paths for string in strings(tree(path))]
    return {pair for words in lists for pair in pairwise(words)}


def bracketed(sentence: str, pairs: set[tuple[str, str]]) -> str:
    """Return a sentence with brackets around each word that is in none of these pairs with a neighbour."""
    words = ["", *WORD.findall(sentence), ""]
    known = iter(
        [{(before, word), (word, after)} & pairs for before, word, after in zip(words, words[1:], words[2:], strict=False)]
    )
    return WORD.sub(lambda found: found[0] if next(known) else f"[{found[0]}]", sentence)


def test_golden_texts_of_slow_tests_still_stand_somewhere(golden: Callable[[str, str], None]) -> None:
    pairs = written_pairs()
    lines = {
        f"{path.as_posix()} {bracketed(sentence, pairs)}\n"
        for path in files("tests")
        for test in slow_tests(path)
        for sentence in sentences(test)
    }
    golden("slow_texts.txt", "".join(sorted(lines)))


def test_a_word_that_no_text_has_beside_its_neighbour_is_in_brackets() -> None:
    (test,) = ast.parse(
        '@mark.slow\ndef f():\n    """No such text is here."""\n    assert "^2 runs of cxl are lost" in say()'
    ).body
    assert isinstance(test, ast.FunctionDef)
    pairs = {("runs", "of"), ("are", "lost")}
    assert [bracketed(sentence, pairs) for sentence in sentences(test)] == ["^2 runs of [cxl] are lost"]
    assert bracketed("2 runs of cxl were lost", pairs) == "2 runs of [cxl] [were] [lost]"
