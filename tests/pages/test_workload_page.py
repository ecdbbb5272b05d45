"""The Workload page: does it answer in numbers that agree with the engine, and keep its question in the link?"""

import re

import altair
import numpy as np
import pytest

from engine.core.figures import figure, percent
from engine.insight import data_profile
from engine.insight.data_profile import HOTTEST_STAY, LRU, LRU_BY_TABLE, ROW_SHARES
from engine.insight.memory.cache_locks import finding, lock_curve
from engine.scenario.presets import preset
from engine.scenario.scenario import per_table, with_values
from engine.workload import source
from pages.answers import data_file, later
from pages.data_page import cache_size, counting, lock_charts, workload_charts, workload_tables
from pages.ui import numbers
from tests import apps
from tests.caches.reference_caches import cache_misses
from tests.cases import each
from tests.workload.readers import made_up_criteo

QUERY = {"preset": "dlrm-kaggle", "policy.cache_load_factor": "0.015"}


def opened(query=None):
    return apps.opened("data", query or QUERY)


def titles(app):
    said = [element.value.replace("\\", "") for element in (*app.header, *app.markdown)]
    return [*said, *apps.chart_words(app).values()]


def cache_field(app):
    return app.text_input(key=cache_size.FIELD)


def test_the_page_answers_for_the_cache_of_the_link():
    app = opened()
    assert not app.exception and not app.error and any(one.label.startswith("Your own data") for one in app.expander)
    answer, *findings = titles(app)
    found = workload_tables.expected_profile(workload_tables.profile_scenario(preset("optane-kaggle").scenario))
    hits = [percent(found.hit_rate(policy, 0.015)) for policy in (LRU, HOTTEST_STAY)]
    assert answer == (
        f"A cache of 34.4 MB (1.5 % of the rows) has an LRU hit rate of {hits[0]}, and a hot-row hit rate of {hits[1]}"
    )
    assert any(text.startswith("The hottest 1 % of the rows get 94.8 % of the lookups") for text in findings)
    assert any("uses the share of rows as hit rate, which alone is a factor of " in text for text in findings)
    assert any("of the misses are in the 16 smallest tables, which take" in text for text in findings)


@pytest.mark.parametrize("batch_size", [2048, 3000, 8192])
def test_unique_rows_are_told_of_a_batch_as_large_as_the_scenarios(batch_size):
    scenario = with_values(preset("tiny").scenario, {"data.batch_size": batch_size})
    profiles = [
        data_profile.expected_profile(scenario),
        data_profile.counted_profile(scenario, [*map(source.source(scenario).ids, range(32))]),
    ]
    for profile in profiles:
        told = workload_tables.batches_sentence(profile, batch_size)
        assert told.startswith(f"A batch of {batch_size:,} samples uses "), told


def test_uneven_bags_are_told_in_a_sentence_and_even_ones_not_at_all():
    app = opened({"preset": "dlrm-kaggle", "data.bag_length_cv": "1"})  # a Poisson's: e^-1 are empty, 1.9 % have more than 3
    told = [one.value for one in app.caption if one.value.startswith("The bag length varies in 26 of 26 tables")]
    assert len(told) == 1 and "36.8 % of their bags are empty" in told[0] and "at most 1 % have more than 4" in told[0]
    assert workload_tables.bags_sentence(preset("optane-kaggle").scenario) == ""
    histories = workload_tables.bags_sentence(preset("dlrm-v4-mi350x").scenario)
    assert histories == "Histories have 2,628 events in the mean, with a spread of 25 %, and none more than 4,086."


def test_a_size_in_gigabytes_becomes_the_knob_of_the_link_and_a_bad_one_is_refused():
    app = opened()
    whole = sum(preset("optane-kaggle").scenario.model.num_embeddings) * 68 / 1e9
    assert cache_size.parse_size(cache_field(app).value) == pytest.approx(0.015 * whole * 1e9, rel=5e-3)
    cache_field(app).set_value(str(whole / 2)).run()
    assert app.query_params["policy.cache_load_factor"] == "0.5" and "50 % of the rows" in titles(app)[0]
    cache_field(app).set_value("plenty").run()
    assert any("'plenty' is not a cache size" in one.value.replace("\\", "") for one in app.caption)
    assert "50 % of the rows" in titles(app)[0] and not app.exception


