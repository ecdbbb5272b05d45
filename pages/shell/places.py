"""The explorer's pages, how each stores its widgets in links, and old addresses of pages."""

from collections.abc import Mapping
from types import MappingProxyType

from pages.decide_page import form
from pages.design_page import details
from pages.failures_page import crash_viewer
from pages.runs_page import history_runs
from pages.search_page import search_link
from pages.systems import systems_panel
from pages.ui.page_link import PageLink

# In the order of the navigation; each is the name of its script and of its address.
PLACES: Mapping[str, PageLink] = MappingProxyType(
    {
        "start": PageLink(),
        "decide": form.LINK,
        "design": systems_panel.LINK,
        "search": search_link.LINK,
        "failures": crash_viewer.LINK,
        "data": PageLink(),
        "evidence": PageLink(),
        "runs": history_runs.LINK,
    }
)
# New places of old addresses; the scenario of a link comes along.
NEW_PLACES = {
    "explore": "design",
    "compare": "design",
    "why": "design",
    "sweep": "search",
    "faults": "failures",
    "workload": "data",
    "reproduce": "evidence",
    "history": "runs",
}
# Sections to open on the new place of an old address.
OPEN_SECTIONS = {"compare": details.SYSTEMS, "why": details.WHY_SECTION}
