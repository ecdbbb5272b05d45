"""Histories fitted from files: do lengths, users of a batch, popularity and duplicates agree with hand, pandas and known laws?"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.insight.fitting import reports
from engine.insight.fitting.fit import GeneratorFit, fit_file, lookups_of
from engine.insight.fitting.histories import batches, walk
from engine.insight.fitting.histories.fit import HistoryWindow, window_of
from engine.scenario.presets import preset, scenario_file
from engine.scenario.scenario import is_sequential, with_values
from tests.machines import TINY
from tests.sequences.test_history_files import write

pytestmark = pytest.mark.usefixtures("one_start")
LOG = 'user = "user"\nhistory = ["item"]\n'


def fitted(path: Path, cap: int | None = None, batch: int = 128, **given: object) -> GeneratorFit:
    return fit_file(lookups_of(path, histories=True), window=HistoryWindow(cap, batch), **given)


def zipf(random: np.random.Generator, rows: int, exponent: float, size: int) -> np.ndarray:
    share = np.arange(1, rows + 1.0) ** -exponent
    return random.choice(rows, size, p=share / share.sum())


def windows(log: pd.DataFrame, cap: int) -> list[list[tuple[int, int]]]:
    """Return the events, as (position, item), of each sample of a log: those of its user up to it."""
    before: dict[int, list[tuple[int, int]]] = {}
    samples = []
    for position, (user, item) in enumerate(log[["user", "item"]].itertuples(index=False)):
        before.setdefault(user, []).append((position, item))
        samples.append(before[user][-cap:])
    return samples


def test_three_users_are_as_counted_by_hand(tmp_path: Path) -> None:
    users = [1] * 20 + [2] * 15 + [3] * 5  # 1 + ... + 20, 1 + ... + 15 and 1 + ... + 5 events: 210 + 120 + 15
    log = pd.DataFrame({"user": users, "item": [*range(20), *range(15), *range(5)]})
    fit = fitted(write(log, tmp_path / "log.csv", LOG), batch=40, open_ended=False).histories
    assert fit and (fit.cap, fit.longest, fit.users, fit.is_user_major) == (20, 20, 3, True)
    assert fit.mean == 345 / 40 and fit.samples_per_user == pytest.approx(40 / 3, abs=1e-2)
    assert fit.counted == (1, 40 / 345, (20 / 345,))
    cut = fitted(tmp_path / "log.csv", cap=2, batch=40).histories
    assert cut and cut.mean == (3 + 2 * 37) / 40 and cut.lengths.tolist() == [0, 3, 37]
    assert cut.cv == pytest.approx(np.std([1] * 3 + [2] * 37) / cut.mean)
    assert cut.counted == (1, 40 / 77, (20 / 77,))
    halves = fitted(tmp_path / "log.csv", batch=20).histories
    assert (
        halves
        and halves.samples_per_user == 13.33
        and halves.counted.batches == 2
        and halves.counted.events == pytest.approx((20 + 20) / 345)
    )


@pytest.mark.parametrize("order", ["user", "time"])
def test_a_log_is_counted_as_by_pandas_in_either_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    monkeypatch.setattr(walk, "WALK_SAMPLES", 257)  # no whole number of batches
    random = np.random.default_rng(6)
    log = pd.DataFrame({"user": random.integers(0, 40, 2000), "item": zipf(random, 300, 1.1, 2000)})
    log = log.sort_values("user", kind="stable", ignore_index=True) if order == "user" else log
    fit = fitted(write(log, tmp_path / "log.csv", LOG), cap=30, batch=100).histories
    lengths = np.minimum(log.groupby("user").cumcount() + 1, 30)
    assert fit and fit.mean == pytest.approx(lengths.mean()) and fit.cv == pytest.approx(lengths.std(ddof=0) / lengths.mean())
    assert fit.lengths.tolist() == np.bincount(lengths).tolist() and fit.is_user_major == (order == "user")
    users = log.groupby(np.arange(2000) // 100)["user"].nunique()
    assert fit.samples_per_user == pytest.approx(100 / users.mean(), rel=1e-3)
    samples, counts = windows(log, 30), [0, 0, 0]
    for low in (int((k + 0.5) / 8 * 20) * 100 for k in range(8)):
        events = [event for sample in samples[low : low + 100] for event in sample]
        counts[0] += len(events)
        counts[1] += len(set(events))
        counts[2] += len({item for _, item in events})
    assert fit.counted == (8, counts[1] / counts[0], (counts[2] / counts[0],))
    monkeypatch.setattr(batches, "MOST_EVENTS", 1)  # one batch is counted even so
    assert fitted(tmp_path / "log.csv", cap=30, batch=100).histories.counted.batches == 1


def sliding_rows(users: int, samples: int, exponent: float, seed: int = 7) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of users with histories that go on by one event, and the histories' lengths by user.

    Lengths are log-normal, with a mean of 40 and a spread of 50 % before the cut at 80.
    """
    random = np.random.default_rng(seed)
    sigma = np.sqrt(np.log(1.25))
    lengths = np.clip(np.rint(random.lognormal(np.log(40) - sigma**2 / 2, sigma, users)), 1, 80).astype(int)
    ends = np.cumsum(lengths + samples - 1)
    events = zipf(random, 4000, exponent, int(ends[-1]))
    begins = ends - lengths - samples + 1
    rows = [(user, events[begins[user] + k : begins[user] + k + lengths[user]]) for user in range(users) for k in range(samples)]
    return pd.DataFrame({"user": [user for user, _ in rows], "item": [row for _, row in rows]}), lengths