def test_a_hit_rate_brings_the_smallest_cache_that_has_it_and_one_that_none_has_is_refused():
    app = opened()
    found = workload_tables.expected_profile(workload_tables.profile_scenario(preset("optane-kaggle").scenario))
    app.text_input(key="cache hit rate").set_value("99").run()
    share = float(app.query_params["policy.cache_load_factor"])
    assert (
        found.hit_rate(LRU, share) == pytest.approx(0.99, abs=1e-4)
        and len(str(share)) <= 6
        and "has an LRU hit rate of 99 %" in titles(app)[0]
    )
    assert (
        found.hit_rate(LRU, 0.999 * share) < 0.99 <= found.hit_rate(LRU, share)
        and app.text_input(key="cache hit rate").value == "99 %"
    )
    for typed in ("101", "most", "-1 %", "nan"):
        app.text_input(key="cache hit rate").set_value(typed).run()
        assert any(f"'{typed}' is not a hit rate that a cache can reach" in one.value.replace("\\", "") for one in app.caption)
        assert float(app.query_params["policy.cache_load_factor"]) == share and not app.exception


def test_the_knee_of_a_locked_cache_is_drawn_for_systems_that_lock():
    app = opened({"preset": "torchrec-terabyte"})
    scenario = preset("torchrec-terabyte").scenario
    points = lock_curve(scenario)
    assert any(title.startswith(finding(scenario, points)) for title in titles(app)) and not app.exception
    frame = lock_charts.rows(scenario, points)
    marked = frame[frame["name"] == ""]
    assert len(marked) == 1 and points[-1].share == 0.2, "the cache's own size is the largest that is drawn"
    near = lock_charts.rows(with_values(scenario, {"policy.cache_load_factor": points[5].share}), points)
    assert near[near["name"] == ""]["x"].tolist() == pytest.approx([points[5].gigabytes])
    assert not any("rows of two batches" in title for title in titles(opened({"preset": "optane-kaggle"})))


def test_real_ids_are_counted_on_demand_and_shown_beside():
    app = opened({"preset": "tiny", "data.batch_size": "256"})
    app.toggle(key="count").set_value(True).run()
    assert not app.exception and any(
        "counted in " in one.value and "drawn from the generator" in one.value for one in app.caption
    )
    assert sum(name.startswith("Misses, counted") for name in app.dataframe[1].value.columns) == 3


def test_a_counted_profile_is_that_of_exact_caches_and_the_expected_one_is_near():
    scenario = with_values(preset("tiny").scenario, {"data.popularity": "zipf", "data.batch_size": 256})
    origin = source.source(scenario)
    batches = [origin.ids(n) for n in range(40)]
    found, near = data_profile.counted_profile(scenario, batches), data_profile.expected_profile(scenario)
    total = sum(map(len, batches))
    for share in (0, 4, 8, 12):
        exact = 1 - cache_misses(batches, ROW_SHARES[share] * found.rows).sum() / total
        assert found.hits[LRU][share] == pytest.approx(exact)
    assert found.hits[HOTTEST_STAY][8] == pytest.approx(near.hits[HOTTEST_STAY][8], abs=0.05)
    for rate in (*found.hits.values(), *near.hits.values()):
        assert np.diff(rate).min() >= -1e-9 and rate[0] >= -1e-9 and rate[-1] <= 1 + 1e-9
    ids, before = batches[1], batches[0]
    assert found.by_batch[0] == (256, len(set(ids.tolist())) / len(ids), float(np.mean([row in before for row in ids])))
    assert set(near.hits) == {LRU, LRU_BY_TABLE, HOTTEST_STAY}


def test_a_served_file_is_counted_at_the_press_of_a_button_and_left_again(tmp_path, monkeypatch):
    path = tmp_path / "own.csv"
    path.write_bytes(made_up_criteo.csv(made_up_criteo.rows(400)))
    monkeypatch.setattr("sys.argv", ["app.py", "--data", str(path)])
    data_file.start_file.cache_clear()
    try:
        app = opened({"preset": "dlrm-kaggle", "data.batch_size": "64"})
        app.button(key="served").click().run()
        assert app.query_params["data.digest"] == data_file.start_file().digest and not app.exception and not app.error
        assert any("of the data file" in one.value for one in app.markdown)
        app.button(key="generator").click().run()
        assert app.session_state["scenario"].data.digest == "" and not app.exception
    finally:
        data_file.start_file.cache_clear()


