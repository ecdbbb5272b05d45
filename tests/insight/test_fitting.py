"""Does a fit find the laws, the locality and the clicks that lookups were drawn from, and say where its form does not fit?"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.insight.fitting import reports
from engine.insight.fitting.counting import LookupCounts, blocks, count_table, held_back_shares
from engine.insight.fitting.fit import GeneratorFit, fit_file, lookups_of
from engine.insight.fitting.law import fit_law
from engine.scenario.presets import scenario_file
from engine.scenario.scenario import with_values
from engine.sweep.links import open_link
from engine.workload import bags
from engine.workload.locality import LocalityStream
from engine.workload.popularity import popularities, zipf
from engine.workload.readers.recording import Recording
from engine.workload.sampling import Recipe
from engine.workload.spectrum import head_mass, spectrum
from tests.cases import each
from tests.machines import TINY
from tests.workload.readers.test_formats import INDICES, LENGTHS, a_trace

RANDOM = np.random.default_rng(5)


def drawn(s: float, q: float, hottest: float, once: float, rows: int, lookups: int, locality: float = 0.0) -> np.ndarray:
    return LocalityStream(Recipe((zipf(s, q, hottest, once, rows),), (1,), 1, 3, 0.5), lookups, locality).ids(0)


def recorded(*fields: np.ndarray, clicks: float = 0.25, hashed: bool = True) -> Recording:
    tokens = np.stack(fields, axis=1).astype(np.uint64)
    labels = (RANDOM.random(len(tokens)) < clicks).astype(np.float32)
    return Recording("own.csv", np.zeros((len(tokens), 1), np.float32), tokens, labels, (1,) * len(fields), hashed)


@each(
    ("s", "q", "hottest", "once", "rows"),
    [(1.1, 0.0, 0.0, 0.0, 100_000), (0.8, 50.0, 0.3, 0.05, 300_000), (1.6, 7e4, 0.0, 0.0, 400_000), (2.0, 20.0, 0.0, 0.0, 4000)],
    few=1,
)
def test_the_law_that_lookups_were_drawn_from_is_found_and_the_rows_that_they_have_not_shown(
    s: float, q: float, hottest: float, once: float, rows: int
) -> None:
    counts = np.bincount(drawn(s, q, hottest, once, rows, 600_000))
    found = fit_law(counts, int(np.count_nonzero(counts)), True)
    assert found.rows == pytest.approx(rows, rel=0.15) and found.hottest_share == pytest.approx(hottest, abs=0.002)
    hottest_rows = [1, 10, 100, 1000, 10_000, 100_000]
    true, own = (spectrum(law) for law in (zipf(s, q, hottest, once, rows), zipf(*found.knobs(), found.rows)))
    assert head_mass(own, hottest_rows) == pytest.approx(head_mass(true, hottest_rows), abs=0.008)
    kept = fit_law(counts, int(np.count_nonzero(counts)), False)
    assert kept.rows == np.count_nonzero(counts)


@pytest.fixture(scope="module")
def fitted() -> GeneratorFit:
    """Four fields of 150,000 samples with locality; half of the last one's lookups are uniform over two sizes of rows."""
    n = 150_000
    odd = np.where(RANDOM.random(n) < 0.5, RANDOM.integers(0, 40, n), RANDOM.integers(40, 30_000, n))
    return fit_file(
        recorded(drawn(1.2, 5.0, 0.0, 0.0, 20_000, n, 0.5), drawn(1.05, 0.0, 0.2, 0.0, 50_000, n, 0.5), odd, clicks=0.1)
    )


@pytest.mark.usefixtures("one_start")
def test_locality_and_clicks_are_found(fitted: GeneratorFit) -> None:
    assert fitted.click_rate == pytest.approx(0.1, abs=0.01)
    found = fit_file(recorded(drawn(1.2, 5.0, 0.0, 0.0, 20_000, 100_000, 0.5), drawn(0.9, 0.0, 0.1, 0.0, 9000, 100_000, 0.5)))
    assert found.locality == pytest.approx(0.5, abs=0.1)
    file, same, plain = found.hits
    assert np.abs(file - same).max() < 0.02 and np.abs(file - plain).max() > 0.05
    assert fit_file(recorded(drawn(1.2, 5.0, 0.0, 0.0, 20_000, 100_000))).locality < 0.05