def test_known_laws_come_back_and_a_batch_has_the_duplicates_that_they_expect(tmp_path: Path) -> None:
    rows, lengths = sliding_rows(2500, 8, 1.1)
    found = fitted(write(rows, tmp_path / "rows.parquet", LOG), cap=80, batch=256, open_ended=False)
    fit, user, item = found.histories, *found.tables
    assert fit and fit.mean == pytest.approx(lengths.mean()) and fit.cv == pytest.approx(lengths.std() / lengths.mean())
    assert fit.mean == pytest.approx(40, rel=0.05) and fit.samples_per_user == 8 and fit.going_on == 1
    sigma = np.sqrt(np.log(1.25))
    assert (fit.law.mu, fit.law.sigma) == pytest.approx((np.log(40) - sigma**2 / 2, sigma), rel=0.05)
    assert user.law.s == 0 and user.law.rows == 2500  # all users have as many rows
    assert (
        fit.largest_length_gap < 0.03
        and item.law.s == pytest.approx(1.1, abs=0.02)
        and item.law.rows == rows["item"].explode().nunique()
    )
    assert fit.counted.events == pytest.approx((lengths.mean() + 7) / (8 * lengths.mean()), rel=0.05)
    assert fit.expected.events == pytest.approx(fit.counted.events, rel=0.05)
    assert fit.expected.rows[0] == pytest.approx(fit.counted.rows[0], rel=0.05)
    assert not [sentence for sentence in reports.fit_warnings(found) if "histor" in sentence or "different rows" in sentence]


def test_each_event_counts_once_only_where_the_users_of_rows_are_known(tmp_path: Path) -> None:
    rows, _ = sliding_rows(500, 8, 0.8)
    known = fitted(write(rows, tmp_path / "a.parquet", LOG))
    blind = fitted(write(rows[["item"]], tmp_path / "b.parquet", 'history = ["item"]\n'))
    counted = [sum(map(len, (file.lookups(0, low, low + 8) for low in range(0, 4000, 8)))) for file in (events_of(tmp_path),)]
    lengths = rows.groupby("user")["item"].first().map(len)
    assert counted == [int((lengths + 7).sum())]
    assert known.histories.samples_per_user == 8 and blind.histories.samples_per_user == 1
    assert "No column of users is named" in " ".join(reports.fit_warnings(blind))
    assert "No column of users is named" not in " ".join(reports.fit_warnings(known))


def events_of(folder: Path) -> object:
    """Return the lookups of the items of a.parquet, with each event once."""
    from engine.insight.fitting.histories.fit import fit_histories

    file = lookups_of(folder / "a.parquet", histories=True)
    _, events = fit_histories(file, HistoryWindow())
    items = file.histories.events[0]
    return type("Items", (), {"lookups": lambda self, _, low, high: events.lookups(items, low, high)})()


