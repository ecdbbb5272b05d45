"""Do the commands of the documents do what they say: is each accepted, and does each quick one run?"""

import argparse
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from engine.__main__ import COMMANDS, main, parser
from engine.analysis.objective import read_constraint, read_objective
from engine.commands import decide
from engine.commands.scenario_arguments import selected_scenario
from engine.scenario.presets import DEFAULT, preset
from engine.scenario.scenario import declaration, values, with_values
from engine.sweep import links
from engine.sweep.axes import parse
from pages.start_page import own_model
from tests import ROOT
from tests.cases import each
from tests.fences.test_documents import DOCUMENTS, PICTURES

# Documents of the present; the others tell of the commands of their day.
CURRENT = [path for path in DOCUMENTS if path.name != "CHANGELOG.md" and path.parent.name != "moved"]
NOT_RUN = {  # patterns of commands that are parsed only, and the reason; DATA and PARTS have tests of their own
    r"^(decide|search|validate|crashcheck)\b": "takes minutes",
    r"--memory-cost": "searches for some seconds",
    r"^measure\b|measured-parts": "times this machine, or needs what that has measured",
    r"^torchrec\b": "needs the files of a TorchRec model",
    r"--cluster": "needs a cluster",
    r"\b(ratings\.csv|fitted\.toml)": "needs the file of docs/data.md, whose commands the first test walks",
    r"--presets-dir": "needs the file of docs/presets.md: tests/scenario/test_own_presets.py",
    r"--parts-dir my-parts|--check my-parts": "needs the files of docs/parts.md: tests/parts/test_parts_document.py",
}
OTHER_PROGRAMS = {"docker", "dask", "ssh"}  # need an installation of their own
OPTION = re.compile(r"(?<!\S)--[a-z][\w-]*")


@pytest.mark.usefixtures("few_draws", "one_start")
def test_the_way_from_a_file_to_an_answer_can_be_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    (made,) = re.findall(r"```python\n(.*?)```", text, re.S)
    commands = "".join(re.findall(r"```sh\n(.*?)```", text, re.S)[-2:])
    exec(made, {})
    outputs = []
    for line in commands.strip().splitlines():
        _, _, _, *words = shlex.split(line)
        assert main(words) == 0, line
        outputs.append(capsys.readouterr().out)
    described, counted, fitted, target, run, histories, bags = outputs
    assert "mapped by ratings.csv.toml, 30,000 records" in described
    assert "30,000 samples, 60,000 lookups of" in counted
    assert "ratings.csv: mapped by ratings.csv.toml, 30,000 samples counted" in fitted and "order: by timestamp" in fitted
    assert "baseline" in target and "completed after 1 power loss" in run
    assert (
        "Each row is an event of a user (user). The history of a sample has the events (item)" in histories
        and "Histories:" not in bags
    )


