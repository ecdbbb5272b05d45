"""`list devices --check`: is each fault of a part's file told with its line, all at once, and a right file called right?"""

import re

import pytest

from engine.__main__ import main
from engine.core import catalog
from engine.registry import all_variants
from tests.parts.conftest import BUILT_IN, shipped


def told(capsys, path, *more):
    """Return the exit status, and the faults as lines and sentences."""
    status = main(["list", "devices", "--check", str(path), *more])
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    found = [re.fullmatch(rf"{re.escape(str(path))}:(\d+): (.*)", line) for line in lines]
    return status, [(int(one[1]), one[2]) for one in found if one], captured.out, captured.err


def line_of(text, begins, behind=""):
    """Return the number of the first line that begins so, at or behind the line that begins otherwise."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if behind and line.startswith(behind)), 0)
    return next(number for number, line in enumerate(lines[start:], start + 1) if line.startswith(begins))


def test_every_file_of_ours_is_right(capsys, tmp_path):
    all_variants("devices")  # which declare the kinds
    chosen = {kind for one in catalog.KINDS_OF_SAME_KNOB for kind in (one, *catalog.KINDS[one].uses)}
    for path in BUILT_IN.glob("*/*.toml"):
        if path.parent.name in chosen:
            assert main(["list", "devices", "--check", str(path)]) == 0
            assert f" is right: {path.parent.name} {path.stem}, " in capsys.readouterr().out


def test_all_faults_are_told_at_once_each_with_its_line(folder, capsys):
    good = shipped("gpu/h100-sxm")
    text = good.replace('unit = "TFLOPS"', 'unit = "GFLOPS"', 1).replace("nvlink-4", "nvlnk-4").replace("[memory]", "[memry]")
    text = text.replace('confidence = "measured"', 'confidence = "mesured"').replace("\nvalue = 700\n", "\nvalue = 7000\n")
    status, found, out, _ = told(capsys, folder.put("gpu/wrong", text))
    assert status == 2 and out == ""
    lines = [line for line, _ in found]
    assert lines == sorted(lines) and {sentence.partition(";")[0]: line for line, sentence in found} == {
        "lacks memory [GB]": 1,
        "names the fabric 'nvlnk-4', which has no file": line_of(text, "fabric"),
        "gives fp32-peak in 'GFLOPS', but the unit must be 'TFLOPS'": line_of(text, "unit", "[fp32-peak]"),
        "says 'memry', which is not known": line_of(text, "[memry]"),
        "gives board-limit = 7000 W outside its range of 700 to 700": line_of(text, "value", "[board-limit]"),
        "gives kernel-launch.confidence = 'mesured'": line_of(text, "confidence", "[kernel-launch]"),
        "gives port.confidence = 'mesured'": line_of(text, "confidence", "[port]"),
    }


@pytest.mark.parametrize(
    ("name", "old", "new", "where", "sentence"),
    [
        ("media", "value = 6.6\n", 'value = "6.6"\n', "value@[read-rate]", "gives read-rate.value = '6.6'; write a number"),
        ("media", "value = 6.6\n", "", "[read-rate]", "lacks value of read-rate"),
        ("media", "value = 6.6\n", "value = 6.6\nvalues = 1\n", "values@[read-rate]", "says 'values' of read-rate"),
        ("media", 'title = "', 'title = "\\n', "title", "must say title in one line"),
        ("media", "[read-rate]\n", "[read-rate\n", "[read-rate", "is not valid TOML"),
        (
            "media",
            "paper = { value = 64, low",
            "paper = { value = 63, low",
            "paper@[timed-access",
            "timed-access.others.paper = 63 B",
        ),
    ],
)
def test_one_fault_is_told_with_the_line_where_it_stands(name, old, new, where, sentence, folder, capsys):
    text = shipped("media/optane-100").replace(old, new, 1)
    status, found, _, _ = told(capsys, folder.put(f"{name}/wrong", text))
    begins, _, behind = where.partition("@")
    assert (status == 2 and found[0][1].startswith(sentence)) or sentence in found[0][1]
    assert [line for line, _ in found] == [line_of(text, begins, behind)]


def test_a_kind_may_be_given_and_what_a_part_uses_may_lie_beside_it(folder, capsys, tmp_path):
    path = tmp_path / "loose" / "mine.toml"
    path.parent.mkdir()
    path.write_text(shipped("media/optane-100"))
    status, _, _, error = told(capsys, path)
    assert status == 2 and "is in the folder 'loose', which is not a kind of part" in error
    assert told(capsys, path, "--kind", "media")[0] == 0
    assert told(capsys, folder.path / "gpu" / "mine.toml")[0] == 0


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("media/optane-100", shipped("media/optane-100"), "has the same name as a part in "),
        ("media/Big", shipped("media/optane-100"), "is not a valid name of a part"),
        ("room/mine", shipped("room/server-room"), "which no knob chooses"),
        ("gpu/empty", "", "must say title"),
        ("gpu/binary", "\x00\x01", "is not valid TOML"),
        ("gpu/many", "\n".join(f"x{number} = 1" for number in range(400)), "says 'x0', which is not known"),
    ],
)
def test_what_is_no_part_at_all_is_told_too(name, text, sentence, folder, capsys):
    status, found, _, _ = told(capsys, folder.put(name, text))
    assert status == 2 and any(sentence in said for _, said in found) and len(found) <= 200


def test_a_file_that_is_not_there_and_another_list_are_refused(folder, capsys):
    assert main(["list", "devices", "--check", str(folder.path / "gpu" / "none.toml")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["list", "knobs", "--check", str(folder.path / "gpu" / "mine.toml")]) == 2
    assert "list devices`, not with knobs" in capsys.readouterr().err
