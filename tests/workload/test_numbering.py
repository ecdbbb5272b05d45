"""Do a file's ids fill a table in the order first seen where all fit, are they hashed as a whole where not, and is it said?"""

from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.caches.stack_distance import curve
from engine.errors import BadInput
from engine.insight.data_profile import LRU, ROW_SHARES
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.simulate import simulate
from engine.sweep import links
from engine.workload.readers import blocks, numbering
from engine.workload.readers.file_tables import numbering_note, row_use
from engine.workload.readers.formats import read_file
from engine.workload.readers.numbering import IdIndex
from engine.workload.source import source
from pages.data_page import workload_tables

RANDOM = np.random.default_rng(5)
COUNT = 3000
FRAME = pd.DataFrame(
    {
        "click": RANDOM.integers(0, 2, COUNT),
        "user": [f"u{n}" for n in RANDOM.zipf(1.3, COUNT) % 300],
        "item": RANDOM.zipf(1.2, COUNT) % 700,
    }
)
DISTINCT = (FRAME["user"].nunique(), FRAME["item"].nunique())
SHAPE = {
    "model.num_tables": 2,
    "model.pooling": (1,),
    "model.bottom_mlp": (1, 8, 4),
    "data.popularity": "zipf",
    "data.batch_size": 50,
}


def log(folder: Path, kind: str = "csv", more: str = "") -> Path:
    path = folder / f"clicks.{kind}"
    FRAME.to_csv(path, index=False) if kind == "csv" else FRAME.to_parquet(path, index=False)
    Path(f"{path}.toml").write_text(f'label = "click"\nids = ["user", "item"]\n{more}')
    return path


def asked(rows: tuple[int, int], **knobs: object) -> Scenario:
    return with_values(preset("tiny").scenario, {**SHAPE, "model.num_embeddings": rows, **knobs})


def rows_of(scenario: Scenario, path: Path) -> np.ndarray:
    """Return (fields, samples) local rows of the training samples."""
    origin = source(scenario, read_file(path))
    every = np.concatenate([origin.ids(n).reshape(2, 50) for n in range(54)], axis=1)
    return every - origin.first_rows[:2, None]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("block", [1 << 22, 1 << 9])
def test_ids_that_fit_are_numbered_as_pandas_numbers_them(tmp_path, monkeypatch, kind, block):
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    found = rows_of(asked(DISTINCT), log(tmp_path, kind))
    for field, column in enumerate(("user", "item")):
        assert found[field].tolist() == pd.factorize(FRAME[column])[0][:2700].tolist()


@pytest.mark.parametrize("less", [0, 1])
def test_a_column_with_one_id_too_many_is_hashed_as_a_whole_and_the_other_is_not(tmp_path, less):
    path = log(tmp_path)
    found = rows_of(asked((DISTINCT[0] - less, DISTINCT[1])), path)
    hashed = rows_of(asked((DISTINCT[0] - less, DISTINCT[1]), **{"data.id_numbering": "hashed"}), path)
    assert (found[0] == hashed[0]).all() == bool(less)
    assert found[1].tolist() == pd.factorize(FRAME["item"])[0][:2700].tolist()


def test_what_is_said_of_rows_is_what_a_count_of_them_says(tmp_path):
    path = log(tmp_path)
    for rows in (DISTINCT, (DISTINCT[0] + 40, 100), (7, 5)):
        scenario = asked(rows)
        origin = source(scenario, read_file(path))
        used = [
            len(
                np.unique(
                    np.concatenate(
                        [origin.ids(n).reshape(2, 50)[t] for n in range(54)] + [origin.held_out().ids.reshape(2, -1)[t]]
                    )
                )
            )
            for t in range(2)
        ]
        uses = row_use(scenario, read_file(path))
        assert [one.used_rows for one in uses] == used and [one.distinct_ids for one in uses] == list(DISTINCT)
        assert f"{sum(rows) - sum(used):,} of {sum(rows):,} rows stay empty" in numbering_note(scenario, read_file(path))
    said = numbering_note(asked(DISTINCT), read_file(path))
    assert said == f"Ids are numbered as rows in the order first seen in all tables; 0 of {sum(DISTINCT):,} rows stay empty."
    assert "Ids are hashed into rows in all tables; " in numbering_note(
        asked(DISTINCT, **{"data.id_numbering": "hashed"}), read_file(path)
    )
    said = numbering_note(asked((DISTINCT[0], 100)), read_file(log(tmp_path, more='rows = "first seen first"\n')))
    assert f"{DISTINCT[1] - 100} of {sum(DISTINCT):,} ids share another id's row" in said
    result = simulate(asked(DISTINCT, **{"run.batches": 3}), path)
    assert any("order first seen" in note for note in result.notes)


def test_a_second_pass_and_a_resumed_run_see_the_same_rows(tmp_path):
    path, knobs = log(tmp_path), {"run.batches": 60, "faults.power_loss_at_seconds": (0.0003,)}
    whole = simulate(asked(DISTINCT, **{"run.batches": 60}), path)
    cut = simulate(asked(DISTINCT, **knobs), path)
    assert cut.events and cut.results["AUC"] == whole.results["AUC"]
    again = source(asked(DISTINCT), read_file(path))
    assert np.array_equal(again.ids(54), source(asked(DISTINCT), read_file(path)).ids(54))


