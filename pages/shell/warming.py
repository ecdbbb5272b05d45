"""Compilation of the engine's kernels, once after an installation, with progress."""

import sys
from pathlib import Path

import streamlit as st

from engine.service.kernels import CompileProcess, all_compiled
from pages.ui import answer

PROGRAM = Path(__file__).parent.parent.parent / "scripts" / "compile.py"
REFRESH_SECONDS = 0.5


@st.cache_resource(show_spinner=False)
def _compiler() -> CompileProcess | None:
    return None if all_compiled() else CompileProcess([sys.executable, str(PROGRAM)])


def kernels_missing() -> bool:
    """Return whether the first page's kernels are not compiled yet.

    The first call starts to compile them.
    """
    compiler = _compiler()
    return compiler is not None and not compiler.ready.is_set()


def draw(title: str) -> None:
    """Draw a page's title and the compilation's progress; redraw the page at its end."""
    answer.show(f"{title} is being prepared", ["The engine's kernels are compiled once after an installation."])

    @st.fragment(run_every=REFRESH_SECONDS)
    def look() -> None:
        compiler = _compiler()
        if compiler is None or compiler.ready.is_set():
            st.rerun()
        progress_text = f", {compiler.done} of {compiler.total}" if compiler.total else ""
        label = f"Compiling the engine's kernels{progress_text}; this takes some ten seconds, only once after an installation."
        st.progress(compiler.done / compiler.total if compiler.total else 0.0, label)

    look()
