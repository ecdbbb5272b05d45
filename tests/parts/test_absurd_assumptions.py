"""Absurd numbers of parts and assumptions: is each refused or doubted by name, and the last possible one computed?"""

import re
from tomllib import loads

import pytest

from engine import api as ep
from engine.__main__ import main
from engine.core import catalog
from engine.core.constants import upper_limit
from engine.core.part_files.canonical import canonical
from engine.errors import BadFile, BadKnob
from engine.estimate import estimate
from engine.insight.running_costs import running_costs
from engine.registry import all_variants
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from tests.cases import each
from tests.parts.conftest import BUILT_IN, shipped

KAGGLE = with_values(preset("dlrm-kaggle").scenario, {"machine.energy_level": "room"})


def assuming(name, value, **knobs):
    return with_values(KAGGLE, {"machine.assume": ((name, value),), **knobs})


REFUSED = [
    ("chassis.fan-share", 1.0, r"chassis\.fan-share=1 of the node leaves no power for its devices; write less than 1"),
    ("chassis.supply-rating", 0.0, r"chassis\.supply-rating=0 W cannot power a node"),
    (
        "chassis.efficiency-at-half-load",
        1.01,
        r"gives efficiency at half load 1\.01 of input, a share; assume 1 or less",
    ),
    ("host.DRAM-channels", 0.4, r"gives DRAM channels 0\.4 channels, which are whole ones; assume 1 or more"),
    ("pmem.link-lanes", 0.4, r"gives link lanes 0\.4 lanes, which are whole ones; assume 1 or more"),
    ("pmem.link-generation", 3.0, r"pmem\.link-generation=3 is not the generation of a CXL link; write one of 4, 5 and 6"),
    ("gpu.GEMM-share-of-peak", 70.0, r"gives GEMM share of peak 70 of peak, a share; assume 1 or less"),
]
POSSIBLE = [
    ("gpu.GEMM-share-of-peak", 1.0),
    ("chassis.fan-share", 0.9),
    ("chassis.supply-rating", 1e-6),
    ("chassis.efficiency-at-half-load", 1.0),
    ("host.DRAM-channels", 1.0),
    ("pmem.link-lanes", 0.0),
    ("pmem.link-generation", 6.0),
    ("wall.pue", 0.0),
]


@each(("name", "value", "says"), REFUSED)
def test_what_no_machine_has_is_refused_by_name(name, value, says):
    with pytest.raises(BadKnob, match=says):
        estimate(assuming(name, value))


@each(("name", "value"), POSSIBLE)
def test_the_last_possible_one_is_computed(name, value):
    found = estimate(assuming(name, value))
    assert found.ran and (found.results["Energy per batch [J]"] > 0) == (name != "wall.pue")
    assert running_costs(found).kwh_month >= 0


def test_a_liquid_leaves_a_node_the_power_of_its_fans():
    air, liquid = (estimate(assuming("chassis.fan-share", 0.2, **{"machine.cooling": one})) for one in ("air", "liquid"))
    joules = [one.results["Energy per batch [J]"] for one in (air, liquid)]
    assert joules[0] == pytest.approx(joules[1] / 0.8)
    assert estimate(assuming("chassis.fan-share", 1.0, **{"machine.cooling": "liquid"})).ran


def with_number(name, key, number):
    """Return a shipped part's text with one constant at a number, its range too."""
    content = loads(shipped(name))
    content[key].update(value=number, low=number, high=number)
    content[key].pop("others", None)
    content[key].pop("years", None)
    return canonical(content)


