"""The scoreboard: does it score what was not used alone, and does the record tell what got worse from what is merely wrong?"""

import json
from collections import Counter
from dataclasses import replace

import pytest

from engine import version
from engine.__main__ import main
from engine.campaign import reference_points
from engine.campaign.reference_points import published_figures
from engine.campaign.simulate import campaign_terms
from engine.commands import validate as command
from engine.errors import BadFile, BadInput
from engine.faults.fault import Hazard
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import per_table, with_values
from engine.validation import accepted, workload_figures
from engine.validation.claims import SAMPLES, claims, families
from engine.validation.scoreboard import (
    PublishedNumber,
    by_family,
    family_score,
    json_rows,
    rank_correlation,
    score_lines,
    scores,
)
from engine.validation.validate import ClaimVerdict, validate
from pages.evidence_page import verdict_tables
from tests.cases import each

ONE = PublishedNumber("made up: one", "Scale-out", "out of sample", 10.0, 12.0)


def numbers(*pairs, sample="out of sample"):
    """Return a score for each published number and ours."""
    return [replace(ONE, name=f"made up: {i}", published=p, simulated_value=o, sample=sample) for i, (p, o) in enumerate(pairs)]


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Return a place for a record, which the command then reads and writes."""
    file = tmp_path / "accepted.json"
    for function in (accepted.read_record, accepted.accept_numbers):
        monkeypatch.setattr(function, "__defaults__", (file,))
    return file


@each(
    ("left", "right", "wanted"),
    [
        ((1, 2, 3), (10, 200, 3000), 1.0),
        ((1, 2, 3), (3, 2, 1), -1.0),
        ((86, 97, 99, 100, 101, 103, 106, 110, 112, 113), (2, 20, 28, 27, 50, 29, 7, 17, 6, 12), -29 / 165),
        ((1, 2, 2, 3), (1, 2, 3, 4), 4.5 / (4.5 * 5) ** 0.5),
        ((5, 5, 5), (1, 2, 3), None),
        ((5,), (1,), None),
    ],
)
def test_the_rank_correlation_is_the_closed_one_with_ties_sharing_their_rank(left, right, wanted):
    found = rank_correlation(left, right)
    assert found is None if wanted is None else found == pytest.approx(wanted)


def test_a_family_is_scored_by_what_was_not_used_alone():
    own = numbers((10, 11), (10, 8), (10, 30))
    told = family_score("Scale-out", own)
    assert (told.count, told.median_percent, told.near_percent) == (3, pytest.approx(20), pytest.approx(200 / 3))
    for sample in ("calibrated", "in sample"):
        more = by_family([*own, *numbers((10, 10), (1, 1), sample=sample)])
        assert next(one for one in more if one.family == "Scale-out") == told
    assert [one.family for one in by_family(own)] == list(families())
    assert all(
        (one.count, one.median_percent, one.rank_correlation) == (0, None, None)
        for one in by_family(own)
        if one.family != "Scale-out"
    )


def test_every_published_number_has_a_class_and_a_family_and_a_name_of_its_own():
    every = [(name, claim) for name in preset_names() for claim in claims(name) if claim.published is not None]
    assert all(claim.sample in SAMPLES and claim.family in families() for _, claim in every)
    assert len({(name, claim.title) for name, claim in every}) == len(every) > 80


def test_taobaos_second_table_is_scored_and_no_part_of_the_acceptance():
    told = [figure for figure in workload_figures.scored_figures() if "advertisements" in figure.group]
    assert [figure.number for figure in told] == [20.1, 48.9, 65.2, 81.0, 95.3, 59.3, 73.6, 86.5, 97.1]
    assert {figure.sample for figure in told} == {"in sample"}
    assert [figure.name for figure in told if not figure.passed] == ["1 % of rows"], "small caches want more locality"


def test_protections_are_scored_where_full_checkpoints_cost_what_is_published():
    times_fewer, partial = reference_points.protection_figures()
    assert [(one.number, one.number_to) for one in (times_fewer, partial)] == [(6.0, 17.0), (0.53, 0.68)]
    shared = with_values(preset("torchrec-terabyte").scenario, {"system": "all-hbm"})
    mtbf = reference_points.mtbf_where_full_costs(shared, 8.35)
    full, cpr = (campaign_terms(shared, name, {"gpu-crash": Hazard(mtbf)})[0].plan for name in ("periodic-full", "cpr"))
    assert reference_points.overhead_percent(full) == pytest.approx(8.35, rel=1e-3)
    assert partial.simulated_value == pytest.approx(
        100 * cpr.pause / (2 * 0.1 * 8 * mtbf), rel=1e-3
    )  # half a period lost, of an eighth


def test_what_is_as_wrong_as_accepted_or_less_is_nothing_new_and_what_is_worse_is_told(record):
    accepted.accept_numbers([ONE], "a reason")
    held = accepted.read_record()
    assert (held.model, held.reason, held.numbers[ONE.name].simulated_value) == (version.MODEL, "a reason", 12.0)
    assert accepted.worse_numbers(held, [ONE], every=True) == ()
    assert accepted.worse_numbers(held, [replace(ONE, simulated_value=11.0)], every=True) == ()
    assert accepted.worse_numbers(held, [replace(ONE, simulated_value=8.0)], every=True) == ()  # as far off on the other side
    (little,) = accepted.worse_numbers(held, [replace(ONE, simulated_value=12.3)], every=True)
    assert "3.00 points further off" in little and "ours was" not in little
    (much,) = accepted.worse_numbers(held, [replace(ONE, simulated_value=13.0)], every=True)
    assert "10.0 points" in much and "ours was 12.0 and is 13.0, for 10" in much
    assert accepted.worse_numbers(held, [replace(ONE, simulated_value=float("nan"))], every=True)


def test_a_changed_a_new_and_a_lost_published_number_are_noticed(record):
    accepted.accept_numbers([ONE], "a reason")
    held = accepted.read_record()
    assert "published is 11 now, and was 10" in accepted.worse_numbers(held, [replace(ONE, published=11.0)], every=True)[0]
    assert "not in the accepted record" in accepted.worse_numbers(held, [ONE, replace(ONE, name="made up: two")], every=True)[0]
    assert "no longer claimed" in accepted.worse_numbers(held, [], every=True)[0]
    assert accepted.worse_numbers(held, [], every=False) == ()


def test_the_record_is_not_written_over_what_got_worse_unless_the_model_version_rose(record, monkeypatch):
    accepted.accept_numbers([ONE], "a reason")
    before, off = record.read_bytes(), replace(ONE, simulated_value=13.0)
    with pytest.raises(BadInput, match="1 number got worse"):
        accepted.accept_numbers([off], "it is said so")
    assert record.read_bytes() == before
    accepted.accept_numbers([replace(ONE, simulated_value=11.9)], "better needs no version")
    with pytest.raises(BadInput, match="reason"):
        accepted.accept_numbers([ONE], " ")
    major, minor = version.MODEL.split(".")
    monkeypatch.setattr(version, "MODEL", f"{major}.{int(minor) + 1}0")
    accepted.accept_numbers([off], "a better law, at this number's cost")
    assert accepted.read_record().numbers[ONE.name].simulated_value == 13.0 and accepted.read_record().model == version.MODEL


WHOLE = '{"model": "1.0", "date": "", "reason": "", "numbers": {"a": {"published": 1, "ours": 2, "error_percent": %s}}}'
DAMAGED = ["{", "[]", '{"numbers": {"a": 1}}', '{"numbers": {}}', WHOLE % '"3"', WHOLE % "NaN", WHOLE % f"1{'0' * 400}"]
DAMAGED += [(WHOLE % 3).replace("1.0", "one"), (WHOLE % 3).replace('"1.0"', "1"), "[" * 100_000, b"\xff"]


@each("text", [None, *DAMAGED])
def test_a_record_that_is_missing_or_damaged_is_refused_and_its_remedy_mends_it(record, text):
    record.unlink(missing_ok=True)
    if text is not None:
        record.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadFile, match=r"accepted\.json.*--accept"):
        accepted.read_record()
    accepted.accept_numbers([ONE], "the record was damaged")
    assert accepted.read_record().numbers[ONE.name].simulated_value == ONE.simulated_value


def test_the_command_ends_with_0_for_a_miss_and_with_3_for_what_got_worse(record, capsys):
    name, title = "bagpipe-kaggle", "bagpipe-kaggle: Embedding access and sync in remote-no-cache's step [%]"
    verdicts = command.validate([name])
    accepted.accept_numbers(scores(verdicts, ()), "as it is")
    assert main(["validate", name]) == 0
    told = capsys.readouterr().out
    assert "MISS" in told and "WORSE" not in told and told.startswith("published, not used")
    content = json.loads(record.read_text())
    for error, status in ((24.0, 3), (26.0, 0), (10.0, 3)):
        content["numbers"][title]["error_percent"] = error
        record.write_text(json.dumps(content))
        assert main(["validate", name]) == status
        assert [title in line for line in capsys.readouterr().out.splitlines() if line.startswith("WORSE")] == [True] * (
            status == 3
        )


def test_what_no_preset_claims_tells_the_cause_of_a_miss_too():
    figures = published_figures()
    told = {figure.passed: set() for figure in figures}
    for figure, score in zip(figures, scores((), figures), strict=True):
        told[figure.passed].add(" gives " in score.cause if score.cause else None)
    assert told == {True: {None}, False: {True}}


def test_the_record_of_this_repository_is_of_this_model_and_names_what_is_claimed():
    held = accepted.read_record()
    names = {f"{name}: {claim.title}": claim.published for name in preset_names() for claim in claims(name) if claim.published}
    names |= {score.name: score.published for score in scores((), published_figures())}
    assert held.model == version.MODEL and held.reason
    assert {name: one.published for name, one in held.numbers.items()} == names


def test_a_published_range_is_judged_by_the_distance_to_its_nearest_end():
    between = replace(ONE, published=6.0, published_to=17.0)
    told = {ours: replace(between, simulated_value=ours).error_percent for ours in (6.0, 6.39, 17.0, 3.0, 34.0)}
    assert told == {6.0: 0, 6.39: 0, 17.0: 0, 3.0: pytest.approx(-50), 34.0: pytest.approx(100)}
    check_n_run = scores((), reference_points.protection_figures())[0]
    assert 6 < check_n_run.simulated_value < 17 and check_n_run.error_percent == 0
    (nodes,) = [claim for claim in claims("mtrains-capacity") if claim.published]
    assert nodes.published_range == (4.0, 8.0)
    passed = {ours: ClaimVerdict("mtrains-capacity", nodes, ours).passed for ours in (3.9, 4.0, 5.5, 8.0, 8.1)}
    assert list(passed.values()) == [False, True, True, True, False]


TERABYTE, TORCHREC = "a100-terabyte: Throughput", "torchrec-terabyte: Throughput, all-hbm, 8 A100 of 40 GB, 8192 samples a GPU"
SEEN = "Workload and caches: Lookups of terabyte's hottest rows, ids seen 3 times or more"
COUNTED_WITH = {
    f"{TERABYTE}, the five largest tables on the host, one A100 [samples/s]": (
        f"{TERABYTE}, large tables in DRAM, one A100 [samples/s]"
    ),
    f"{TERABYTE}, cpu-gpu, one A100 [samples/s]": f"{TERABYTE}, large tables in DRAM, one A100 [samples/s]",
    "cached-embedding-avazu: Slowdown against all in HBM": "cached-embedding-avazu: Throughput [samples/s]",
    "cached-embedding-kaggle: GPU memory, all-hbm [GiB]": "",
    "cached-embedding-kaggle: Slowdown against all in HBM": "cached-embedding-kaggle: Throughput [samples/s]",
    "cached-embedding-terabyte: Cache hit rate [%]": f"{SEEN}, 1 % [%]",
    "scratchpipe-kaggle: Speed against all in HBM": "",
    f"{TORCHREC}, MLPerf's rows [samples/s]": f"{TORCHREC} [samples/s]",
}


SYNTHETIC = ("distributed-embeddings-tiny", "distributed-embeddings-small")


def test_what_is_in_sample_by_its_form_or_its_set_up_says_why_and_tolerances_say_that_ours_was_known():
    every = [(name, claim) for name in preset_names() for claim in claims(name) if claim.published]
    told = Counter(name for name, claim in every if claim.sample_reason)
    assert told == {
        "torchrec-terabyte": 11,
        "a100-terabyte": 2,
        "fae-kaggle": 2,
        "bagpipe-kaggle": 1,
        "dlrm-v4-mi350x": 2,
        "nvidia-hstu": 1,
    }
    assert all(claim.sample == "in sample" for _, claim in every if claim.sample_reason)
    gpus = [
        claim for _, claim in every if dict(claim.knobs).get("machine.framework") == "xla" and claim.sample != "out of sample"
    ]
    assert len(gpus) == 10, "of NVIDIA's runs on several GPUs none is out of sample"
    others = [c for _, c in every if "xla" in dict(c.knobs).values() and c not in gpus]
    assert all(dict(c.knobs)["machine.num_gpus"] == 1 or c.source.startswith("distributed-embeddings") for c in others)
    synthetic = [claim for name in SYNTHETIC for claim in claims(name)]
    assert [c.sample for c in synthetic] == ["calibrated", "in sample", "in sample", "in sample"], "their tables' own updates"
    noted = [claim for _, claim in every if claim.tolerance_note]
    assert Counter(claim.sample for claim in noted) == {"out of sample": 12, "in sample": 9, "calibrated": 5}


def test_numbers_that_await_their_mechanisms_are_out_of_sample_within_25_percent():
    awaiting = ("MLPerf Training's", "MLPerf v4.0", "distributed-embeddings", "facebookresearch/dlrm, issue")
    told = [claim for name in ("torchrec-terabyte", *SYNTHETIC) for claim in claims(name) if claim.source.startswith(awaiting)]
    fitted = [claim for claim in told if claim.sample == "calibrated"]
    # A library's share of a CPU's peak, a message's overhead by two numbers, a GPU's power, a table's sparse update.
    assert [claim.system for claim in fitted] == ["cpu-only", *["all-hbm"] * 4]
    assert [dict(claim.knobs)["machine.num_gpus"] for claim in fitted[1:3]] == [64, 128]
    assert fitted[3].metric == "Average power [W]" and dict(fitted[3].knobs)["machine.energy_level"] == "node"
    assert len(told) == 20 and {claim.not_counted for claim in told} == {""}
    assert {claim.tolerance_percent for claim in told if claim is not fitted[3]} == {25.0} and fitted[3].tolerance_percent == 15.0
    seen = [claim for claim in told if claim.sample == "in sample"]
    assert [dict(claim.knobs)["machine.num_gpus"] for claim in seen] == [8, 64, 112, 16, 1, 8], (
        "a fused loop of PyTorch, the route by node, and tables that are updated one by one were added with them in sight"
    )
    assert {claim.sample for claim in told if claim not in (*fitted, *seen)} == {"out of sample"}
    for name, gib in zip(SYNTHETIC, (4.2, 26.3), strict=True):
        model = preset(name).scenario.model
        rows, dims = per_table(model, "num_embeddings"), per_table(model, "embedding_dim")
        held = 4 * sum(many * dim for many, dim in zip(rows, dims, strict=True)) / 2**30
        assert round(held, 1) == gib, "as published: tables have their own widths"


def test_no_published_number_counts_twice():
    every = {f"{name}: {claim.title}": claim for name in preset_names() for claim in claims(name) if claim.published}
    figures = {score.name for score in scores((), published_figures()) if score.is_counted}
    assert {name: claim.counts_with for name, claim in every.items() if claim.not_counted} == COUNTED_WITH
    counting = figures | {name for name, claim in every.items() if claim.sample == "out of sample" and not claim.not_counted}
    assert {name for name in COUNTED_WITH.values() if name} <= counting, "a number counts with one that does"
    own = numbers((10, 11), (10, 8))
    assert family_of(own) == family_of([*own, replace(ONE, not_counted="as one counts already")])


def family_of(own):
    """Return the line of these scores' family."""
    return next(line for line in by_family(own) if line.family == ONE.family)


