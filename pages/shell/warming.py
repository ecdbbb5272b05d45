"""While the engine's kernels are compiled, once after an installation: who does it, and a word on the page."""

import sys
from pathlib import Path

import streamlit as st

from engine.service.kernels import Compiling, compiled

PROGRAM = Path(__file__).parent.parent.parent / "scripts" / "compile.py"
REFRESH_SECONDS = 0.5


@st.cache_resource(show_spinner=False)
def _begun() -> Compiling | None:
    return None if compiled() else Compiling([sys.executable, str(PROGRAM)])


def under_way() -> bool:
    """Return whether the first page's kernels are still missing; the first to ask begins to compile."""
    found = _begun()
    return found is not None and not found.ready.is_set()


def draw(title: str) -> None:
    """Draw a page's title, and how far the kernels are; the page is drawn anew once they are there."""
    st.header(title, anchor=False)

    @st.fragment(run_every=REFRESH_SECONDS)
    def look() -> None:
        found = _begun()
        if found is None or found.ready.is_set():
            st.rerun()
        counted = f", {found.done} of {found.total}" if found.total else ""
        said = f"Compiling the engine's kernels{counted}; only now, after an installation, for some ten seconds."
        st.progress(found.done / found.total if found.total else 0.0, said)

    look()
