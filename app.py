"""The explorer's frame: page config, the link, navigation and the sidebar that all pages share."""

import streamlit as st

from engine.errors import EmberpoolError
from pages.parts import address, frame, sidebar
from pages.parts.plain import plain

st.set_page_config(page_title="Emberpool", page_icon="🔥", layout="wide")
frame.mark()
refusal = address.open_link()
if refusal:
    st.navigation(frame.pages(), position="hidden")
    st.error(plain(refusal))
    st.stop()
page = st.navigation(frame.pages())
with st.sidebar:
    sidebar.draw()
try:
    page.run()
except EmberpoolError as error:
    st.error(plain(str(error)))
