"""The CXL link between accelerator and memory: hardware moves lines, no software takes part."""

from dataclasses import dataclass

from engine.assumptions import assumed, fields_of
from engine.constants import Constant
from engine.device import Device, Kind, some
from engine.machine import Machine
from engine.units import GB, NS
from engine.work import Move


@dataclass(frozen=True)
class Link:
    """What the knobs leave open of a CXL link."""

    hop: Constant = Constant("switch hop", 75, "ns", 50, 120, "secondary", "XConn measurements; 70 ns in Pond")
    phy: Constant = Constant("link energy", 7.5, "pJ/bit", 4, 10, "stated", "XHarvest, CXL/PCIe PHY", "counted at both ends")
    controller: Constant = Constant("controller power", 10, "W", 5, 20, "unsourced", "expander controller")
    switch: Constant = Constant("switch power", 30, "W", 15, 80, "unsourced", "whole switch")
    card: Constant = Constant("card price", 500, "USD", 200, 1500, "unsourced", "expander without memory")


def build(machine: Machine) -> Device:
    """Build the link; both directions are separate lanes of it."""
    link = assumed(machine, "cxl", Link())
    latency = (machine.cxl_latency_ns + machine.cxl_switch_hops * link.hop.value) * NS
    rate = machine.cxl_bandwidth_GBps * GB
    return Device(
        name="cxl",
        title=f"CXL link, {machine.cxl_bandwidth_GBps:g} GB/s",
        helps="a faster CXL link would shorten it",
        seconds={Move: lambda work: some(work.nbytes) * latency + work.nbytes / rate},
        joules={Move: lambda work: work.nbytes * 8 * 2 * link.phy.value * 1e-12},
        idle_watts=link.controller.value + (link.switch.value if machine.cxl_switch_hops else 0.0),
        price=link.card.value,
        constants=fields_of(link),
    )


DEVICE = Kind(
    "CXL link",
    build,
    lambda: {"": fields_of(Link())},
    knobs=("machine.cxl_bandwidth_GBps", "machine.cxl_latency_ns", "machine.cxl_switch_hops"),
)
