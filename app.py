"""The explorer's frame: page config, the link, navigation and the sidebar that all pages share."""

import streamlit as st

from engine.errors import EmberpoolError
from pages.common import address, frame
from pages.common.plain import plain
from pages.sidebar import sidebar

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
