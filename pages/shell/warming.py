"""The compilation of the engine's kernels, once after an installation, and its progress on the page."""

import sys
from pathlib import Path

import streamlit as st

from engine.service.kernels import Compiling, compiled
from pages.ui import answer

PROGRAM = Path(__file__).parent.parent.parent / "scripts" / "compile.py"
REFRESH_SECONDS = 0.5


@st.cache_resource(show_spinner=False)
def _compiler() -> Compiling | None:
    return None if compiled() else Compiling([sys.executable, str(PROGRAM)])


def kernels_missing() -> bool:
    """Whether the first page's kernels are still missing; the first call begins to compile them."""
    found = _compiler()
    return found is not None and not found.ready.is_set()


def draw(title: str) -> None:
    """Draw a page's title and the progress of compilation; the page is drawn anew at its end."""
    answer.show(f"{title} is being prepared", ["The engine's kernels are compiled once after an installation."])

    @st.fragment(run_every=REFRESH_SECONDS)
    def look() -> None:
        found = _compiler()
        if found is None or found.ready.is_set():
            st.rerun()
        counted = f", {found.done} of {found.total}" if found.total else ""
        said = f"Compiling the engine's kernels{counted}; only now, after an installation, for some ten seconds."
        st.progress(found.done / found.total if found.total else 0.0, said)

    look()
