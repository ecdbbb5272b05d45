"""How is the data accessed?"""

import streamlit as st

from engine.errors import EmberpoolError
from engine.insight.data_profile import BATCH_SIZES
from engine.scenario.scenario import with_values
from pages.answers import data_file, later
from pages.data_page import cache_size, fit_view, workload_charts, workload_tables
from pages.shell import address, frame
from pages.ui import downloads, session
from pages.ui.plain import plain

COUNT, COUNTED, GENERATOR, MANY = "count", "counted: ", "generator: ", "lookups to count"
SIZE, MISSES = "Cache size [GB]", "Lookups that miss [%]"
ROWS, LOOKUPS = "Share of rows [%]", "Share of lookups [%]"
AMOUNTS = {
    workload_tables.MOST_LOOKUPS: "1 million lookups, a moment",
    workload_tables.MANY_LOOKUPS: "8 million, some 10 s",
}

frame.guard()
scenario = session.scenario()
address.bar("data")
given, file = workload_tables.asked(scenario), bool(scenario.data.digest)
share = scenario.policy.cache_load_factor
most = st.session_state.get(MANY) or workload_tables.MOST_LOOKUPS
try:
    with st.spinner("Working it out; the very first time takes some seconds more"):
        if file:
            known = data_file.file_of(given)
            with data_file.refusals(known):
                found = later.cached_result(workload_tables.counted, given, most, str(known.path))
        else:
            find = workload_tables.expected
            found = later.cached_result(find, given) if workload_tables.many(given) else find(given)
except EmberpoolError as error:
    st.error(plain(str(error)))
    fit_view.reshape(scenario)
    st.stop()

st.header(plain(workload_tables.answer(found, share)), anchor=False)
st.caption(f"How is the data accessed? {plain(workload_tables.whence(found, file))}")
if found.numbering:
    st.caption(plain(found.numbering))
with st.container(horizontal=True, vertical_alignment="bottom"):
    cache_size.draw(found, share)
    st.caption(f"of {found.rows * found.row_bytes / 1e9:.4g} GB of tables", width="content")
    if served := data_file.start_file():
        st.button(
            "Expect of the generator" if file else f"Count {plain(served.path.name)}",
            on_click=session.put_data,
            args=("" if file else served.digest,),
        )
    else:
        st.caption("For your own file choose it on Start, or start with `make run DATA=train.txt`.", width="content")
counting = file or st.toggle("Count real ids too", key=COUNT, help="Draws ids and counts them, through caches empty at first.")
if counting:
    st.segmented_control("How much to count", AMOUNTS, default=most, required=True, format_func=AMOUNTS.__getitem__, key=MANY)
more = {}
if counting and not file:
    with st.spinner("Drawing and counting"):
        more = {COUNTED: later.cached_result(workload_tables.counted, given, most)}
    st.caption(plain(workload_tables.whence(more[COUNTED], file)))
if file:
    generator = with_values(given, {"data.digest": ""})
    with st.spinner("Drawing and counting as many lookups of the generator"):
        more = {GENERATOR: later.cached_result(workload_tables.counted, generator, most)}
misses = workload_tables.hits(found, share, more)
st.markdown(f"**{plain(workload_tables.on_sizes(found))}** A cache per table gives each table the same share of its rows")
spec = workload_charts.lines(SIZE, MISSES, workload_tables.beside(workload_tables.POLICIES, more))
st.vega_lite_chart(misses, spec, key="misses", alt="Share of lookups that miss by cache size, per policy")

left, right = st.columns(2)
with left:
    st.markdown(f"**{plain(workload_tables.on_popularity(found))}**")
    spec = workload_charts.lines(ROWS, LOOKUPS, workload_tables.beside((workload_charts.HOTTEST,), more))
    st.vega_lite_chart(
        workload_tables.popularity(found, more), spec, key="popularity", alt="Share of lookups by share of hottest rows"
    )
with right:
    if found.by_batch:
        st.markdown(f"**{plain(workload_tables.on_batches(found))}**")
        names = workload_tables.beside((workload_tables.UNIQUE, workload_tables.AGAIN), more)
        ticks = tuple(size for size, *_ in found.by_batch) if file else BATCH_SIZES
        spec = workload_charts.lines("Batch size [samples]", LOOKUPS, names, ticks=ticks)
        st.vega_lite_chart(workload_tables.batches(found, more), spec, key="batches", alt="Unique rows and overlap by batch size")

if not file and (bags := workload_tables.on_bags(given)):
    st.caption(plain(bags))
if share > 0:
    st.markdown(f"**{plain(workload_tables.on_tables(found, share))}**")
by_table = workload_tables.by_table(found)
st.vega_lite_chart(by_table, workload_charts.tables(), key="tables", alt="Share of lookups that miss by table and cache size")

if share > 0:
    st.markdown(f"**{plain(workload_tables.on_planner(found, share))}**")
    st.caption("897 GB/s from HBM, 32 GB/s from host memory, the planner's own constants; hits are those of the hottest rows.")
    downloads.show(workload_tables.planner_steps(found, share), {"Factor [x]": "%.3g", "Bandwidth [GB/s]": "%.3g"})
    pair = (workload_tables.PLANNER, workload_tables.REAL)
    spec = workload_charts.lines(SIZE, "Bandwidth [GB/s]", pair, log_y=True)
    st.vega_lite_chart(
        workload_tables.bandwidth(found, share), spec, key="planner", alt="Bandwidth by the planner and by the hits"
    )
with st.expander("The numbers"):
    table = workload_tables.numbers(misses)
    downloads.show(table)
    downloads.rows(table, "emberpool-workload", "Download miss ratios as CSV")
    downloads.rows(by_table, "emberpool-workload-tables", "Download miss ratios by table as CSV")
if file:
    st.subheader("How well can generated data follow this file?", anchor=False)
    fit_view.draw(data_file.file_of(given), scenario, lambda fitted: session.put(session.base(), fitted))
st.caption("How close the generator comes to real click logs, figure by figure:")
st.code("python -m engine workload", language=None)
