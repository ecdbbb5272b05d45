"""The explorer's frame: page config, the link, navigation, and the bar and drawer that all pages share."""

import streamlit as st

from engine.errors import EmberpoolError
from pages.bar import bar
from pages.common import address, frame, session
from pages.common.plain import plain
from pages.design import strips
from pages.sidebar import sidebar

st.set_page_config(page_title="Emberpool", page_icon="🔥", layout="wide", initial_sidebar_state="collapsed")
st.html(frame.STYLE)
frame.mark()
refusal = address.open_link()
if refusal:
    st.navigation(frame.pages(), position="hidden")
    st.error(plain(refusal, code=True))
    st.stop()
page = st.navigation(frame.pages(), position="top")
refused = session.refusals()
bar.draw(refused, whole=page.url_path != "start")
elsewhere = {*bar.KNOBS_HERE, *(strips.shown() if page.url_path == "design" else ())}
with st.sidebar:
    sidebar.draw(refused, elsewhere)
try:
    page.run()
except EmberpoolError as error:
    st.error(plain(str(error)))
