"""The table of Decide with the best machine of each GPU, and the price at which the GPU wins."""

from collections.abc import Sequence
from concurrent.futures import Future

import pandas as pd
import streamlit as st

from engine.analysis.verdict.decide import Verdict
from engine.analysis.verdict.outlook.by_gpu import GpuRow
from engine.analysis.verdict.report.gpus import break_even_words, gpu_title
from engine.analysis.verdict.report.sentences import machine_words, row_title
from engine.analysis.verdict.report.software import software_title
from pages.decide_page import costs, decide_tables
from pages.decide_page.bill_panel import source_of
from pages.ui import downloads
from pages.ui.plain import escape_markdown, spell_out_knobs

GPU_PRICE = "Price of a GPU [USD]"
BEST = "The answer above:"


def draw(verdict: Verdict, gpus: Future[tuple[GpuRow, ...]] | None) -> None:
    """Draw the row of each GPU, or that it is being computed."""
    st.subheader("Which GPU?", anchor=False)
    if gpus is None or not gpus.done():
        st.caption("The best machine of each GPU is being searched ...")
    elif error := gpus.exception():
        st.caption(escape_markdown(str(error)))
    else:
        frame = gpu_frame(gpus.result(), verdict)
        formats = {costs.cost_title(verdict.question): decide_tables.COST_FORMAT, GPU_PRICE: "%,.0f", "Of year": "%d"}
        downloads.show(frame, formats, pinned="GPU")
        downloads.rows(frame, "emberpool-gpus", "Download all GPUs as CSV")


def gpu_frame(gpus: Sequence[GpuRow], verdict: Verdict) -> pd.DataFrame:
    """Return a row for each GPU: its best machine or the reason why there is none, its cost, its price, and its break-even.

    Costs are in the objective's unit.
    """
    return pd.DataFrame(
        {
            "GPU": [f"{gpu_title(one.gpu)} ({one.gpu})" for one in gpus],
            "Best system": [row_title(one.row) if one.row else "" for one in gpus],
            "Software": [software_title(one.row, verdict.question.software) if one.row else "" for one in gpus],
            costs.cost_title(verdict.question): pd.Series([_cost(one, verdict) for one in gpus], dtype=float),
            GPU_PRICE: pd.Series([one.price.value if one.price else None for one in gpus], dtype=float),
            "Break-even": [break_even_words(one) for one in gpus],
            "Machine, or the reason": [_machine_text(one) for one in gpus],
            "Of year": pd.Series([(one.price.year if one.price else 0) or None for one in gpus], dtype=float),
            "Source of the price": [source_of(one.price) for one in gpus],
        }
    )


def _cost(one: GpuRow, verdict: Verdict) -> float | None:
    cost = costs.cost_in_force(one.row, verdict.question) if one.row else None
    return cost.total if cost else None


def _machine_text(one: GpuRow) -> str:
    machine = machine_words(one.row) if one.row else ""
    return spell_out_knobs(" ".join(filter(None, (BEST * one.wins, one.reason, machine))))