def test_what_does_not_follow_is_said(tmp_path: Path) -> None:
    user = np.arange(5000) // 50
    log = pd.DataFrame({"user": user, "item": 5 * user + np.arange(5000) % 5, "at": np.arange(5000)})
    log.loc[[10, 12], "at"] = 0
    found = fitted(write(log, tmp_path / "log.csv", LOG + 'time = "at"\n'), batch=64)
    words = " ".join(reports.fit_warnings(found))
    assert found.histories.out_of_order == 2 and "Times go back within a user at 2 events; the file's order was taken" in words
    assert found.histories.cap == 50 and "are cut at" not in words
    assert "histories of a batch overlap more than windows of equal length" in words
    words = " ".join(reports.fit_warnings(fitted(tmp_path / "log.csv", cap=5, batch=64)))
    assert "events of a user or a time repeat ids more than the popularity says" in words
    long = pd.DataFrame({"user": 1, "item": np.arange(5000) % 50})
    words = " ".join(reports.fit_warnings(fitted(write(long, tmp_path / "long.csv", LOG))))
    assert "cut at 4,096 events, as no cap is given; the longest has 5,000" in words
    rows, _ = sliding_rows(50, 4, 1.0)
    rows.at[7, "item"] = []
    rows.at[8, "item"] = rows.at[2, "item"]
    found = fitted(write(rows, tmp_path / "rows.parquet", LOG))
    words = " ".join(reports.fit_warnings(found))
    assert found.histories.empty == 1 and "The empty history of 1 sample counts as one event" in words
    assert found.histories.going_on == pytest.approx(148 / 150) and "do not go on by one event" in words


def test_rows_with_lists_count_the_duplicates_of_the_cut_histories(tmp_path: Path) -> None:
    rows, _ = sliding_rows(60, 4, 1.0)
    fit = fitted(write(rows, tmp_path / "rows.parquet", LOG), cap=10, batch=120).histories
    cut = [row[-10:].tolist() for row in rows["item"]]
    is_first = (np.arange(240) % 4 == 0).tolist()
    events = sum(len(row) if first else 1 for row, first in zip(cut, is_first, strict=True))
    different = sum(len({item for row in cut[low : low + 120] for item in row}) for low in (0, 120))
    lookups = sum(map(len, cut))
    assert fit and fit.counted == (2, events / lookups, (different / lookups,))