def test_a_counted_trace_says_how_many_lookups_miss_in_any_cache():
    scenario = workload_tables.profile_scenario(with_values(preset("tiny").scenario, {"data.batch_size": 64}))
    found = workload_tables.counted_profile(scenario, 4000)
    origin = source.source(scenario)
    batches = [origin.ids(n) for n in range(4000 // len(origin.ids(0)))]
    ids = np.concatenate(batches)
    first = percent(len(np.unique(ids)) / len(ids))
    assert workload_tables.first_uses(found).startswith(f"{first} of these lookups are the first use of their row")
    ends = 64 * np.cumsum((0, *per_table(scenario.model, "pooling")))
    for t, size in enumerate(found.table_rows):
        part = [batch[ends[t] : ends[t + 1]] for batch in batches]
        exact = 1 - cache_misses(part, ROW_SHARES[12] * size).sum() / sum(map(len, part))
        assert found.by_table[t][12] == pytest.approx(exact)
    assert found.by_table.shape == (3, len(ROW_SHARES)) and found.weight.sum() == pytest.approx(1)


def test_the_way_from_the_planner_to_the_hits_multiplies_up_and_small_tables_are_told():
    found = workload_tables.expected_profile(workload_tables.profile_scenario(preset("optane-kaggle").scenario))
    steps = workload_tables.planner_steps(found, 0.01)
    rates, factors = list(steps["Bandwidth [GB/s]"]), list(steps["Factor [x]"])
    assert rates[0] == pytest.approx((0.01 * 897 + 0.99 * 32) / 10) and np.prod(factors) == pytest.approx(rates[-1] / rates[0])
    hit = found.hit_rate(HOTTEST_STAY, 0.01)
    assert rates[-1] == pytest.approx(1 / (hit / 897 + (1 - hit) / 32))
    told = workload_tables.tables_sentence(found, 0.01)
    small = [size for size in found.table_rows if size <= workload_tables.SMALL_TABLE]
    assert f"in the {len(small)} smallest tables, which take {figure(sum(small) * 68, 'B')}" in told
    frame = workload_tables.by_table(found)
    assert len(frame) == 26 * len(ROW_SHARES) and frame.rows.is_monotonic_decreasing


@each(("nbytes", "words"), [(0, "0 B"), (21.6e6, "21.6 MB"), (1.944e9, "1.94 GB"), (2.0e12, "2.00 TB"), (640, "640 B")])
def test_sizes_are_read_in_three_digits(nbytes, words):
    assert numbers.size(nbytes) == words


def test_the_sizes_that_hit_enough_are_where_the_curve_says():
    found = workload_tables.expected_profile(workload_tables.profile_scenario(preset("optane-kaggle").scenario))
    told = workload_tables.sizes_sentence(found)
    sizes = [float(value) * {"k": 1e3, "M": 1e6, "G": 1e9}[unit] for value, unit in re.findall(r"with ([0-9.]+) ([kMG])B", told)]
    hits = [found.hit_rate(LRU, size / (found.rows * found.row_bytes)) for size in sizes]
    assert hits == pytest.approx([0.9, 0.95, 0.99], abs=2e-3)
    short = workload_tables.counted_profile(workload_tables.profile_scenario(preset("optane-kaggle").scenario), 50_000)
    assert re.fullmatch("An LRU cache of any size hits at most [0-9.]+ % of these lookups", workload_tables.sizes_sentence(short))


def test_the_charts_are_valid_and_a_policy_keeps_its_colour():
    names = workload_tables.curve_names(workload_tables.POLICIES, ())
    for spec in (
        workload_charts.lines("x", "y", names),
        workload_charts.lines("x", "y", (workload_charts.HOTTEST,), ticks=(1, 2)),
    ):
        altair.LayerChart.from_dict({**spec, "data": {"values": []}}).to_dict()
        assert "#9c6b3f" in str(spec)
    altair.Chart.from_dict({**workload_charts.tables(), "data": {"values": []}}).to_dict()


def test_a_profile_that_takes_long_is_announced_in_the_box_that_then_holds_the_answer(monkeypatch):
    def waited(find, *given, meanwhile=lambda: None):
        meanwhile()
        return find(*given)

    monkeypatch.setattr(counting, "BOX_AFTER", -1.0)
    monkeypatch.setattr(workload_tables, "has_many_table_kinds", lambda scenario: True)
    monkeypatch.setattr(later, "cached_result", waited)
    app = apps.opened("data", {"preset": "tiny", "data.batch_size": "23"})
    assert not app.exception and [header.value for header in app.header if "A cache of" in header.value]
    assert not [header for header in app.header if header.value.startswith("Computing")]
