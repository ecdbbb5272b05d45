"""The section of Design with one node's wires as a picture: rates, busy shares, and the busiest wire marked."""

import pandas as pd
import streamlit as st

from engine.core.figures import count, figure, percent
from engine.hardware.device import gpus_in_node, nodes
from engine.insight.network.node_wires import GPU, Wire, busiest_wire, node_wires
from engine.results.result import Result
from engine.schedule.machine import sized_scenario
from pages.ui import downloads

INK, MARK = "#7d8590", "#d9730d"  # on a light and on a dark page


def draw(result: Result) -> None:
    """Draw the wires of a machine's node, and their table."""
    wires = node_wires(result.scenario, result.devices)
    busiest, machine = busiest_wire(wires), sized_scenario(result.scenario).machine
    st.markdown(f"**{sentence(busiest)}**")
    st.caption(
        f"This is a node with {count(gpus_in_node(machine), 'GPU')}; the machine has {count(nodes(machine), 'node')}. Each wire "
        "has the device that works for its bytes, its rate in one direction, and the share of the time in which it works."
    )
    st.graphviz_chart(dot(wires), width="content")
    downloads.show(
        pd.DataFrame(
            [
                {"Device": one.device, "From": one.start, "To": one.end, "Rate [GB/s]": one.rate, "Busy [%]": 100 * one.busy}
                for one in wires
            ]
        )
    )


def sentence(busiest: Wire) -> str:
    """Return a sentence that names the busiest wire."""
    place = f"{busiest.device}, between {busiest.start} and {busiest.end}"
    return f"The busiest wire is {place}: it works {percent(busiest.busy)} of the time."


def dot(wires: tuple[Wire, ...]) -> str:
    """Return the picture of wires in the language of Graphviz."""
    busiest = busiest_wire(wires)
    ink = f'color="{INK}", fontcolor="{INK}", fontname="sans"'
    lines = [
        f'graph {{ rankdir=TB; ranksep=0.35; bgcolor="transparent"; node [shape=box, style=rounded, {ink}];',
        f'edge [{ink}, fontsize=11]; "{GPU}" [penwidth=2];',
    ]
    for one in wires:
        colour = f', color="{MARK}", fontcolor="{MARK}", penwidth=3' if one == busiest else ""
        lines.append(f'"{one.start}" -- "{one.end}" [label="{_label(one)}"{colour}];')
    return "\n".join((*lines, "}"))


def _label(one: Wire) -> str:
    """Return the name, the rate and the busy share of a wire, a line each."""
    of_gpu = " a GPU" if one.of_each_gpu else ""
    rate = [f"{figure(one.rate, 'GB/s')}{of_gpu}"] if one.rate is not None else []
    return "\\n".join((one.device, *rate, f"busy {percent(one.busy)}"))