def test_held_back_blocks_agree_where_the_form_fits_and_a_warning_names_the_table_where_it_does_not(fitted: GeneratorFit) -> None:
    assert fitted.tables[0].file_shares.largest_gap(fitted.tables[0].fit_shares) < 0.02
    words = " ".join(reports.fit_warnings(fitted))
    assert "is wrong for 1 of 3 tables" in words and "in table 3 by" in words
    assert not any(
        "Rare values come together" in sentence or "samples were counted" in sentence for sentence in reports.fit_warnings(fitted)
    )


def test_the_scenario_has_the_tables_of_the_file_and_goes_through_a_file_and_a_link(fitted: GeneratorFit, tmp_path: Path) -> None:
    base = TINY
    one = fitted.scenario(base)
    assert one.model.num_tables == 3 and one.model.bottom_mlp == (1, *base.model.bottom_mlp[1:])
    assert [law.rows for law in popularities(one)] == [table.law.rows for table in fitted.tables]
    (tmp_path / "fit.toml").write_text(reports.scenario_toml(fitted, base, "tiny"))
    assert scenario_file(tmp_path / "fit.toml") == one


def test_held_back_blocks_are_counted_as_pandas_counts() -> None:
    file = recorded(drawn(1.1, 2.0, 0.0, 0.0, 3000, 20_000))
    parts = blocks(file.samples, 10_000)
    found = held_back_shares(count_table(file, 0, parts, False), 3000)
    held = [pd.Series(file.tokens[low:high, 0]) for low, high in parts[3::4]]
    before = pd.concat([pd.Series(file.tokens[low:high, 0]) for at, (low, high) in enumerate(parts) if at % 4 < 3])
    after = pd.concat(held)
    assert found.unseen == pytest.approx(1 - after.isin(before).mean())
    assert found.distinct == pytest.approx(sum(part.nunique() for part in held) / len(after))
    assert found.top[0] == pytest.approx(after.isin(before.value_counts().index[:3]).mean(), abs=0.003)
    assert {high - low for low, high in parts} == {312} and parts[0][0] == 0 and parts[-1][1] == 20_000
    assert [high for _, high in blocks(100, 1000)][-1] == 100 and len(blocks(7, 100)) == 7


def test_fields_that_hang_together_are_named() -> None:
    one = drawn(1.1, 2.0, 0.0, 0.0, 3000, 30_000)
    found = fit_file(recorded(one, 7 * one + 1))
    assert found.rarity_correlation == pytest.approx(1.0) and any(
        "Rare values come together" in sentence for sentence in reports.fit_warnings(found)
    )


def test_rows_that_are_numbers_are_as_many_as_the_largest_says() -> None:
    found = fit_file(recorded(RANDOM.integers(0, 50, 5000), np.arange(5000) % 7 * 1000, hashed=False))
    assert [table.law.rows for table in found.tables] == [50, 6001]


@pytest.mark.usefixtures("one_start")
def test_a_traces_bag_lengths_come_back_as_their_spread_and_a_law_of_others_is_warned_of(tmp_path: Path) -> None:
    wanted, random = ((3, 1.4), (2, 0.5), (5, 0.0)), np.random.default_rng(8)
    lengths = np.array([bags.draw_lengths(random, 4000, mean, cv) for mean, cv in wanted])
    a_trace(tmp_path / "t.pt", lengths, random.integers(0, 50, int(lengths.sum())))
    found = fit_file(lookups_of(tmp_path / "t.pt"))
    for (mean, cv), row, table in zip(wanted, lengths, found.tables, strict=True):
        assert table.bags.pooling == mean and table.bags.length_cv == pytest.approx(cv, rel=0.05)
        assert table.bags.empty == (row == 0).mean() == pytest.approx(table.bags.generated_empty, abs=0.02)
    given = found.scenario(TINY).data.bag_length_cv
    assert given == tuple(table.bags.length_cv for table in found.tables) and given[2] == 0
    assert not any("Bag lengths" in sentence for sentence in reports.fit_warnings(found))
    all_or_none = np.where(random.random((1, 4000)) < 0.4, 0, 10)  # the law of this spread has (2 / 8)^2 empty
    a_trace(tmp_path / "o.pt", all_or_none, random.integers(0, 50, int(all_or_none.sum())))
    other = fit_file(lookups_of(tmp_path / "o.pt"))
    told_of = next(sentence for sentence in reports.fit_warnings(other) if "Bag lengths" in sentence)
    assert told_of.startswith("Bag lengths of 1 table follow another law") and "5.95 % of the generated ones" in told_of


