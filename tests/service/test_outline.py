"""A refusal of a data file for readers who may not see what it holds: is it place and kind, and not a byte more?"""

import json
import pickle

import pytest

from engine.errors import KINDS, UNUSABLE, BadFile
from engine.results.result import Result
from engine.scenario.keys import texts
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.service import worker
from engine.service.outline import outline_refusal
from engine.service.queue import LiveRequest, OpenPoint
from engine.workload.readers.formats import digest_of
from tests.cases import each

SECRET = "q7zkv9wxjd3"
REMEDY = "; `python -m engine run --data FILE` shows what it holds there."


@each(
    ("sentence", "place"),
    [
        (f"own.csv:17: age={SECRET!r} is bad; mend it.", "own.csv:17"),
        (f"own.csv:17: {SECRET}: more", "own.csv:17"),
        (f"own.csv:17{SECRET}: more", "own.csv"),
        (f"own.csv:{SECRET}", "own.csv"),
        (f"own.csv: sample 1,234 has {SECRET}", "own.csv: sample 1,234"),
        (f"own.csv: row {SECRET}", "own.csv"),
        (f"own.csv has {SECRET}", "own.csv"),
        (f"own.csv.toml: {SECRET!r} is bad", "own.csv.toml"),
        (f"{SECRET}:12: own.csv is bad", "A data file"),
        ("", "A data file"),
    ],
)
def test_an_outline_is_the_place_as_far_as_the_name_leads_to_it(sentence, place, tmp_path):
    found = outline_refusal(BadFile(sentence, kind="a cell is bad"), tmp_path / "own.csv")
    assert str(found) == f"{place}: a cell is bad{REMEDY}"
    assert str(outline_refusal(found, tmp_path / "own.csv")) == str(found), "an outline of an outline is the same"


@each(
    ("sentence", "kind"),
    [
        ("own.csv looks like a table in CSV; its columns are a, b.", 0),
        ("own.csv.toml is not valid TOML: Expected '='; mend it.", 1),
        ("own_dense.npy needs own_labels.npy beside it, which is not there.", 2),
        ("own.csv:1: the text is UTF-16, but data files are UTF-8; save it as UTF-8.", 3),
        ("own.gz is a damaged or cut off gzip file: 'header'; copy it again.", 4),
        ("own.csv:1: column 'number' is not in the header.", 5),
        ("own.csv:3: age='TOML' is not a finite number.", 6),
    ],
)
def test_a_refusal_without_a_kind_gets_a_coarse_one_from_words_that_are_not_quoted(sentence, kind):
    assert BadFile(sentence).outline(("own.csv", "own.gz")).endswith(KINDS[kind][1] + REMEDY)
    assert BadFile("own.csv: 'TOML header damaged'").outline(("own.csv",)) == f"own.csv: {UNUSABLE}{REMEDY}"


def test_a_kind_comes_along_from_another_process():
    found = pickle.loads(pickle.dumps(BadFile("own.csv:1: x", kind="a cell is bad")))
    assert (str(found), found.kind) == ("own.csv:1: x", "a cell is bad") and BadFile("x").kind == ""


def told(scenario: object, how: str, data: object, watcher: object) -> Result:
    """Stand for a computation that stumbles over what a file holds, in a way that Python says in words of its own."""
    return float(SECRET)  # type: ignore[return-value]


@pytest.mark.parametrize("compute", [worker.COMPUTE, f"{__name__}:told"])
def test_what_a_run_keeps_of_a_bad_file_has_no_byte_of_it_as_every_visitor_reads_it(tmp_path, compute, capsys):
    path = tmp_path / "own.csv"
    rows = [f"{n},{n % 9},{n % 6},{n}\n" for n in range(60)]
    path.write_text("userId,movieId,rating,timestamp\n" + "".join([*rows[:15], f"1,2,{SECRET},3\n", *rows[15:]]))
    base = with_values(preset("tiny").scenario, {"data.digest": digest_of(path)})
    turn = LiveRequest(1, "me", "full", str(path), json.dumps(texts(base)))
    chunk = worker.Chunk("", turn, (OpenPoint("k", "{}", None, 0),), compute)
    ((_, state, text),) = worker.point_endings(chunk, chunk.keys, lambda key: lambda progress: False)
    assert SECRET not in text
    assert text.startswith("own.csv:17: ") if compute == worker.COMPUTE else (state, text[:10]) == ("bug", "ValueError")
    capsys.readouterr()  # the traceback is the server's own
