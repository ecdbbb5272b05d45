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
VERDICT_MARK = "The answer above:"


def draw(verdict: Verdict, gpus: Future[tuple[GpuRow, ...]] | None) -> None:
    """Draw the row of each GPU, or that it is being computed."""
    st.subheader("Which GPU?", anchor=False)
    if gpus is None or not gpus.done():
        st.caption("The best machine of each GPU is being searched ...")
    elif error := gpus.exception():
        st.caption(escape_markdown(str(error)))
    else:
        frame = gpu_frame(gpus.result(), verdict)
        cost_title = costs.cost_title(verdict.question)
        formats = {cost_title: decide_tables.number_formats(verdict.question)[cost_title], GPU_PRICE: "%,.0f", "Of year": "%d"}
        downloads.show(frame, formats, pinned="GPU")
        downloads.rows(frame, "emberpool-gpus", "Download all GPUs as CSV")


def gpu_frame(gpus: Sequence[GpuRow], verdict: Verdict) -> pd.DataFrame:
    """Return a row for each GPU: its best machine or the reason why there is none, its cost, its price, and its break-even.

    Costs are in the objective's unit.
    """
    return pd.DataFrame(
        {
            "GPU": [f"{gpu_title(gpu_row.gpu)} ({gpu_row.gpu})" for gpu_row in gpus],
            costs.cost_title(verdict.question): pd.Series([_cost(gpu_row, verdict) for gpu_row in gpus], dtype=float),
            GPU_PRICE: pd.Series([gpu_row.price.value if gpu_row.price else None for gpu_row in gpus], dtype=float),
            "Break-even": [break_even_words(gpu_row) for gpu_row in gpus],
            "Best system": [row_title(gpu_row.row) if gpu_row.row else "" for gpu_row in gpus],
            "Software": [software_title(gpu_row.row, verdict.question.software) if gpu_row.row else "" for gpu_row in gpus],
            "Machine, or the reason": [_machine_text(gpu_row) for gpu_row in gpus],
            "Of year": pd.Series([(gpu_row.price.year if gpu_row.price else 0) or None for gpu_row in gpus], dtype=float),
            "Source of the price": [source_of(gpu_row.price) for gpu_row in gpus],
        }
    )


def _cost(gpu_row: GpuRow, verdict: Verdict) -> float | None:
    cost = costs.cost_in_force(gpu_row.row, verdict.question) if gpu_row.row else None
    return cost.total if cost else None


def _machine_text(gpu_row: GpuRow) -> str:
    machine = machine_words(gpu_row.row) if gpu_row.row else ""
    return spell_out_knobs(" ".join(filter(None, (VERDICT_MARK * gpu_row.wins, gpu_row.reason, machine))))