@pytest.mark.usefixtures("one_start")
def test_a_trace_gives_tables_and_mean_bags_and_keeps_the_dense_features_of_the_model(tmp_path: Path) -> None:
    a_trace(tmp_path / "t.pt", LENGTHS, INDICES)
    found = fit_file(lookups_of(tmp_path / "t.pt"))
    assert [table.bags.pooling for table in found.tables] == [max(round(row.sum() / 40), 1) for row in LENGTHS]
    assert found.click_rate is None and "without labels" in " ".join(reports.fit_warnings(found))
    assert found.scenario(TINY).model.bottom_mlp == TINY.model.bottom_mlp
    a_trace(tmp_path / "none.pt", LENGTHS * [[1], [0], [1]], INDICES[: int(LENGTHS[[0, 2]].sum())])
    empty = fit_file(lookups_of(tmp_path / "none.pt"))
    assert empty.tables[1].law.rows == 1 and empty.tables[2].law.rows > 1
    with pytest.raises(BadFile, match="no lookups"):
        fit_file(replace_lookups(tmp_path))


def replace_lookups(folder: Path) -> Recording:
    """Return a file whose samples are too few to hold any back."""
    whole = recorded(np.arange(2))
    return replace(whole, name=folder.name, tokens=whole.tokens[:1])


def test_measuring_nothing_held_back_is_no_error() -> None:
    assert held_back_shares(LookupCounts(1, tuple(np.zeros(int(at % 4 < 3), np.int64) for at in range(4))), 1).lookups == 0


@pytest.mark.usefixtures("one_start")
def test_the_command_writes_a_scenario_that_runs_and_a_link_that_opens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pd.DataFrame({"user": drawn(1.1, 2.0, 0.0, 0.0, 3000, 5000), "item": drawn(1.3, 2.0, 0.0, 0.0, 300, 5000)})
    rows.assign(rating=RANDOM.choice([2.0, 5.0], 5000)).to_csv(tmp_path / "own.csv", index=False)
    (tmp_path / "own.csv.toml").write_text('label = "rating >= 4"\nids = ["user", "item"]\n')
    given = ["workload", "fit", str(tmp_path / "own.csv"), "--preset", "tiny", "--set", "data.batch_size=64"]
    assert main([*given, "--toml", str(tmp_path / "f.toml"), "--json", str(tmp_path / "f.json")]) == 0
    told_ = capsys.readouterr().out
    assert "own.csv: mapped by own.csv.toml, 5,000 samples counted" in told_ and "Warning: Only 5,000 samples" in told_
    one = scenario_file(tmp_path / "f.toml")
    content = json.loads((tmp_path / "f.json").read_text())
    assert open_link(told_.partition("Link: ")[2].strip()).scenario == one == open_link(content["link"]).scenario
    assert one.data.batch_size == 64 and one.model.num_tables == 2 and len(content["tables"]) == 2
    assert main(["run", "--scenario", str(tmp_path / "f.toml"), "--set", "run.batches=5"]) == 0
    capsys.readouterr()
    assert main([*given, "--rows", "seen", "--toml", "-"]) == 0
    seen = with_values(one, {"model.num_embeddings": tuple(int(rows[name].nunique()) for name in ("user", "item"))})
    (tmp_path / "seen.toml").write_text(capsys.readouterr().out)
    assert scenario_file(tmp_path / "seen.toml").model == seen.model and seen.model.num_embeddings != one.model.num_embeddings
    assert main(["workload", "fit", str(tmp_path / "missing.csv")]) == 2
    assert "missing.csv" in capsys.readouterr().err
