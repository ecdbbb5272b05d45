"""Papers: is every claim inside its tolerance, and can none of them pass by accident?"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from engine.__main__ import main
from engine.errors import BadFile, CannotRun
from engine.registry import variant_names
from engine.results.result import Result
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import machine_of
from engine.systems.capacity import fit
from engine.validation import claims as published
from engine.validation import validate
from engine.validation.claims import Claim, claims
from engine.validation.validate import ClaimPoint, ClaimVerdict, measure_claim
from tests.cases import each

GOOD: Mapping[str, Any] = {
    "metric": "Step time [ms]",
    "published": 5.0,
    "tolerance": 0.5,
    "kind": "predicted",
    "sample": "out of sample",
    "source": "made up",
}
CLAIM = Claim(title="Step time", system="cxl", presets=("tiny",), **GOOD)
FIELDS = [
    "preset",
    "metric",
    "system",
    "published",
    "published_to",
    "ours",
    "error_percent",
    "roofline",
    "tolerance",
    "at_most",
    "at_least",
    "kind",
    "passed",
    "source",
    "sample",
    "family",
    "cause",
    "cause_counts",
    "sample_reason",
    "tolerance_note",
    "not_counted",
    "counts_with",
]
BEFORE = ("MLPerf Training's public result logs", "MLPerf v4.0 power logs", "distributed-embeddings README")
PROTOTYPES = tuple(f"trainingcxl-rm{number}" for number in (1, 2, 3, 4))


@pytest.fixture(scope="module")
def verdicts() -> tuple[ClaimVerdict, ...]:
    """Every claim of every preset, run for real once."""
    return validate.validate()


@pytest.fixture
def claiming(monkeypatch):
    """Return `put(name, *entries)`, which makes exactly these the claims of a preset."""

    def put(name: str, *entries: object) -> None:
        written = replace(preset(name), claims=entries)
        monkeypatch.setattr(published, "preset", lambda asked: written if asked == name else preset(asked))

    return put


@pytest.fixture
def giving(monkeypatch):
    """Return `put(numbers)`, which lets each preset and system give a number for every result."""

    def put(numbers: Mapping[tuple[str, str], float | None]) -> None:
        def run(point: ClaimPoint) -> Result:
            value = numbers[point.preset, point.system]
            stages = tuple({"Stage": "Transfer", "Exposed [s]": half} for half in (value / 2e3, value / 2e3)) if value else ()
            return Result(Scenario(), True, "", {"Step time [ms]": value}, breakdown=stages)

        monkeypatch.setattr(validate, "run_point", run)

    return put


def without(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in names}


def test_what_was_fitted_fits_our_own_limits_hold_and_every_miss_tells_its_cause(verdicts) -> None:
    outside = [v for v in verdicts if v.passed is False]
    assert [v.claim.title for v in outside if v.claim.sample != "out of sample"] == [
        "Throughput, the five largest tables on the host, one A100 [samples/s]",
        "Step time, all-hbm, distributed-embeddings' Tiny, 16 A100 [ms]",
        "Step time, cache of 20 % of its rows [ms]",
        "Throughput, all-hbm, compiled by XLA, eight V100 in fp16 [samples/s]",
    ], "whose form alone was chosen with it in sight"
    unknown = [miss for miss in outside if miss.caused_value is None]
    assert len(unknown) == 4 and {miss.cause for miss in unknown} == {"cause unknown"}
    late = [miss for miss in unknown if not miss.claim.source.startswith(BEFORE)]  # others were claimed before their mechanisms
    assert [(miss.preset, round(miss.error_percent or 0)) for miss in late] == [
        ("dlrm-v4-mi350x", 28),  # of whose batch a part does not shrink with the histories
        ("hotline-kaggle", -18),  # which 1 % of jitter put outside
        ("torchrec-cache", -30),  # whose refused rows were measured four times as slow as rows without a cache
    ]
    for miss in [miss for miss in outside if miss not in unknown]:
        assert miss.caused_value is not None and miss.caused_value != pytest.approx(miss.simulated_value, rel=0.05), miss.name
        assert all(path in miss.cause for path, _ in miss.claim.cause_knobs)
    assert all(v.cause == "" for v in verdicts if v not in outside)
    held = {kind: sum(v.passed is True for v in verdicts if v.claim.kind == kind) for kind in published.KINDS}
    assert held["calibrated"] >= 41 and held["predicted"] >= 6 and held["headline"] >= 2


def test_rm2_and_rm3_stay_predictions_because_nothing_published_about_them_was_used(verdicts) -> None:
    held_out = [v for v in verdicts if v.preset in ("trainingcxl-rm2", "trainingcxl-rm3")]
    assert held_out and all(v.claim.published is None and v.claim.kind == "predicted" for v in held_out)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({**GOOD, "kind": "guessed"}, "kind='guessed' is not known; known are calibrated, predicted"),
        ({**GOOD, "form": "speedup", "baseline": "pmem"}, "did you mean speed-up?"),
        ({**GOOD, "form": ["value"]}, "form=['value'] is not known"),
        ({**GOOD, "metric": "Step time"}, "did you mean Step time [ms]?"),
        ({**GOOD, "system": "cxll"}, "did you mean cxl"),
        ({**GOOD, "form": "speed-up"}, "a speed-up needs a baseline system"),
        ({**GOOD, "baseline": "pmem"}, "no effect on form='value'"),
        ({**GOOD, "aggregate": "geomean"}, "no effect on form='value'"),
        ({**GOOD, "aggregate": "median"}, "aggregate='median' is not known"),
        ({**GOOD, "presets": ["tiny", "tinny"]}, "presets='tinny' is not known"),
        ({**GOOD, "presets": "tiny"}, "not a list of presets"),
        ({**GOOD, "presets": []}, "presets is empty"),
        ({**GOOD, "tolerence": 3}, "unknown entry 'tolerence'; did you mean tolerance?"),
        (without(GOOD, "source"), "lacks 'source'"),
        ("Step time", "not a table"),
        ({**GOOD, "published": "5"}, "published='5' is not a finite number"),
        ({**GOOD, "published": True}, "published=True is not a finite number"),
        ({**without(GOOD, "published", "tolerance"), "kind": "calibrated"}, "nothing can be calibrated"),
        ({**without(GOOD, "published", "tolerance"), "kind": "counterfactual"}, "has a limit"),
        ({**GOOD, "at_most": 3.0}, "has a limit"),
        ({**GOOD, "kind": "counterfactual", "at_most": 3.0}, "instead of a published value"),
        ({**GOOD, "knobs": {"machine.cxl_bandwith_GBps": 3.0}}, "is not a knob"),
        ({**GOOD, "knobs": ["machine.pmem"]}, "is not a table of knobs"),
        (without(GOOD, "sample"), "has a `sample`"),
        ({**GOOD, "sample": "outside"}, "sample='outside' is not known"),
        ({**GOOD, "sample": "calibrated"}, "contradict each other"),
        ({**GOOD, "kind": "calibrated"}, "contradict each other"),
        (without(GOOD, "published", "tolerance"), "only that, has a `sample`"),
        ({**GOOD, "family": "Caches"}, "family='Caches' is not known"),
        (
            {**without(GOOD, "published", "tolerance", "sample"), "not_counted": "a sentence"},
            "`not_counted` needs a published number",
        ),
        ({**GOOD, "sample_reason": "a sentence"}, "explains only the sample 'in sample'"),
        (
            {**without(GOOD, "published", "tolerance", "sample"), "tolerance_note": "a sentence"},
            "`tolerance_note` needs a tolerance",
        ),
        ({**GOOD, "counts_with": "another"}, "say in `not_counted`"),
        ({**GOOD, "published_to": 8.0}, "is already a tolerance"),
        ({**without(GOOD, "tolerance"), "published_to": 5.0}, "up to a larger"),
        ({**GOOD, "cause_knobs": {"machine.pmemm": "optane-200"}}, "is not a knob"),
    ],
)
def test_a_claim_that_is_not_well_formed_is_refused_naming_preset_and_number(claiming, entry, says) -> None:
    claiming("tiny", {**GOOD, "title": "another"}, entry)
    with pytest.raises(BadFile) as caught:
        claims("tiny")
    assert str(caught.value).startswith("presets/tiny.toml, claim 2") and says in str(caught.value)


@pytest.mark.parametrize(
    "tolerance",
    [
        {},
        {"tolerance": 0.0},
        {"tolerance": -1.0},
        {"tolerance": float("nan")},
        {"tolerance": float("inf")},
        {"tolerance_percent": float("inf")},
        {"tolerance": 5.0},
        {"tolerance_percent": 100.0},
        {"tolerance": 0.1, "tolerance_percent": 50.0},
        {"published": 0.0, "tolerance_percent": 5.0},
        {"published": None, "tolerance": 0.1},
    ],
)
def test_a_tolerance_that_tells_nothing_apart_is_refused(claiming, tolerance) -> None:
    claiming("tiny", {**without(GOOD, "tolerance"), **tolerance})
    with pytest.raises(BadFile, match=r"presets/tiny\.toml, claim 1"):
        claims("tiny")


def test_a_claim_passes_exactly_up_to_its_tolerance() -> None:
    told = {ours: ClaimVerdict("tiny", CLAIM, ours).passed for ours in (4.4, 4.5, 5.0, 5.5, 5.6, 0.0, float("nan"), float("inf"))}
    assert list(told.values()) == [False, True, True, True, False, False, False, False]
    percent = replace(CLAIM, published=-40.0, tolerance=None, tolerance_percent=10.0)
    assert [ClaimVerdict("tiny", percent, ours).passed for ours in (-44.0, -36.0, -44.1, 40.0)] == [True, True, False, False]


def test_a_prediction_neither_passes_nor_fails_nor_has_an_error() -> None:
    told = ClaimVerdict("tiny", replace(CLAIM, published=None, tolerance=None), 7.0).as_json()
    assert told["ours"] == 7.0
    assert [told[name] for name in ("published", "error_percent", "passed", "tolerance")] == [None] * 4


def test_means_go_over_presets_and_the_geometric_one_over_ratios(giving) -> None:
    giving({("tiny", "cxl"): 2.0, ("tiny", "pmem"): 8.0, ("dlrm-kaggle", "cxl"): 4.0, ("dlrm-kaggle", "pmem"): 4.0})
    both = replace(CLAIM, presets=("tiny", "dlrm-kaggle"), baseline="pmem", form="speed-up")
    assert measure_claim(both) == (4 + 1) / 2
    assert measure_claim(replace(both, form="saving [%]")) == (75 + 0) / 2
    assert measure_claim(replace(both, form="saving [%]", aggregate="geomean")) == pytest.approx(100 * (1 - (0.25 * 1) ** 0.5))
    assert measure_claim(replace(both, form="value", baseline="")) == 3.0
    assert measure_claim(replace(CLAIM, metric="Transfer")) == 2.0


def test_a_number_that_does_not_exist_or_has_no_ratio_is_refused_with_a_sentence(giving) -> None:
    giving({("tiny", "cxl"): None, ("tiny", "pmem"): 8.0})
    with pytest.raises(BadFile, match=r"tiny.*Step time \[ms\].*cxl"):
        measure_claim(CLAIM)
    with pytest.raises(BadFile, match="speed-up"):
        measure_claim(replace(CLAIM, metric="Transfer", form="speed-up", baseline="pmem"))


def test_a_preset_that_does_not_fit_its_machine_says_so_instead_of_failing_a_claim() -> None:
    with pytest.raises(CannotRun, match=r"optane-rm2.*system=dram.*machine\.expander_dram_GiB"):
        small = with_values(preset("optane-rm2").scenario, {"machine.expander_dram_GiB": 8.0})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(validate, "preset", lambda name: replace(preset(name), scenario=small))
            validate.run_point(ClaimPoint("optane-rm2", "dram"))


def test_the_command_ends_with_3_when_a_published_number_is_not_the_accepted_one_and_names_it(verdicts, claiming, capsys) -> None:
    entries = [dict(entry) for entry in preset("trainingcxl-rm4").claims]
    assert main(["validate", "trainingcxl-rm4"]) == 0
    assert "MISS" not in capsys.readouterr().out
    entries[0]["published"] = 1.2 * entries[0]["published"]
    claiming("trainingcxl-rm4", *entries)
    assert main(["validate", "trainingcxl-rm4"]) == 3
    told = [line for line in capsys.readouterr().out.splitlines() if "MISS" in line or "WORSE" in line]
    assert len(told) == 2 and all(entries[0]["title"] in line for line in told)


def test_the_command_ends_with_3_when_a_limit_of_our_own_is_broken(claiming, capsys) -> None:
    own = without(GOOD, "published", "tolerance", "sample")
    claiming("tiny", {**own, "kind": "counterfactual", "at_most": 0.0})
    assert main(["validate", "tiny"]) == 3
    assert "FAIL (counterfactual)" in capsys.readouterr().out


def test_json_has_the_promised_fields_and_its_numbers_agree_with_each_other(verdicts, capsys) -> None:
    assert main(["validate", *PROTOTYPES, "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == sum(len(preset(name).claims) for name in PROTOTYPES)
    for row in rows:
        assert list(row) == FIELDS and row["kind"] in ("calibrated", "predicted", "headline", "counterfactual")
        if row["published"] is None:
            assert row["error_percent"] is row["passed"] is row["tolerance"] is None
        else:
            assert row["error_percent"] == pytest.approx(100 * (row["ours"] - row["published"]) / row["published"])
            assert row["passed"] == (abs(row["ours"] - row["published"]) <= row["tolerance"])


def test_a_counterfactual_passes_on_its_side_of_the_limit_alone() -> None:
    upper = replace(CLAIM, kind="counterfactual", published=None, tolerance=None, at_most=1.5)
    assert [ClaimVerdict("tiny", upper, ours).passed for ours in (1.4, 1.5, 1.6)] == [True, True, False]
    lower = replace(upper, at_most=None, at_least=1.5)
    assert [ClaimVerdict("tiny", lower, ours).passed for ours in (1.4, 1.5, 1.6)] == [False, True, True]


def test_knobs_of_a_claim_reach_both_sides_and_those_of_the_baseline_one(claiming) -> None:
    both, alone = {"machine.cxl_bandwidth_GBps": 9.0}, {"machine.pmem": "optane-200"}
    own = without(GOOD, "published", "tolerance", "sample")
    claiming("tiny", {**own, "form": "ratio", "baseline": "cxl", "knobs": both, "baseline_knobs": alone, "estimated": True})
    (claim,) = claims("tiny")
    ((ours, base),) = validate.claim_points(claim)
    assert (dict(ours.knobs), dict(base.knobs)) == (both, {**both, **alone}) and ours.estimated and base.estimated
    assert measure_claim(claim) == pytest.approx(
        validate.run_point(ours).results["Step time [ms]"] / validate.run_point(base).results["Step time [ms]"]
    )


FITTED = {"host": ("GEMM share of peak",), "gpu": ("power between kernels",)}
FITTED_LOOP = {**FITTED, "host": ("GEMM share of peak", "input a value")}  # whose time for a value NVIDIA's DLRM gives


@each("name", [name for name in preset_names() if name.startswith(("dlrm-kaggle", "dlrm-terabyte", "optane-", "tiny"))])
def test_on_real_devices_a_hosts_layers_and_a_gpus_idle_watts_alone_are_calibrated(name) -> None:
    """Each is fitted to one number of MLPerf's logs; so is an H100's attention, which these models lack.

    Presets with PyTorch in CUDA graphs have its time for an input value, too.
    """
    fitted = FITTED_LOOP if preset(name).scenario.machine.framework == "pytorch-graph" else FITTED
    for system in variant_names("systems"):
        scenario = with_values(preset(name).scenario, {"system": system, "machine.all_powered": True})
        devices = machine_of(fit(scenario)).devices.values()
        found = {(device.name, c.name) for device in devices for c in device.constants if c.confidence == "calibrated"}
        assert found - {("gpu", "attention share of peak")} == {
            (device.name, constant) for device in devices for constant in fitted.get(device.name, ())
        }, system
