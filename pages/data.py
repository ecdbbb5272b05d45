"""How is the data accessed?"""

import streamlit as st

from engine.errors import EmberpoolError
from engine.scenario.scenario import with_values
from engine.workload.source import passes_over
from pages.answers import data_file, later
from pages.data_page import cache_size, counting, fit_view, lock_charts, profile_charts, workload_tables
from pages.own_data import leading, panel
from pages.shell import address, frame
from pages.ui import answer, session
from pages.ui.plain import plain

COUNT, COUNTED, GENERATOR, MANY = "count", "counted: ", "generator: ", "lookups to count"
AMOUNTS = {
    workload_tables.MOST_LOOKUPS: "1 million lookups, a moment",
    workload_tables.MANY_LOOKUPS: "8 million, some 10 s",
}

frame.guard()
leading.go("data")
scenario = session.scenario()
address.bar("data")
given, file = workload_tables.asked(scenario), bool(scenario.data.digest)
share = scenario.policy.cache_load_factor
most = st.session_state.get(MANY) or workload_tables.MOST_LOOKUPS
known = None
try:
    if file:
        known = data_file.file_of(given)
        with data_file.refusals(known):
            found = workload_tables.without_columns(counting.counted(given, most, known.path), data_file.is_visible(known))
    else:
        found = counting.expected(given)
except EmberpoolError as error:
    with answer.draw(f"{known.path.name if known else 'This data'} cannot be counted for this model", [str(error)]):
        fit_view.reshape(scenario)
    panel.draw(leading.POPULARITY, "data", expanded=True)
    st.stop()

reasons = [workload_tables.provenance(found, file), found.numbering]
reasons += [f"A run is {passes_over(scenario, found.samples)}."] if found.samples else []
with answer.draw(workload_tables.answer(found, share), reasons):
    if file:
        st.button("Train on this file", key="train shown", on_click=leading.train, args=(session.base(), scenario))
        st.button("Expect of the generator", key="generator", on_click=session.put_data, args=("",))
    elif served := data_file.start_file():
        st.button(f"Count {plain(served.path.name)}", key="served", on_click=session.put_data, args=(served.digest,))
panel.draw(leading.POPULARITY, "data")
with st.container(horizontal=True, vertical_alignment="bottom"):
    cache_size.draw(found, share)
    counting_too = file or st.toggle(
        "Count real ids too", key=COUNT, help="Draws ids and counts them, through caches empty at first."
    )
    if counting_too:
        st.segmented_control("How much to count", AMOUNTS, default=most, required=True, format_func=AMOUNTS.__getitem__, key=MANY)
if file:
    st.caption(plain(workload_tables.first_uses(found)))
more = {}
if counting_too and not file:
    with st.spinner("Drawing and counting"):
        more = {COUNTED: later.cached_result(workload_tables.counted, given, most)}
    st.caption(plain(f"{workload_tables.provenance(more[COUNTED], file)} {workload_tables.first_uses(more[COUNTED])}"))
if file:
    generator = with_values(given, {"data.digest": ""})
    with st.spinner("Drawing and counting as many lookups of the generator"):
        more = {GENERATOR: later.cached_result(workload_tables.counted, generator, most)}
misses = profile_charts.misses(found, share, more)
if not file:
    lock_charts.draw(scenario)
left, right = st.columns(2)
with left:
    profile_charts.popularity(found, more)
with right:
    profile_charts.batches(found, more, file)
if not file and (bags := workload_tables.on_bags(given)):
    st.caption(plain(bags))
profile_charts.tables(found, share)
if share > 0:
    profile_charts.planner(found, share)
profile_charts.numbers(misses, found)
if known:
    st.subheader("How well can generated data follow this file?", anchor=False)
    fit_view.draw(known, scenario, lambda fitted: session.put(session.base(), fitted))
st.caption("How close the generator comes to real click logs, figure by figure:")
st.code("python -m engine workload", language=None)