def test_each_unit_of_a_share_has_an_upper_limit_and_each_shipped_part_keeps_it():
    all_variants("devices")
    units = {one.unit for kind in catalog.KINDS.values() for one in kind.all_quantities()}
    assert {unit for unit in units if upper_limit("", unit) == 1} == {
        *("of peak", "of bandwidth", "of the rate", "of both", "of copy rate", "of input", "of raw", "of sustained"),
        *("of the limit", "of the node", "of bytes"),
    }
    for kind in catalog.kinds():
        for path in (BUILT_IN / kind).glob("*.toml"):
            catalog.KINDS[kind].check(path, loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("name", "key", "largest"),
    [
        ("gpu/h100-sxm", "GEMM-share-of-peak", 1),
        ("gpu/h100-sxm", "power-between-kernels", 1),
        ("chassis/gpu-8-sxm", "efficiency-at-half-load", 1),
        ("media/optane-100", "read-write-mix", 2),
        ("network/roce", "network-utilisation", 1),
        ("copy-path/server", "zero-copy-share", 1),
        ("dram/ddr5-5600", "random-line-efficiency", 1),
    ],
)
def test_a_share_in_percent_is_refused_in_a_part_and_the_whole_is_taken(name, key, largest, folder):
    kind, stem = name.split("/")
    content = loads(shipped(name))
    if key not in content:
        content[key] = {**content["GEMM-share-of-peak"], "unit": "of the limit"}
    for number, word in ((70, "value"), (largest + 0.01, "high")):
        wrong = content | {key: content[key] | {word: number, "high": number}}
        with pytest.raises(BadFile, match=rf"gives {key}\.{word} = {number}; write a share of .* up to {largest}") as refused:
            catalog.check_part(kind, stem, wrong)
        assert ("0.7 for 70 %" in str(refused.value)) == (number == 70)
    catalog.check_part(kind, stem, content | {key: content[key] | {"high": largest}})


DOUBTED = [
    ("gpu/h100-sxm", "memory-bandwidth", 3_350_000, "memory-bandwidth = 3,350,000 GB/s, 419 times above", "is it in MB/s?"),
    ("gpu/h100-sxm", "memory", 0.08, "memory = 0.08 GB, ", "is it in TB?"),
    ("gpu/h100-sxm", "kernel-launch", 2500, "kernel-launch = 2,500 us, ", "is it in ns?"),
    ("gpu/h100-sxm", "fp32-peak", 67_000, "fp32-peak = 67,000 TFLOPS, ", "is it in GFLOPS?"),
    ("drive/pm9a3", "read-latency", 0.08, "read-latency = 0.08 us, ", "is it in ms?"),
    ("media/optane-100", "price", 9000, "price = 9,000 USD/GB, ", "check the number and its unit."),
]


@pytest.mark.parametrize(("name", "key", "number", "begins", "slip"), DOUBTED)
def test_a_number_far_from_the_catalogue_s_is_warned_of_with_both_and_the_slip(name, key, number, begins, slip, folder, capsys):
    kind = name.split("/")[0]
    path = folder.put(f"{kind}/doubtful", with_number(name, key, number))
    assert main(["list", "devices", "--check", str(path)]) == 0
    told = capsys.readouterr().err
    assert told.startswith(f"Note: {path} gives {begins}") and told.endswith(f"{slip}\n") and told.count("Note:") == 1
    assert re.search(rf"the (largest|least) of the catalogue's parts of the kind {kind}, [\d,.]+ ", told)
    assert main(["list", "metrics", "--parts-dir", str(folder.path)]) == 0
    assert capsys.readouterr().err == told
    with pytest.warns(UserWarning, match=re.escape(begins)):
        ep.parts(folder.path)


def test_numbers_within_thirty_times_of_the_catalogue_s_pass_without_a_word(folder, capsys):
    rates = [one["memory-bandwidth"] for path in BUILT_IN.glob("gpu/*.toml") if (one := loads(path.read_text()))]
    largest, least = max(rate["high"] for rate in rates), min(rate["low"] for rate in rates)
    for number, notes in ((29 * largest, 0), (31 * largest, 1), (least / 29, 0), (least / 31, 1)):
        path = folder.put("gpu/fast", with_number("gpu/h100-sxm", "memory-bandwidth", number))
        assert main(["list", "devices", "--check", str(path)]) == 0
        assert capsys.readouterr().err.count("Note:") == notes
    zero = folder.put("gpu/fast", with_number("gpu/h100-sxm", "bf16-peak", 0))
    assert main(["list", "devices", "--check", str(zero)]) == 0 and capsys.readouterr().err == ""


def test_values_of_other_years_and_sources_are_doubted_too(folder, capsys):
    content = loads(shipped("media/optane-100"))
    price = content["price"]
    cents = {
        **{word: 10_000 * price[word] for word in ("value", "low", "high")},
        "confidence": "stated",
        "source": "in cents for 100 GB",
    }
    content["price"] = price | {"years": {"2031": cents}}
    path = folder.put("media/dated", canonical(content))
    assert main(["list", "devices", "--check", str(path)]) == 0
    assert "price.years.2031 = " in capsys.readouterr().err