def command_lines(path: Path) -> list[list[str]]:
    """Return the words of each line of a document's `sh` blocks, without comments and variables before the command."""
    blocks = re.findall(r"^```sh\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    split = [shlex.split(line, comments=True) for line in lines]
    return [words[next(i for i, word in enumerate(words) if not re.match(r"[A-Z_]+=", word)) :] for words in split if words]


def engine_words(words: list[str]) -> list[str] | None:
    """Return what the engine's command is given; None if a line runs another program."""
    if Path(words[0]).name == "python" and words[1:3] == ["-m", "engine"]:
        return words[3:]
    return words[1:] if words[0] == "emberpool" else None


def is_run(words: list[str]) -> bool:
    """Return whether a command is quick and needs nothing beside it."""
    return not any(re.search(pattern, " ".join(words)) for pattern in NOT_RUN)


ENGINE = {path: [words for line in command_lines(path) if (words := engine_words(line))] for path in CURRENT}


def identity(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_reason_to_leave_a_command_out_is_needed() -> None:
    lines = [" ".join(words) for commands in ENGINE.values() for words in commands]
    assert all(any(re.search(pattern, line) for line in lines) for pattern in NOT_RUN)


@pytest.mark.parametrize("path", [path for path, commands in ENGINE.items() if commands], ids=identity)
def test_commands_are_accepted_with_their_presets_and_knobs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ENGINE[path]:
        arguments = parser(words).parse_args(words)  # what is not allowed is refused by an exception
        options = {name: value for name, value in vars(arguments).items() if value}
        for setting in options.get("set", ()):
            declaration(setting.partition("=")[0])
        if words[0] == "search":
            assert all(map(read_objective, options["objective"])) and all(map(read_constraint, options["where"]))
        if "preset" in vars(arguments) and not {"data", "scenario", "parts_dir", "presets_dir"} & options.keys():
            assert all(map(parse, options.get("axis", ())))
            selection = selected_scenario(arguments)
            assert words[0] != "decide" or decide._question(arguments, selection)


def test_the_readme_asks_its_own_question_as_a_command_on_start_and_in_its_picture() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (asked,) = re.findall(
        r"trains ([\d,]+) tables of (\d+) million rows, (\d+) wide, with (\d+) lookups a table and batches of ([\d,]+)", text
    )
    tables, million, dim, pooling, batch = (int(number.replace(",", "")) for number in asked)
    question = {
        "model.num_tables": tables,
        "model.num_embeddings": (million * 10**6,),
        "model.embedding_dim": dim,
        "model.pooling": (pooling,),
        "data.batch_size": batch,
        "data.popularity": "kaggle",
    }
    (words,) = (words for words in ENGINE[ROOT / "README.md"] if words[0] == "decide")
    scenarios = [
        selected_scenario(parser(words).parse_args(words)).scenario,
        links.open_link(f"/{PICTURES['decide'][0]}").scenario,
    ]
    of_start = with_values(preset(DEFAULT).scenario, own_model.with_consequences(question))
    for scenario in scenarios:
        assert values(scenario).items() >= question.items()
        differing = {path for path, setting in values(scenario).items() if setting != values(of_start)[path]}
        assert differing <= {f"model.{name}" for name in own_model.TRAINING} - {"model.optimizer"}  # no machine depends on them


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("path", [path for path, commands in ENGINE.items() if any(map(is_run, commands))], ids=identity)
def test_quick_commands_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in filter(is_run, ENGINE[path]):
        assert main(words) == 0, words


@each("path", [path for path in CURRENT if command_lines(path)])
def test_other_programs_have_what_they_name(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for program, *words in (line for line in command_lines(path) if engine_words(line) is None):
        match Path(program).name:
            case "make":
                targets, variables = [word for word in words if "=" not in word], [word for word in words if "=" in word]
                assert all(re.search(f"^{target}:", makefile, re.MULTILINE) for target in targets), words
                assert all(re.search(rf"\$\$?{{?\(?{word.partition('=')[0]}\b", makefile) for word in variables), words
            case "pip":
                assert all((ROOT / word).exists() for word in words if word.endswith(".txt")), words
            case "python":
                assert words[0] == "-m" or all((ROOT / word).exists() for word in words if word[0] != "-"), words
            case "cp":
                assert (ROOT / words[-1]).parent.is_dir(), words
            case "git":
                assert words[0] in ("tag", "push"), words  # the recipe of a release, which only its owner runs
            case "export":
                assert {word.partition("=")[0] for word in words} <= {"PATH", "PYTHONPATH"}, words
            case other:
                assert other in OTHER_PROGRAMS, (program, *words)


@cache
def help_text(command: str) -> str:
    """Return what `--help` prints for a command and for each of its own commands."""
    parsers: list[argparse.ArgumentParser] = [_commands_of(parser((command,)))[command]]
    parsers += _commands_of(parsers[0]).values()
    return "".join(part.format_help() for part in parsers)


def _commands_of(command: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    subparsers = [action for action in command._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(subparsers[0].choices) if subparsers else {}


@each("path", CURRENT)
def test_options_that_sentences_name_exist(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for code in re.findall(r"`([^`]+)`", text):
        words = re.sub(r"^(\S*python -m engine|emberpool)\s+", "", code).split()
        if words and words[0] in COMMANDS:
            known = set(OPTION.findall(help_text(words[0]).replace("[", " ").replace(",", " ")))
            assert set(OPTION.findall(" ".join(words))) <= known, code