def test_too_many_ids_are_hashed_and_nothing_else_changes(tmp_path, monkeypatch):
    path = log(tmp_path)
    hashed = rows_of(asked((1 << 20, 1 << 20), **{"data.id_numbering": "hashed"}), path)
    monkeypatch.setattr(numbering, "MOST_SEEN", 64)
    assert np.array_equal(rows_of(asked((1 << 20, 1 << 20)), path), hashed)
    assert read_file(path).distinct == (None, None)
    assert "more ids than are counted" in numbering_note(asked((1 << 20, 1 << 20)), read_file(path))


def test_a_mapping_that_says_hashed_and_a_link_of_before_stay_hashed(tmp_path):
    mapped = rows_of(asked(DISTINCT), log(tmp_path, more='rows = "hashed"\n'))
    chosen = rows_of(asked(DISTINCT, **{"data.id_numbering": "hashed"}), log(tmp_path))
    assert np.array_equal(mapped, chosen)
    digest = "ab" * 32
    opened = links.open_link(f"/design?preset=tiny&data.digest={digest}&v=6&model=0.11")
    assert opened.scenario.data.id_numbering == "hashed" and "hashed" in opened.banner
    assert links.open_link(f"/design?preset=tiny&data.digest={digest}&v=7&model=0.12").scenario.data.id_numbering == "first-seen"
    todays = "machine.prices=2026&machine.host_dram_channels=auto&machine.framework=pytorch-graph"
    assert links.open_link(f"/design?preset=tiny&{todays}&v=6&model=0.11").scenario == preset("tiny").scenario


def lru_hits(keys: list[object], size: int) -> int:
    """Return how many of these keys an LRU cache of a size hits."""
    cache: OrderedDict[object, None] = OrderedDict()
    hits = 0
    for key in keys:
        hits += key in cache
        cache[key] = None
        cache.move_to_end(key)
        if len(cache) > size:
            cache.popitem(last=False)
    return hits


def test_figures_of_data_are_those_of_the_raw_file(tmp_path):
    scenario, path = asked(DISTINCT), log(tmp_path)
    held = with_values(scenario, {"data.digest": read_file(path).digest})
    found = workload_tables.counted_profile(held, 54 * 100, str(path))
    raw = [(column, key) for n in range(54) for column in ("user", "item") for key in FRAME[column][50 * n : 50 * n + 50]]
    often, rows = sorted(Counter(raw).values(), reverse=True), sum(DISTINCT)
    sizes = [int(share * rows) for share in ROW_SHARES]
    lru = [lru_hits(raw, size) / len(raw) for size in sizes]
    assert curve(batches(scenario, path)).hit_rate(np.array(sizes, float)) == pytest.approx(lru, abs=1e-12)
    assert found.hits[LRU][-1] == pytest.approx(1 - len(often) / len(raw), abs=1e-12), "all but the first lookup of each row"
    whole = [place for place, share in enumerate(ROW_SHARES) if share * rows >= 1]
    hottest = np.interp(ROW_SHARES * rows, np.arange(len(often) + 1), np.concatenate(([0], np.cumsum(often)))) / len(raw)
    assert found.popularity[whole] == pytest.approx(hottest[whole], abs=1e-12)


def batches(scenario: Scenario, path: Path) -> list[np.ndarray]:
    origin = source(scenario, read_file(path))
    return [origin.ids(n) for n in range(54)]


def test_a_file_is_copied_onto_more_tables_only_where_the_model_says_so(tmp_path):
    path = log(tmp_path)
    with pytest.raises(BadInput, match=r"clicks.csv has 1 dense feature") as refused:
        source(preset("optane-kaggle").scenario, read_file(path))
    words = str(refused.value)
    assert f"'model.num_embeddings={DISTINCT[0]};{DISTINCT[1]}'" in words and "workload fit clicks.csv --toml" in words
    doubled = asked((*DISTINCT, *DISTINCT), **{"model.num_tables": 4})
    with pytest.raises(BadInput, match=r"set --set model\.num_tables=2"):
        source(doubled, read_file(path))
    assert len(source(with_values(doubled, {"model.field_copies": 2}), read_file(path)).ids(0)) == 200


@given(st.lists(st.lists(st.integers(0, 400), max_size=300), max_size=12), st.integers(0, 1))
def test_the_index_numbers_tokens_as_pandas_does(parts, grown):
    index = IdIndex()
    index.known_tokens, index.slots = (
        (index.known_tokens[:64].copy(), index.slots[:128].copy()) if grown else (index.known_tokens, index.slots)
    )
    for part in parts:
        index.add(np.array(part, dtype=np.uint64))
    every = np.array([token for part in parts for token in part], dtype=np.uint64)
    assert index.numbers(every).tolist() == pd.factorize(every)[0].tolist()
    assert index.tokens().tolist() == list(dict.fromkeys(every.tolist())) and index.count == len(index.tokens())


def test_columns_that_together_have_too_many_ids_are_hashed_from_the_largest_on(tmp_path, monkeypatch):
    monkeypatch.setattr(numbering.drop_largest, "__defaults__", (sum(DISTINCT) - 1,))
    assert DISTINCT[0] < DISTINCT[1] and read_file(log(tmp_path)).distinct == (DISTINCT[0], None)
