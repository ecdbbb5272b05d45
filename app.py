"""The explorer's frame: page config, the link, navigation, and the bar and drawer that all pages share."""

from contextlib import suppress

import streamlit as st

from pages.shell import warming

warming.kernels_missing()  # begins to compile them while all below is imported

from engine.errors import EmberpoolError  # noqa: E402
from pages.answers import data_file, stored_uploads, turns  # noqa: E402
from pages.decide_page import form  # noqa: E402
from pages.gate import upload_limits  # noqa: E402
from pages.knob_cards import strips  # noqa: E402
from pages.shell import address, bar, frame, own_parts, own_presets, sidebar  # noqa: E402
from pages.shell.places import PLACES  # noqa: E402
from pages.ui import answer, session  # noqa: E402
from pages.ui.knob_widgets import BAR_KNOBS  # noqa: E402
from pages.ui.plain import escape_markdown  # noqa: E402

st.set_page_config(page_title="Emberpool", page_icon="🔥", layout="wide", initial_sidebar_state="collapsed")


def draw() -> None:
    """Draw the page that was asked for, in its frame."""
    st.html(frame.STYLE)
    own_parts.look_at_folder()
    own_presets.look_at_folder()
    page = st.navigation(frame.pages(), position="top")
    address.open_link(page.url_path)
    upload_limits.enter_page(page.url_path)
    with suppress(EmberpoolError):  # the pages say what is wrong with the store
        stored_uploads.delete_old()
    own_parts.renew_parts()
    own_presets.renew_preset()
    refused = session.refusals()
    whole = page.url_path not in ("start", "decide", "evidence")  # which ask for the model, or have none
    bar.draw(refused, whole, keep_line=page.url_path == "failures")
    address.draw_left_out()
    content = st.container(key="stale" if refused else "content")  # what is not of the fields' values is drawn grey
    bar.draw_tail()
    frame.focus_page()
    design = page.url_path == "design"

    def drawer() -> None:
        """Draw the knobs that stand nowhere else."""
        with st.sidebar:
            elsewhere = strips.strip_knobs() if design else form.SHOWN_KNOBS if page.url_path == "decide" else ()
            sidebar.draw(refused, {*BAR_KNOBS, *elsewhere})

    if page.url_path != "evidence" and not design:  # where no knob acts; a page may stop, and draw nothing after it
        drawer()
    answer.reset()
    try:
        with content:
            if warming.kernels_missing() and page.url_path in {*PLACES} - {"start"}:  # start needs no kernel
                warming.draw(page.title)
            else:
                frame.mark_framed()
                page.run()
                frame.freeze_loaded(page.url_path)
    except EmberpoolError as error:
        if not answer.is_drawn():
            with content:
                answer.show(f"{page.title} cannot be shown now")
        content.error(escape_markdown(data_file.sentence(error, session.scenario())))
    if design:  # where a moved knob waits for its charts, not for what is behind a closed drawer
        drawer()


with turns.turn():
    draw()
    frame.collect_garbage()
