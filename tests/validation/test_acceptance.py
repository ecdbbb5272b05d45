"""Does the generator meet the figures of real click logs, and would a worse one be told?"""

import json
from itertools import islice

import numpy as np
import pytest

from engine.__main__ import main
from engine.core import hashing
from engine.validation import workload_figures
from engine.validation.workload_figures import KAGGLE_ROWS, Figure
from engine.workload import sampling
from engine.workload.popularity import Popularity


def test_the_command_meets_every_figure(capsys):
    assert main(["workload", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(row["passed"] and row["low"] <= row["ours"] <= row["high"] for row in rows)
    assert len(rows) == 7 + 2 + 3 + 1 + 12 + 2 * 5 + 5 + 2 + 3 + 7 + 5 + 2


@pytest.mark.parametrize(("ours", "status", "word"), [(70.0, 0, "pass"), (75.1, 3, "FAIL")])
def test_a_figure_outside_its_tolerance_ends_with_3_and_its_name(monkeypatch, capsys, ours, status, word):
    figure = Figure("Rows", "hot", ours, "72 ± 3", 69.0, 75.0)
    monkeypatch.setattr("engine.commands.workload.acceptance_figures", lambda: iter([figure]))
    assert main(["workload"]) == status
    assert f"hot                  ours {ours:8.2f}   published 72 ± 3         {word}" in capsys.readouterr().out


def test_the_shares_count_what_a_drawn_data_set_holds():
    law, samples, least = Popularity((0.2,), 0.8, 1.1, 2.0, 30_000, 30_001), 40_000, 2
    key = hashing.key(3, hashing.Purpose.IDS)
    drawn = sampling.draw_ids(sampling.sampler((law,)), key, np.array([0, samples]), np.array([0, law.rows]))
    counts = np.bincount(drawn, minlength=law.rows)
    kept = np.where(counts >= least, counts, 0)  # by rank: the hottest rank is row 0
    ids, mass = np.cumsum(kept > 0), np.cumsum(kept) / kept.sum()
    for rows in (1, 30, 300, 2000):
        wanted = mass[np.searchsorted(ids, rows)]
        found = workload_figures.seen_share((law,), samples, least, np.array([rows]))[0]
        assert found == pytest.approx(wanted, abs=0.01)


def test_a_zipf_generator_would_miss_the_shares(monkeypatch):
    monkeypatch.setattr(workload_figures, "popularities", lambda _: (Popularity((), 1.0, 1.05, 0.0, KAGGLE_ROWS, KAGGLE_ROWS),))
    assert not any(figure.passed for figure in islice(workload_figures.shares(), 7))
