"""An old address of Design, which leads to the page: Streamlit needs a file for each address."""

from pages.shell import frame

frame.guard()
frame.lead_to_new_place("explore")
