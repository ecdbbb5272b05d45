"""How is the data accessed?"""

import streamlit as st

from engine.errors import EmberpoolError
from pages.parts import address, cache_size, downloads, frame, session, workload_charts, workload_tables
from pages.parts.plain import plain

COUNT, COUNTED = "count", "counted: "
ROWS, LOOKUPS = "Share of rows [%]", "Share of lookups [%]"

frame.guard()
scenario = session.scenario()
address.bar("workload")
st.header("How is the data accessed?", anchor=False)
given = workload_tables.asked(scenario)
share = scenario.policy.cache_load_factor
try:
    with st.spinner("Working it out; the very first time takes some seconds more"):
        found = (workload_tables.counted if given.data.digest else workload_tables.expected)(given)
except EmberpoolError as error:
    st.error(plain(str(error)))
    st.stop()
st.caption(
    f"Counted in {found.counted} of the data file, in its own order."
    if found.counted
    else "Expected of the generator in its steady state, from the popularity and locality in the sidebar's Data group."
)

st.subheader(plain(workload_tables.answer(found, share)), anchor=False)
cache_size.draw(found, share)
more = {}
if not found.counted and st.toggle(
    "Count real ids too", key=COUNT, help="Draws up to a million lookups, through caches empty at first."
):
    with st.spinner("Drawing and counting"):
        more = {COUNTED: workload_tables.counted(given)}
    st.caption(
        f"Counted in {more[COUNTED].counted}; a row's first lookup always misses in LRU, and the hottest rows are those of these "
        "very lookups."
    )
misses = workload_tables.hits(found, share, more)
spec = workload_charts.lines("Cache size, share of rows [%]", "Lookups that miss [%]", workload_tables.names(tuple(more)))
st.caption("A cache per table gives each table the same share of its rows.")
st.vega_lite_chart(misses, spec, key="misses", alt="Share of lookups that miss by cache size, per policy")

left, right = st.columns(2)
with left:
    st.markdown(f"**{plain(workload_tables.on_popularity(found))}**")
    spec = workload_charts.lines(ROWS, LOOKUPS, ("hottest rows",))
    st.vega_lite_chart(workload_tables.popularity(found), spec, key="popularity", alt="Share of lookups by share of hottest rows")
with right:
    if found.by_batch:
        st.markdown(f"**{plain(workload_tables.on_batches(found))}**")
        names = (workload_tables.UNIQUE, workload_tables.AGAIN)
        spec = workload_charts.lines("Batch size [samples]", LOOKUPS, names)
        st.vega_lite_chart(workload_tables.batches(found), spec, key="batches", alt="Unique rows and overlap by batch size")

if share > 0:
    st.markdown(f"**{plain(workload_tables.on_planner(found, share))}**")
    st.caption("897 GB/s from HBM, 32 GB/s from host memory, the planner's own constants; hits are those of the hottest rows.")
    pair = (workload_tables.PLANNER, workload_tables.REAL)
    spec = workload_charts.lines("Cache size, share of rows [%]", "Bandwidth [GB/s]", pair, log_y=True)
    st.vega_lite_chart(
        workload_tables.bandwidth(found, share), spec, key="planner", alt="Bandwidth by the planner and by the hits"
    )
with st.expander("The numbers"):
    table = misses[misses["name"] != ""].pivot(index="x", columns="name", values="y").reset_index()
    table = table.rename(
        columns={"x": "Cache size, share of rows [%]"} | {name: f"Misses, {name} [%]" for name in table.columns[1:]}
    )
    downloads.show(table)
    downloads.rows(table, "emberpool-workload", "Download miss ratios as CSV")
st.caption("How close the generator comes to real click logs, figure by figure:")
st.code("python -m engine workload", language=None)