def test_the_first_row_of_a_user_in_a_batch_has_all_its_events_new(tmp_path: Path) -> None:
    lists = [[*range(n, n + 4)] for n in range(120)]  # each user's row goes on one event further
    rows = pd.DataFrame({"user": np.arange(120) // 40, "item": lists})
    fit = fitted(write(rows, tmp_path / "rows.parquet", LOG), batch=20).histories
    assert fit and fit.going_on == 1 and fit.is_user_major
    assert fit.counted.events == (4 + 19) / 80  # a user has two batches, of which the later one repeats events of the former


def test_a_row_that_is_two_events_longer_does_not_go_on_by_one(tmp_path: Path) -> None:
    jumps = [[*range(2 * n, 2 * n + 4)] for n in range(60)]  # each last event but one is not the last event before
    longer = [[5] * (2 * n + 2) for n in range(60)]  # it is, but the row has two more events
    for rows in (jumps, longer):
        path = write(pd.DataFrame({"user": 1, "item": rows}), tmp_path / "rows.parquet", LOG)
        assert fitted(path).histories.going_on == 0


@pytest.mark.parametrize("users", [[*range(30)] * 2, [0, 1] * 30, [0, 0, 1, 0] + [1] * 60])
def test_samples_of_a_user_stand_together_only_where_none_is_between(tmp_path: Path, users: list[int]) -> None:
    log = pd.DataFrame({"user": users, "item": np.arange(len(users))})
    assert not fitted(write(log, tmp_path / "log.csv", LOG)).histories.is_user_major
    assert fitted(write(log.sort_values("user", kind="stable"), tmp_path / "log.csv", LOG)).histories.is_user_major


def test_a_mean_that_no_sample_can_have_names_a_cap(tmp_path: Path) -> None:
    log = pd.DataFrame({"user": 1, "item": np.arange(30_000) % 50})
    path = write(log, tmp_path / "log.csv", LOG)
    with pytest.raises(
        BadFile, match=r"have 15,000 in the mean, but a sample has at most 10,000; set data\.history_cap to 10,000"
    ):
        fitted(path, cap=1_000_000)
    assert fitted(path, cap=10_000, batch=1024).histories.batch == 1024
    short = write(log.assign(user=np.arange(30_000) // 3), tmp_path / "short.csv", LOG)
    assert fitted(short, cap=1_000_000, batch=1024).histories.batch == 1024


@pytest.mark.parametrize("uses", [2, 3, 9])
def test_ids_that_are_all_used_equally_often_have_exponent_0(tmp_path: Path, uses: int) -> None:
    names = pd.Series(np.arange(3000) // uses).map("u{}".format)
    log = pd.DataFrame({"user": names, "item": pd.Series(np.tile(np.arange(30), 100)).map("i{}".format)})
    user, item = fitted(write(log, tmp_path / "log.csv", LOG)).tables
    users = 3000 / uses
    assert (user.law.s, item.law.s, item.law.rows) == (0, 0, 30)
    seen = user.law.rows * -np.expm1(-3000 / user.law.rows)  # of so many equally popular users, after 3,000 events
    assert user.law.rows >= users and seen == pytest.approx(users, abs=1)


def test_a_spread_that_no_cut_law_has_is_narrowed(tmp_path: Path) -> None:
    lengths = [1] * 30 + [100] * 30
    rows = pd.DataFrame({"user": np.arange(60), "item": [np.arange(length) for length in lengths]})
    fit = fitted(write(rows, tmp_path / "rows.parquet", LOG)).histories
    assert fit.cap == 100 and fit.largest_length_gap > 0.1 and fit.pooling == 50
    equal = rows.assign(item=[np.arange(9)] * 60)
    fit = fitted(write(equal, tmp_path / "equal.parquet", LOG)).histories
    assert (fit.cap, fit.pooling, fit.length_cv, fit.longest) == (9, 9, 0.0, 9)
    nearly = rows.assign(item=[np.arange(9)] * 59 + [np.arange(6)])
    fit = fitted(write(nearly, tmp_path / "nearly.parquet", LOG)).histories
    assert fit.pooling == 9 and fit.length_cv == 0 < fit.cv


def test_the_command_fits_states_trains_and_reads_bags_if_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(9)
    log = pd.DataFrame({"who": np.sort(random.integers(0, 30, 1500)), "what": zipf(random, 90, 1.0, 1500)})
    path, toml, answer = str(write(log, tmp_path / "log.csv")), str(tmp_path / "fit.toml"), tmp_path / "fit.json"
    stated = ["--user", "who", "--history", "what", "--preset", "tiny", "--set", "data.history_cap=20"]
    assert main(["workload", "fit", path, *stated, "--toml", toml, "--json", str(answer)]) == 0
    scenario = scenario_file(Path(toml))
    assert scenario.model.feature_kind == ("bag", "sequence") or scenario.model.feature_kind == ("sequence", "bag")
    assert scenario.data.history_cap == 20 and scenario.data.samples_per_user > 10 and is_sequential(scenario.model)
    told = json.loads(answer.read_text(encoding="utf-8"))["histories"]
    assert told["cap"] == 20 and told["unique_rows"]["what"]["file"] > 0
    assert sum(row["File [%]"] for row in told["lengths"]) == pytest.approx(100)
    assert sum(row["Fit [%]"] for row in told["lengths"]) == pytest.approx(100)
    assert "Each row is an event of a user (who)" in told["sentences"][0] and "add --bags" in told["sentences"][0]
    capsys.readouterr()
    assert main(["run", "--scenario", toml, "--set", "run.batches=3", "--set", "data.held_out_samples=64"]) == 0
    assert "Trained on a smaller model" in capsys.readouterr().out
    for option in ("--user", "--history"):
        assert main(["workload", "fit", path, *stated, option, " ,"]) == 2
        assert f"{option} names no column" in capsys.readouterr().err
    assert main(["workload", "fit", path, *stated, "--bags"]) == 2
    assert "--bags reads no histories, so --user has no effect; leave out one of them." in capsys.readouterr().err
    Path(f"{path}.toml").write_text('ids = ["who", "what"]\nuser = "who"\nhistory = ["what"]\n', encoding="utf-8")
    assert main(["workload", "fit", path, "--preset", "tiny", "--bags", "--toml", toml]) == 0
    assert not is_sequential(scenario_file(Path(toml)).model)


def test_a_base_with_histories_takes_a_file_of_bags_and_one_of_histories(tmp_path: Path) -> None:
    log = pd.DataFrame({"user": np.arange(900) // 30, "item": np.arange(900) % 77})
    base = preset("dlrm-v4-mi350x").scenario
    path = write(log, tmp_path / "log.csv", LOG)
    assert window_of(base) == (4086, 1024) and window_of(with_values(TINY, {"machine.num_gpus": 2})).cap is None
    sequences = fitted(path, *window_of(base)).scenario(base)
    assert sequences.data.history_cap == 4086 and sequences.model.pooling == (1, 16)
    bags = fit_file(lookups_of(path)).scenario(base)
    assert not is_sequential(bags.model) and bags.model.interaction == "concat"
