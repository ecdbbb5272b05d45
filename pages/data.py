"""The page Data: how the data is accessed."""

from functools import partial

import streamlit as st

from engine.errors import EmberpoolError
from engine.insight.data_profile import Profile
from engine.scenario.scenario import with_values
from engine.workload.source import passes_over
from pages.answers import data_file, estimates, later
from pages.data_page import cache_size, counting, fit_view, lock_charts, profile_charts, workload_tables
from pages.own_data import leading, panel
from pages.shell import address, frame
from pages.ui import answer, session
from pages.ui.plain import escape_markdown

COUNT_TOO, COUNTED_PREFIX, GENERATOR_PREFIX, MAX_LOOKUPS = "count", "counted: ", "generator: ", "lookups to count"
AMOUNTS = {
    workload_tables.MOST_LOOKUPS: "1 million lookups (about 1 s)",
    workload_tables.MANY_LOOKUPS: "8 million lookups (about 10 s)",
}

frame.guard()
leading.go_to_page("data")
scenario = session.scenario()
address.bar("data")
profile_scenario, file = workload_tables.profile_scenario(scenario), bool(scenario.data.digest)
share = scenario.policy.cache_load_factor
max_lookups = st.session_state.get(MAX_LOOKUPS) or workload_tables.MOST_LOOKUPS
shown_file = None
try:
    if file:
        shown_file = data_file.file_of(profile_scenario)
        with data_file.refusals(shown_file):
            profile = workload_tables.without_columns(
                counting.counted_profile(profile_scenario, max_lookups, shown_file.path), data_file.is_visible(shown_file)
            )
    else:
        profile = counting.expected_profile(profile_scenario)
except EmberpoolError as error:
    with answer.draw(
        f"The lookups of {shown_file.path.name if shown_file else 'this data'} cannot be counted for this model", [str(error)]
    ):
        fit_view.reshape(scenario)
    panel.draw(leading.POPULARITY, "data", expanded=True)
    st.stop()

reasons = [workload_tables.provenance(profile, file), profile.numbering]
reasons += [f"A run is {passes_over(scenario, profile.samples)}."] if profile.samples else []
reasons += [] if file else [workload_tables.cache_note(estimates.estimate_of(scenario))]
with answer.draw(workload_tables.answer(profile, share), reasons):
    if file:
        st.button("Train on this file", key="train shown", on_click=leading.train, args=(session.base(), scenario))
        st.button("Show generated data instead", key="generator", on_click=session.put_data, args=("",))
    elif start_file := data_file.start_file():
        st.button(
            f"Count the lookups of {escape_markdown(start_file.path.name)}",
            key="served",
            on_click=session.put_data,
            args=(start_file.digest,),
        )
panel.draw(leading.POPULARITY, "data")
with st.container(horizontal=True, vertical_alignment="bottom"):
    cache_size.draw(profile, share)
    counting_too = file or st.toggle(
        "Count drawn ids too",
        key=COUNT_TOO,
        help="The generator draws ids, and Emberpool counts their hits in caches that are empty at first. "
        "The other numbers are expected values.",
    )
    if counting_too:
        st.segmented_control(
            "Lookups to count", AMOUNTS, default=max_lookups, required=True, format_func=AMOUNTS.__getitem__, key=MAX_LOOKUPS
        )
if file:
    st.caption(escape_markdown(workload_tables.first_uses(profile)))
other_profiles: dict[str, Profile] = {}
if counting_too and not file:

    def take_counted(counted_profile: Profile) -> None:
        """Draw counted lookups beside the expected ones."""
        other_profiles[COUNTED_PREFIX] = counted_profile
        sentences = f"{workload_tables.provenance(counted_profile, file)} {workload_tables.first_uses(counted_profile)}"
        st.caption(escape_markdown(sentences))

    counting_words = "Drawing ids from the generator and counting their lookups"
    later.draw_when_known(counting_words, take_counted, workload_tables.counted_profile, profile_scenario, max_lookups)
if file:
    generator = with_values(profile_scenario, {"data.digest": ""})
    counting_words, take_generated = "Drawing as many lookups from the generator and counting them", other_profiles.__setitem__
    take = partial(take_generated, GENERATOR_PREFIX)
    later.draw_when_known(counting_words, take, workload_tables.counted_profile, generator, max_lookups)
misses = profile_charts.misses(profile, share, other_profiles)
if not file:
    lock_charts.draw(scenario)
left_column, right_column = st.columns(2)
with left_column:
    profile_charts.popularity(profile, other_profiles)
with right_column:
    profile_charts.batches(profile, other_profiles, profile_scenario.data.batch_size, file)
if not file and (bags := workload_tables.bags_sentence(profile_scenario)):
    st.caption(escape_markdown(bags))
profile_charts.tables(profile, share)
if share > 0:
    profile_charts.planner(profile, share)
profile_charts.numbers(misses, profile)
if shown_file:
    st.subheader("How well can generated data follow this file?", anchor=False)
    fit_view.draw(shown_file, scenario, lambda fitted: session.hold_variation(session.base(), fitted))
st.caption("This command compares the generator with real click logs, number by number:")
st.code("python -m engine workload", language=None)
