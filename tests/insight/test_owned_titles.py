"""Owned parts by titles: do servers stand for their parts, and does a link's list show as the same titles again?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.__main__ import main
from engine.analysis.verdict.aim import MEETS
from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.decide import verdicts
from engine.analysis.verdict.outlook.shortlist import NO_WINNER
from engine.analysis.verdict.outlook.variants import VariedCase
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.sentences import popularity_words, reason_sentence
from engine.analysis.verdict.stacks import SoftwareChoice
from engine.core.part_files.lists import OWNED, read_entries
from engine.errors import BadInput
from engine.hardware.money.owned import OwnedParts, owned_parts_text, owned_rows, owned_titles, read_owned
from engine.scenario.knobs import parse
from engine.scenario.scenario import KNOBS, with_values
from tests.analysis.verdict.test_decide import FEW, model
from tests.cases import each, examples

A100_FOUR = "Server with 4 × NVIDIA A100 80 GB"
A100_SERVER, A100, HOST = "Server with 8 × NVIDIA A100 80 GB", "NVIDIA A100 80 GB", "Two-socket server (host/server)"
PATH, QUOTES = "machine.owned_parts", "machine.quotes"


def settled(text: str) -> str:
    """Return a list of owned parts as a scenario has it."""
    return OWNED.settled(PATH, text)


@each(
    ("rows", "text"),
    [
        ([OwnedParts(A100_SERVER, 2)], "gpu/a100-80:16;chassis/gpu-8-sxm:2;host/server:2"),
        ([OwnedParts(A100_SERVER, 1), OwnedParts(A100, 3)], "gpu/a100-80:11;chassis/gpu-8-sxm:1;host/server:1"),
        ([OwnedParts("DDR5-5600, module of 64 GB")], "dram/ddr5-5600"),
        ([OwnedParts(A100, 3), OwnedParts(A100)], "gpu/a100-80"),
        ([OwnedParts("Server with 4 × NVIDIA H100 PCIe 80 GB", 1)], "gpu/h100-pcie:4;chassis/gpu-4-pcie:1;host/server:1"),
        ([OwnedParts("Embedding server", 2)], "embedding-server:2"),
        ([], ""),
    ],
)
def test_a_server_stands_for_its_gpus_its_chassis_and_a_host(rows, text):
    assert owned_parts_text(rows) == text
    assert parse(KNOBS[PATH], text) == settled(text)


@each(
    ("text", "rows"),
    [
        ("gpu/a100-80:16;chassis/gpu-8-sxm:2;host/server:2", [(A100_SERVER, 2)]),
        ("gpu/a100-80:20;chassis/gpu-8-sxm:2;host/server:3", [(A100_SERVER, 2), (A100, 4), (HOST, 1)]),
        ("gpu/a100-80:7;chassis/gpu-8-sxm:1;host/server:1", [(A100, 7), ("Eight-GPU SXM server", 1), (HOST, 1)]),
        ("gpu/a100-80;chassis/gpu-8-sxm;host/server", [(A100, None), ("Eight-GPU SXM server", None), (HOST, None)]),
        ("a100-80:8", [(A100, 8)]),
        ("trainingcxl;embedding-server:1", [("trainingcxl", None), ("Embedding server", 1)]),
        ("", []),
    ],
)
def test_a_list_shows_as_whole_servers_and_single_parts(text, rows):
    assert list(owned_rows(text)) == rows


@examples(60)
@given(st.lists(st.tuples(st.sampled_from(sorted(owned_titles())), st.one_of(st.none(), st.integers(1, 40))), max_size=6))
def test_titles_of_a_list_give_the_same_list_again(rows):
    text = settled(owned_parts_text(OwnedParts(*row) for row in rows))
    assert settled(owned_parts_text(owned_rows(text))) == text
    assert owned_rows(settled(owned_parts_text(owned_rows(text)))) == owned_rows(text)


def test_each_title_is_of_parts_that_can_be_owned_and_means_itself():
    for title, parts in owned_titles().items():
        assert settled(";".join(part.text for part in parts)) and read_owned(title).title == title
        assert read_owned(f"3 x {title}") == (title, 3)


@each(
    ("text", "row"),
    [
        ("2x8 x A100 80 GB server", (A100_SERVER, 2)),
        ("8 × a100 80gb SERVER", (A100_SERVER, 1)),
        ("16xgpu/a100-80", (A100, 16)),
        ("a100-80", (A100, None)),
        ("2 x H100 PCIe", ("NVIDIA H100 PCIe 80 GB", 2)),
        ("3xserver", (HOST, 3)),
    ],
)
def test_a_title_is_read_by_its_words(text, row):
    assert read_owned(text) == row


@each(
    ("text", "said"),
    [
        ("2xa100-8", "own='2xa100-8' is not a part or server of the catalogue; did you mean gpu/a100-80"),
        ("8xA100", "own='A100' can be NVIDIA A100 80 GB or NVIDIA A100 40 GB"),
        ("A100 server", f"can be {A100_SERVER} or Server with 8 × NVIDIA A100 40 GB or {A100_FOUR}; write one of them"),
        ("2x", "is not a part"),
        ("", "is not a part"),
    ],
)
def test_a_title_that_is_none_or_several_is_refused_with_the_nearest(text, said):
    with pytest.raises(BadInput, match=said):
        read_owned(text)


def test_the_command_owns_what_is_named_and_refuses_what_is_not(capsys):
    parts = "gpu=a100-80,host=server,chassis=gpu-8-sxm"
    words = [
        "decide",
        "--preset",
        "tiny",
        "--parts",
        parts,
        "--software",
        "lean",
        "--quick",
        "--objective",
        "capital",
        "--json",
        "-",
    ]
    assert main([*words, "--own", "2x8 x A100 80 GB server", "--own", "ddr4-3200"]) == 0
    link = capsys.readouterr().out
    assert all(
        entry.text in link.replace("%2F", "/").replace("%3A", ":") for entry in read_entries("gpu/a100-80:16;host/server:2")
    )
    for own, said in (
        (["--own", "2xA1000"], "did you mean"),
        (["--own", "a100-80", "--set", f"{PATH}=v100"], "both say what is owned"),
    ):
        assert main([*words, *own]) == 2
        assert said in capsys.readouterr().err


def test_a_machine_of_owned_parts_alone_has_no_price_and_sentences_without_a_ratio():
    owned = {PATH: "gpu/h100-pcie;chassis/gpu-4-pcie;host/amx-2023;ddr5-4800"}
    asked = VerdictQuestion(
        with_values(model(), owned), objective="capital", parts=AllowedParts(FEW), software=SoftwareChoice("lean")
    )
    verdict = next(verdicts(asked, ("all-hbm", "cxl")))
    assert verdict.best_row.capital == 0 < verdict.families[1].capital
    assert "has a price, and the machine of owned parts has none" in reason_sentence(verdict)
    dearer = VariedCase(
        "popularity", "avazu", 1.0, replace(NO_WINNER, family="CXL", rank=(MEETS,), objective_value=7e4, capital=7e4)
    )
    assert "the cheapest machine has a price of up to 70,000 USD" in popularity_words(verdict, [dearer])


@each(
    ("knobs", "chassis"),
    [({}, "two-socket"), ({PATH: "chassis/gpu-4-pcie:1"}, "gpu-4-pcie"), ({QUOTES: "chassis/gpu-4-pcie:100"}, "gpu-4-pcie")],
)
def test_the_chassis_is_the_one_that_costs_least_quoted_or_owned(knobs, chassis):
    asked = VerdictQuestion(with_values(model(), knobs), parts=AllowedParts(FEW), software=SoftwareChoice("lean"))
    assert next(verdicts(asked, ("all-hbm",))).best_row.sized_scenario.machine.chassis == chassis
