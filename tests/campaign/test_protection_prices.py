"""What protections take from a machine and what that costs, by hand from sizes and prices."""

from dataclasses import replace
from math import ceil

import pytest

from engine.campaign.protection import STORE_PRICE, StoragePrices
from engine.campaign.simulate import campaign_terms
from engine.hardware.devices.dram import grade
from engine.hardware.devices.ssd import DRIVES
from engine.registry import all_variants, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.systems.traffic import mlp_bytes, table_bytes
from engine.units import GB
from tests.cases import each

KAGGLE = with_values(preset("optane-kaggle").scenario, {"machine.prices": "recorded"})
SHARDED = with_values(KAGGLE, {"system": "all-hbm", "machine.num_gpus": 16})
STATE = table_bytes(KAGGLE) + mlp_bytes(KAGGLE)


def taken(name, scenario=KAGGLE):
    terms, site = campaign_terms(scenario, name)
    return terms.protection.storage_needs(site), terms.protection.price(site), site, terms.protection


@each("name", ["periodic-full", "periodic-overlapped", "relaxed-backup"])
def test_checkpoints_elsewhere_pay_for_two_copies_of_the_state(name):
    takes, price, _, _ = taken(name)
    assert takes == {"store": pytest.approx(2 * STATE)}
    assert price == pytest.approx(2 * STATE / GB * STORE_PRICE.value)
    assert taken("cpr", SHARDED)[:2] == (takes, pytest.approx(price))


def test_check_n_run_pays_for_copies_in_four_bits():
    takes, price, _, _ = taken("check-n-run", with_values(KAGGLE, {"model.optimizer": "sgd"}))
    # Rows of 16 words of 4 bits and 8 B of scale, and the increment of as many rows as change, with their numbers.
    state = table_bytes(with_values(KAGGLE, {"model.optimizer": "sgd"}))
    assert 2 * state / 4 < takes["store"] < 2 * (state / 4 + state * 24 / 64) + 4 * mlp_bytes(KAGGLE) + 1
    assert price == pytest.approx(takes["store"] / GB * STORE_PRICE.value)


@each("name", ["none", "undo", "redo", "relaxed"])
def test_a_log_in_memory_that_the_machine_has_is_free(name):
    assert taken(name)[:2] == ({}, 0.0)


def test_copies_in_host_memory_pay_for_dram_and_a_peer_for_its_rare_copy():
    usd = grade(SHARDED.machine).price.value
    takes, price, _, _ = taken("peer", SHARDED)
    assert takes == {"dram": pytest.approx(STATE), "store": pytest.approx(2 * STATE)}  # two copies, on two nodes
    assert price == pytest.approx(2 * STATE / GB * (usd + STORE_PRICE.value))
    takes, price, _, _ = taken("parity", SHARDED)
    assert takes == {"dram": pytest.approx(table_bytes(SHARDED) / 16 / 2)}
    assert price == pytest.approx(table_bytes(SHARDED) / 16 / GB * usd)
    of_2026 = with_values(SHARDED, {"machine.prices": "2026"})
    assert taken("parity", of_2026)[1] == pytest.approx(price * grade(SHARDED.machine).price.in_year(2026).value / usd)


def test_checkpoints_to_drives_pay_for_whole_drives_that_hold_two_copies():
    drive = DRIVES[KAGGLE.machine.ssd]
    assert taken("periodic-ssd")[0] == {"drives": 1}
    assert taken("periodic-ssd", with_values(KAGGLE, {"machine.num_ssds": 3}))[0] == {"drives": 3}
    large = preset("dlrm-terabyte").scenario
    takes, price, site, protection = taken("periodic-ssd", large)
    drive = DRIVES[large.machine.ssd]
    assert takes["drives"] == max(ceil(2 * site.state / (drive.capacity.value * GB)), large.machine.num_ssds or 1)
    assert price == pytest.approx(takes["drives"] * site.prices.drive.each) and price > 0
    plan = protection.plan(site)
    assert protection.watts(site, plan) == pytest.approx(takes["drives"] * site.drive_watts)


def test_a_machine_that_keeps_its_tables_on_drives_buys_only_what_those_cannot_hold():
    scenario = with_values(KAGGLE, {"system": "ssd"})
    takes, price, site, _ = taken("periodic-ssd", scenario)
    assert site.drives >= 1 and site.drive_room == pytest.approx(site.drives * site.drive_bytes - table_bytes(scenario))
    assert (takes["drives"], price) == (0, 0.0)
    full = replace(site, drive_room=0.5 * STATE)
    assert all_variants("protections")["periodic-ssd"].storage_needs(full) == {"drives": ceil(1.5 * STATE / site.drive_bytes)}


@each("name", variant_names("protections"))
def test_what_has_no_published_price_has_none_and_all_else_has_one(name):
    scenario = SHARDED if name in ("peer", "parity", "cpr") else KAGGLE
    takes, price, site, protection = taken(name, scenario)
    unpriced = replace(site, prices=StoragePrices(*(replace(one, price=None) for one in site.prices)))
    assert price is not None and price >= 0
    assert protection.price(unpriced) == (None if any(takes.values()) else 0.0)
