"""The sidebar of every page: all knobs by group, main ones first, with a search field.

Knobs without effect are folded into one line.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache

import streamlit as st

from engine.core.figures import count
from engine.hardware.device import readers
from engine.insight.knobs.effect import effect
from engine.registry import all_variants, load_variant
from engine.scenario.scenario import GROUPS, KNOBS
from pages.answers import data_file
from pages.shell import warming
from pages.ui import beside_knob, knob_widgets, session
from pages.ui.plain import escape_markdown

OF_ALL = {"faults": "All faults", "machine": "The whole machine"}


def draw(refused: Mapping[str, str], elsewhere: Collection[str]) -> None:
    """Draw all knobs, except those that the page itself draws (`elsewhere`).

    refused: sentences by knob path.
    """
    _draw_data_switch()
    for knob in knob_widgets.MAIN_KNOBS:
        if knob.path not in elsewhere:
            _draw_knob(knob.path, refused)
    search_text = st.text_input("Find a knob", key="find", placeholder="bandwidth, GPU, seed, ...")
    matches = tuple(path for path in knobs_with_words(search_text) if path not in elsewhere)
    for path in matches:
        _draw_knob(path, refused)
    if search_text.strip() and not matches:
        st.caption("No other knob has all these words in its name or its help.")
    for group in GROUPS:
        _draw_group(group, refused, {*matches, *elsewhere})


def knobs_with_words(search_text: str) -> tuple[str, ...]:
    """Return the knobs that contain all words of a search; main knobs are left out.

    Words are searched in path, title, help and section.
    """
    words = search_text.lower().split()
    searchable_texts = {
        path: f"{path} {knob.title} {knob.help} {section(path)}".lower() for path, knob in KNOBS.items() if not knob.main
    }
    return tuple(path for path, text in searchable_texts.items() if words and all(word in text for word in words))


def _draw_group(group: str, refused: Mapping[str, str], elsewhere: Collection[str]) -> None:
    paths = [path for path, knob in KNOBS.items() if path.startswith(f"{group}.") and not knob.main and path not in elsewhere]
    has_refusal = any(path in refused for path in paths)
    unfolded = st.expander(group.capitalize(), expanded=has_refusal, key=f"group {group}", on_change="rerun")
    if not unfolded.open:  # a hundred widgets that nobody sees would be most of every rerun
        return
    with unfolded:
        idle = [
            path
            for path in paths
            if path not in refused and not (warming.kernels_missing() or effect(session.scenario(), path).acts)
        ]
        if group == "model":
            st.caption("To make tables different, use the section Tables one by one on Design.")
        shows_idle = bool(idle) and st.toggle(f"Show {count(len(idle), 'knob')} without effect here", key=f"idle {group}")
        for title, members in sections([path for path in paths if shows_idle or path not in idle]).items():
            if title:
                st.markdown(f"**{title}**")
            for path in members:
                _draw_knob(path, refused)


def _draw_knob(path: str, refused: Mapping[str, str]) -> None:
    knob_effect = None if warming.kernels_missing() else effect(session.scenario(), path)  # an effect needs estimates
    knob_widgets.draw(KNOBS[path], refused.get(path, ""), "" if knob_effect is None or knob_effect.acts else knob_effect.sentence)
    beside_knob.draw(path, session.scenario())


def _draw_data_switch() -> None:
    file = data_file.start_file()
    if not file:
        return
    using = session.held_value("data.digest") == file.digest
    st.button(
        f"{'Train on generated data' if using else 'Train on ' + escape_markdown(file.path.name)}",
        key="switch data",
        on_click=session.put_data,
        args=("" if using else file.digest,),
        width="stretch",
    )


def sections(paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the knobs by section title, in the order of their first knob.

    Knobs that concern the whole group come first.
    """
    titles = [section(path) for path in paths]
    ordered = sorted(dict.fromkeys(titles), key=lambda title: title not in OF_ALL.values())
    return {
        title: tuple(path for path, path_title in zip(paths, titles, strict=True) if path_title == title) for title in ordered
    }


@cache
def section(path: str) -> str:
    """Return the title of the fault or device to which a knob belongs; "" if to none."""
    group, _, name = path.rpartition(".")
    if group == "faults":
        owners = [fault.title for key, fault in all_variants("faults").items() if name.startswith(f"{key.replace('-', '_')}_")]
    else:
        owners = [load_variant("devices", device).title for device in readers(path)]
    return str(owners[0]) if owners else OF_ALL.get(group, "")
