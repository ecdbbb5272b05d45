"""The drawer of every page: all knobs by group, the main ones first, found by words; those without effect in a line."""

from collections.abc import Collection, Mapping

import streamlit as st

from engine.insight.knob_effect import effect
from engine.scenario.scenario import GROUPS, KNOBS
from pages.answers import data_file
from pages.shell import warming
from pages.shell.knob_sections import section, sections
from pages.ui import beside_knob, knob_widgets, session
from pages.ui.plain import plain


def draw(refused: Mapping[str, str], elsewhere: Collection[str]) -> None:
    """Draw the widgets of all knobs but those that stand `elsewhere`; `refused` has a sentence for each value refused."""
    _data_switch()
    for knob in knob_widgets.MAIN:
        if knob.path not in elsewhere:
            _knob(knob.path, refused)
    asked = st.text_input("Find a knob", key="find", placeholder="bandwidth, GPU, seed, ...")
    found = tuple(path for path in knobs_with_words(asked) if path not in elsewhere)
    for path in found:
        _knob(path, refused)
    if asked.strip() and not found:
        st.caption("No further knob has these words in its name or its help.")
    for group in GROUPS:
        _group(group, refused, {*found, *elsewhere})


def knobs_with_words(asked: str) -> tuple[str, ...]:
    """Return the knobs, without the main ones, that have all the words in path, title or help."""
    words = asked.lower().split()
    told = {path: f"{path} {knob.title} {knob.help} {section(path)}".lower() for path, knob in KNOBS.items() if not knob.main}
    return tuple(path for path, text in told.items() if words and all(word in text for word in words))


def _group(group: str, refused: Mapping[str, str], elsewhere: Collection[str]) -> None:
    paths = [path for path, knob in KNOBS.items() if path.startswith(f"{group}.") and not knob.main and path not in elsewhere]
    wrong = any(path in refused for path in paths)
    unfolded = st.expander(group.capitalize(), expanded=wrong, key=f"group {group}", on_change="rerun")
    if not unfolded.open:  # a hundred widgets that nobody sees would be most of every rerun
        return
    with unfolded:
        idle = [
            path
            for path in paths
            if path not in refused and not (warming.kernels_missing() or effect(session.scenario(), path).acts)
        ]
        if group == "model":
            st.caption("Tables unlike each other are edited on Design, in the section Tables one by one.")
        every = bool(idle) and st.toggle(f"{len(idle)} without effect here", key=f"idle {group}")
        for title, members in sections([path for path in paths if every or path not in idle]).items():
            if title:
                st.markdown(f"**{title}**")
            for path in members:
                _knob(path, refused)


def _knob(path: str, refused: Mapping[str, str]) -> None:
    found = None if warming.kernels_missing() else effect(session.scenario(), path)  # which is estimated
    knob_widgets.draw(KNOBS[path], refused.get(path, ""), "" if found is None or found.acts else found.sentence)
    beside_knob.draw(path, session.scenario())


def _data_switch() -> None:
    file = data_file.start_file()
    if not file:
        return
    using = session.held("data.digest") == file.digest
    st.button(
        f"{'Train on generated data' if using else 'Train on ' + plain(file.path.name)}",
        on_click=session.put_data,
        args=("" if using else file.digest,),
        width="stretch",
    )