def test_every_number_that_a_family_counts_is_a_row_of_table_json_and_page():
    figures = published_figures()
    counted = [score for score in scores((), figures) if score.sample == "out of sample"]
    assert {score.family for score in counted} == {"Workload and caches", "Faults and checkpoints"}
    lines, told = json_rows((), figures), verdict_tables.figures_table(scores((), figures))
    assert [row["metric"] for row in lines] == list(told["Claim"]) == [score.name for score in scores((), figures)]
    text = command.table(lines)
    for score in counted:
        (line,) = [line for line in text.splitlines() if score.name in line]
        assert f"{score.error_percent:+.1f} %" in line
    own = command.validate(["bagpipe-kaggle"])
    assert [list(row) for row in json_rows(own, figures)] == [list(lines[0])] * (len(own) + len(figures))


def test_an_accepted_range_is_kept_with_both_ends(record):
    between = replace(ONE, published=6.0, published_to=17.0)
    accepted.accept_numbers([between], "a reason")
    held = accepted.read_record()
    assert accepted.worse_numbers(held, [between], every=True) == ()
    (changed,) = accepted.worse_numbers(held, [replace(between, published_to=18.0)], every=True)
    assert "published is 6-18 now, and was 6-17" in changed


def test_the_record_counts_the_numbers_that_the_claims_count():
    held = accepted.read_record()
    for name in preset_names():
        for claim in claims(name):
            if claim.published:
                is_counted = claim.sample == "out of sample" and not claim.not_counted
                assert held.numbers[f"{name}: {claim.title}"].family == (claim.family if is_counted else ""), (name, claim.title)


def test_the_scoreboard_of_the_record_is_that_of_its_numbers(record):
    left_out = replace(ONE, name="made up: left out", not_counted="a second source")
    fitted = replace(ONE, name="made up: fitted", sample="calibrated")
    counted = [replace(ONE, roofline=15.0), replace(ONE, name="made up: a range", published_to=11.0, simulated_value=10.5)]
    accepted.accept_numbers([*counted, left_out, fitted], "a reason")
    held = accepted.read_record()
    assert held.counted_numbers == tuple(counted)
    assert score_lines(held.counted_numbers) == score_lines([*counted, left_out, fitted])


@pytest.mark.slow
def test_the_record_has_the_scoreboard_of_a_fresh_computation():
    fresh = scores(validate(), published_figures())
    for kept, computed in zip(score_lines(accepted.read_record().counted_numbers), score_lines(fresh), strict=True):
        assert (kept.family, kept.count, kept.roofline_count) == (computed.family, computed.count, computed.roofline_count)
        for column in ("median_percent", "near_percent", "roofline_percent", "model_percent"):
            assert getattr(kept, column) == pytest.approx(getattr(computed, column), abs=0.06), (kept.family, column)
