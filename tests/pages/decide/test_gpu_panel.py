"""Which GPU?: does the table have the engine's row of each GPU, in the objective's unit, and say what has no price?"""

from concurrent.futures import Future
from io import StringIO

import pandas as pd
import pytest

from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.decide import SystemSearch, Verdict, verdicts
from engine.analysis.verdict.outlook.by_gpu import GpuRow, gpu_rows
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.gpus import break_even_words
from engine.analysis.verdict.requirement import read_requirement
from engine.analysis.verdict.stacks import SoftwareChoice
from pages.answers import later
from pages.decide_page import costs, gpu_panel, questions
from pages.decide_page.gpu_panel import GPU_PRICE, VERDICT_MARK
from pages.ui import downloads
from tests import apps
from tests.analysis.verdict.test_decide import model
from tests.apps import text

SYSTEMS, PARTS = ("all-hbm", "torchrec-uvm"), "h100-pcie,gb200,l40s,host=amx-2023"


@pytest.fixture(scope="module")
def found() -> tuple[Verdict, tuple[GpuRow, ...]]:
    """Return a verdict where a speed is asked for, and the row of each of its GPUs."""
    asked = VerdictQuestion(model(), read_requirement(("throughput=2e6",)), "cost", AllowedParts(PARTS), SoftwareChoice("lean"))
    verdict = next(verdicts(asked, SYSTEMS))
    return verdict, tuple(gpu_rows(verdict, SystemSearch(asked, SYSTEMS).aim))


def test_the_table_has_the_row_of_each_gpu(found):
    verdict, gpus = found
    table = gpu_panel.gpu_frame(gpus, verdict)
    assert len(table) == len(gpus) == 3 and "Cost of a month [USD (2026)]" in table
    for one, (_, line) in zip(gpus, table.iterrows(), strict=True):
        assert line["GPU"].endswith(f"({one.gpu})") and line["Break-even"] == break_even_words(one)
        assert line["Machine, or the reason"].startswith(VERDICT_MARK) == one.wins
        if one.row is None:
            assert one.gpu == "gb200" and one.reason in line["Machine, or the reason"] and pd.isna(line[GPU_PRICE])
            continue
        assert line["Best system"] and line["Software"]
        if one.price is None:
            assert one.gpu == "l40s" and line["Source of the price"] == "no published price" and line["Break-even"]
            assert pd.isna(line[GPU_PRICE]) and pd.isna(line[costs.cost_title(verdict.question)])
            continue
        assert line[costs.cost_title(verdict.question)] == one.row.month.total
        assert (line[GPU_PRICE], line["Of year"]) == (one.price.value, one.price.year)
        assert line["Source of the price"].endswith(one.price.source)
    assert any(words.startswith("wins below") for words in table["Break-even"])
    assert list(pd.read_csv(StringIO(downloads.frame_text(table)))["GPU"]) == list(table["GPU"])


def test_the_page_draws_the_table_after_the_bands_and_says_so_until_then(found, monkeypatch):
    verdict, gpus = found
    monkeypatch.setattr(later, "_futures", type(later._futures)())
    for name, answer in {"first_verdict": verdict, "whole_verdict": verdict, "bands_of": None, "gpus_of": gpus}.items():
        monkeypatch.setattr(questions, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(questions, "popularity_cases_of", lambda verdict: ())
    monkeypatch.setattr(Verdict, "is_complete", True)
    monkeypatch.setattr(questions, "cases_of", lambda verdict: ())
    app = apps.opened("decide", {"preset": "tiny", "require": "throughput=2e6"})
    for _ in range(4):
        assert "Which GPU?" not in text(app.subheader) or "is being searched" in text(app.caption)
        apps.ANSWERS.found()
        app.run()
        if gpu_tables(app):
            break
    assert not app.exception and "is being searched" not in text(app.caption) and "csv emberpool-gpus" in apps.download_keys(app)
    (table,) = gpu_tables(app)
    assert list(table["Break-even"]) == [break_even_words(one) for one in gpus]


def gpu_tables(app):
    """Return the tables of GPUs on a page."""
    return [frame.value for frame in app.dataframe if "Break-even" in frame.value]


def test_a_search_that_failed_is_said_in_its_place(found, monkeypatch):
    failed: Future = Future()
    failed.set_exception(ValueError("no worker"))
    shown = []
    monkeypatch.setattr(gpu_panel.st, "caption", shown.append)
    gpu_panel.draw(found[0], failed)
    assert shown == ["no worker"]
