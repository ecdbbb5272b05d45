"""The address bar: open the link in it, and write the page's present link into it."""

from time import monotonic

import streamlit as st

from engine.analysis import linked
from engine.errors import BadInput
from engine.scenario.presets import DEFAULT, EXPLORED
from engine.scenario.scenario import values
from engine.sweep import links
from engine.sweep.links import OpenedLink
from engine.sweep.questions import Pairs
from pages.answers import data_file, question
from pages.shell import bar as scenario_bar
from pages.shell import own_parts, own_presets, python_code
from pages.shell.places import PLACES
from pages.ui import session
from pages.ui.page_link import LinkPart, host
from pages.ui.plain import escape_markdown

WRITTEN_PAIRS, WRITE_TIME, BANNER, LEFT_OUT = "address written", "address written at", "banner", "left out of the link"
SETTLED_SECONDS = 2.0
MOST_LISTED = 200  # values of a list, which take most of a link
FEWER_PARTS = "use fewer parts of your own, or send their files separately"
FEWER_TABLES = (
    "the model has too many different tables; download them as CSV on Design, in the section Tables one by one, and send the file"
)
EXPLORED_PLACES = ("", "emberpool", "start", "design")  # bare addresses that open with the explored preset
MOST_LINES, CODE_PIXELS = 12, 280  # longer code scrolls
LOOPBACK = ("127.", "localhost", "[::1]")


def open_link(place: str) -> None:
    """Open the link in the address bar if it is new; a bare address opens the first preset of its page.

    Parameters that cannot be read are left out and listed.
    """
    pairs = [(key, text) for key in st.query_params for text in st.query_params.get_all(key)]
    is_our_write = st.session_state.pop(session.REDRAWN_BY_US, False)
    if session.SCENARIO in st.session_state and (is_our_write or not _went_back(pairs)):
        return
    opened_link, left_out = _open_pairs(pairs or [("preset", EXPLORED if place in EXPLORED_PLACES else DEFAULT)])
    scenario = opened_link.scenario
    if not pairs:
        try:
            scenario = data_file.with_start_file(scenario)
        except BadInput as error:
            left_out = (*left_out, str(error))
    session.hold_variation(opened_link.preset, scenario)
    session.put_origin(opened_link.questions.origin)
    session.put_parts(opened_link.parts)
    question.take_questions(opened_link.questions)
    if not {"v", "against"} & {name for name, _ in pairs}:  # a shared link, which has a version, says its baseline itself
        question.start_from(opened_link.preset)
    for page in PLACES.values():
        page.from_link(opened_link)
    st.session_state.update({BANNER: opened_link.banner, LEFT_OUT: left_out, WRITTEN_PAIRS: pairs, WRITE_TIME: monotonic()})


def _open_pairs(pairs: Pairs) -> tuple[OpenedLink, tuple[str, ...]]:
    """Return as much of a link as can be opened, and why the rest cannot.

    At the worst that is the first preset.
    """
    if len(links.text_of(pairs)) > links.MOST_CHARACTERS:
        return links.open_pairs([]), (f"{_too_long(pairs)} The first preset is shown instead.",)
    return linked.open_in_part(pairs, lambda link: next(filter(None, (page.refusal(link) for page in PLACES.values())), ""))


def draw_left_out() -> None:
    """Draw which parameters of the link were left out, and why.

    The list stays until another link is opened or the visitor closes it.
    """
    if left_out := st.session_state.get(LEFT_OUT, ()):
        with st.container(key="left-out", horizontal=True, vertical_alignment="center"):
            more_text = f" And {len(left_out) - 1} more." if len(left_out) > 1 else ""
            st.error(escape_markdown(left_out[0] + more_text, code=True))
            st.button("Dismiss", key="put left out away", type="tertiary", on_click=_put_away)
            if more_text:
                with st.popover("All problems", type="tertiary"):
                    for sentence in left_out:
                        st.markdown(escape_markdown(sentence, code=True))


def _put_away() -> None:
    st.session_state[LEFT_OUT] = ()


def _too_long(pairs: Pairs) -> BadInput:
    try:
        linked.read_link(links.text_of(pairs))
    except BadInput as error:
        return error
    raise ValueError("a link longer than the limit was opened")


def _went_back(pairs: Pairs) -> bool:
    """Whether the visitor went through the browser's history, which only changes the address.

    A widget moved just after another one sends the address from before our last write, so that a young
    write or a changed widget is no journey.
    """
    settled = monotonic() - st.session_state[WRITE_TIME] > SETTLED_SECONDS
    return bool(pairs) and pairs != st.session_state[WRITTEN_PAIRS] and settled and not _has_moved_knob()


def _has_moved_knob() -> bool:
    try:
        scenario_values = values(session.scenario())
        return any(session.read_knob(path) != scenario_values[path] for path in session.touched_knobs())
    except BadInput:
        return True


def write(part: LinkPart) -> None:
    """Write the link of the session and of a page's own part into the address bar."""
    pairs = links.query(session.scenario(), session.base(), part.axes, part.crash, question.link_questions(part.questions))
    if pairs == st.session_state.get(WRITTEN_PAIRS) and st.query_params:
        return
    st.query_params.from_dict({key: [text for name, text in pairs if name == key] for key, _ in pairs})
    st.session_state.update({WRITTEN_PAIRS: pairs, WRITE_TIME: monotonic()})


def bar(place: str, caution: str = "") -> None:
    """Write the page's link into the address bar; draw Share, and a caution on the page's numbers."""
    share(
        place,
        "This link has every knob and the seed, so it gives the same numbers. Losses are equal with the same Python, NumPy and "
        "kind of processor.",
    )
    own_presets.draw_save()
    if caution:
        st.warning(escape_markdown(caution))
    if st.session_state.get(BANNER):
        st.info(escape_markdown(st.session_state[BANNER]))
    own_presets.draw_origin()
    own_parts.draw()
    if place == "data":
        return  # the answer of Data says what is wrong with the file
    try:
        data_file.path_for(session.scenario())
    except BadInput as error:
        with st.container(key="missing-file"):
            st.warning(escape_markdown(str(error)))


def share(place: str, contents: str) -> None:
    """Write the page's link into the address bar, and draw Share.

    `contents` is a text on what the link contains.
    """
    part = PLACES[place].to_link()
    write(part)
    with scenario_bar.share_slot(), st.popover("Share"):
        st.caption(contents)
        questions = question.link_questions(part.questions)
        st.session_state[session.PAGE_LINK] = links.link(
            session.scenario(), session.base(), place, part.axes, part.crash, questions
        )
        if any(f"//{name}" in host() for name in LOOPBACK):
            st.caption("This link opens on this computer only; on another computer, put the address of its explorer in front.")
        if len(st.session_state[session.PAGE_LINK]) > links.MOST_CHARACTERS:
            has_long_list = any(
                isinstance(model_value, tuple) and len(model_value) > MOST_LISTED
                for model_value in vars(session.scenario().model).values()
            )
            st.caption(f"This link is too long to be opened: {FEWER_TABLES if has_long_list else FEWER_PARTS}.")
        st.code(host() + st.session_state[session.PAGE_LINK], language=None, wrap_lines=True)
        if code := python_code.code(place, session.scenario(), session.base(), part):
            st.caption("The same question in Python:")
            st.code(code, language="python", wrap_lines=True, height=CODE_PIXELS if code.count("\n") > MOST_LINES else "content")
