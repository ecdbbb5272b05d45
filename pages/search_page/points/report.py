"""A sweep's report as one HTML file without scripts or requests.

The same input gives the same bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

from engine import version
from engine.core.figures import count, exact, figure
from engine.hardware.money.prices import with_year
from engine.results.metrics import error_of
from engine.scenario.keys import Fidelity
from engine.sweep.sweep import Sweep
from engine.systems.system import constants
from pages.graphics import pictures
from pages.search_page.points import sweep_figures, sweep_findings, sweep_marks, sweep_table
from pages.search_page.points.sweep_figures import Figure
from pages.search_page.points.sweep_marks import BEST_POINT
from pages.search_page.points.sweep_table import COST, POINT
from pages.ui import numbers

TOP, MOST_FRONT, MOST_MACHINES = 20, 100, 10
MAIN_METRICS = ("Step time [ms]", "Throughput [samples/s]", "Energy per batch [J]", COST, "AUC", "Effective training time ratio")
STYLE = """body{font:15px/1.5 'Liberation Sans',Arial,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#26221f}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border-bottom:1px solid #e2dcd5;padding:.25rem .6rem;text-align:right;white-space:nowrap}
td.text,th.text{text-align:left}svg{max-width:100%;height:auto}code{overflow-wrap:anywhere}"""
CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # the reader's browser refuses any request


@dataclass(frozen=True, eq=False)
class Report:
    """The content of a report.

    sweep: the sweep.
    fidelity: estimates or full runs.
    rows: the finished points that pass the filters.
    metric: the result by which points are judged.
    link: the link that reproduces the sweep.
    date: the day of the report, given by the caller.
    filters: the filters as text.
    """

    sweep: Sweep
    fidelity: Fidelity
    rows: pd.DataFrame
    metric: str
    link: str
    date: str
    filters: tuple[str, ...] = ()


def report_html(report: Report) -> str:
    """Return the report as an HTML page."""
    money = sweep_table.money(report.sweep)
    finding_sentence = with_year(sweep_findings.finding(report.rows, report.sweep.axes, report.metric, None), money)
    parts = [
        f"<h1>{escape(finding_sentence)}</h1>",
        f"<p>{escape(_introduction(report))}</p>",
        f"<p>This link reproduces the sweep: <code>{escape(report.link)}</code></p>",
        f"<p>Emberpool, model version {version.MODEL}.</p>",
        "<h2>Axes of the sweep</h2>",
        _table(
            [("Knob", "Values"), *((sweep_table.title(axis.path), _values(str(axis))) for axis in report.sweep.axes)], words=2
        ),
        *_figures(report),
        f"<h2>The best points by {escape(numbers.label(report.metric).lower())}</h2>",
        _points(report, sweep_table.rank_rows(report.rows, report.metric).head(TOP)),
        *_front(report),
        "<h2>Sources of the numbers</h2>",
        "<p>Constants of the best points' machines, with their ranges and sources.</p>",
        _constants(report),
    ]
    policy = f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">'
    head = f'<meta charset="utf-8">{policy}<title>Emberpool sweep</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head><body>{"".join(parts)}</body></html>\n'


def _introduction(report: Report) -> str:
    kind = "quick estimates" if report.fidelity == "estimate" else "full runs"
    filter_words = f" that pass the filters ({'; '.join(report.filters)})" if report.filters else ""
    return (
        f"{count(len(report.rows))} of {count(len(report.sweep), 'point')}{filter_words}, {kind}, {report.date}. "
        f"{_dollars(report)}"
    )


def _dollars(report: Report) -> str:
    return f"Dollars are {sweep_table.money(report.sweep)}."


def _values(axis: str) -> str:
    text = axis.partition(":")[2]
    return text if len(text) < 200 else f"{text[:200]} ..."


def figures(report: Report) -> list[tuple[str, Figure]]:
    """Return the report's figures, each with the question that it answers."""
    axes, rows, metric = report.sweep.axes, report.rows, report.metric
    result = numbers.label(metric)
    question_figures = [(f"{result} over the first knobs", sweep_figures.lines(rows, axes[:2], metric, BEST_POINT))]
    if len(axes) > 1:
        heat_map = sweep_figures.heat_map(rows, (axes[0], axes[1]), metric, BEST_POINT, len(axes) > 2)
        question_figures = [(f"The best {result}", heat_map), *question_figures]
    if pair := sweep_figures.trade_pair(rows, metric):
        colour = next((axis.path for axis in axes if axis.path == "system"), "")
        question_figures.append((f"What does {numbers.label(pair[0]).lower()} cost?", sweep_figures.pareto(rows, *pair, colour)))
    shares = sweep_findings.variance_shares(report.sweep, rows, metric)
    if shares and shares[0].high:
        question_figures.append(("Which knob matters?", sweep_figures.importance_figure(shares, metric)))
    return question_figures


def _figures(report: Report) -> list[str]:
    return [
        f"<h2>{escape(question)}</h2><figure>{pictures.svg(chart_figure.spec, chart_figure.marks, f'figure{number}')}"
        f"<figcaption>{escape(f'{chart_figure.alt}. {chart_figure.note}')}</figcaption></figure>"
        for number, (question, chart_figure) in enumerate(figures(report))
        if len(chart_figure.marks)
    ]


def _front(report: Report) -> list[str]:
    pair = sweep_figures.trade_pair(report.rows, report.metric)
    if pair is None:
        return []
    known_rows = report.rows.dropna(subset=list(pair))
    lower = tuple(map(sweep_marks.lower_is_better, pair))
    x_values, y_values = (known_rows[name].to_numpy() for name in pair)
    front = known_rows[sweep_marks.pareto_mask(x_values, y_values, (lower[0], lower[1]))].sort_values(pair[0])
    limit_words = f", the first {MOST_FRONT} of {count(len(front))}" if len(front) > MOST_FRONT else ""
    names = " and ".join(numbers.label(name).lower() for name in pair)
    return [f"<h2>The Pareto front of {escape(names)}{limit_words}</h2>", _points(report, front.head(MOST_FRONT), pair)]


def _points(report: Report, rows: pd.DataFrame, first_names: Sequence[str] = ()) -> str:
    axes = [axis.path for axis in report.sweep.axes]
    names = list(
        dict.fromkeys(name for name in (*first_names, report.metric, *MAIN_METRICS) if name in rows and rows[name].notna().any())
    )
    head = ("Point", *map(sweep_table.title, axes), *names)
    body = [
        (
            f"{int(row[POINT]) + 1}",
            *(sweep_table.value_text(row[path], path) for path in axes),
            *(_number(row[name], error_of(name, row.to_dict())) for name in names),
        )
        for _, row in rows.iterrows()
    ]
    return _table([head, *body], words=0)


def _number(number: float, error: float | None) -> str:
    return "" if pd.isna(number) else numbers.result_text(number, error=error) if error else figure(number)


def _constants(report: Report) -> str:
    best_points = sweep_table.rank_rows(report.rows, report.metric)[POINT].head(MOST_MACHINES)
    constants_by_name = {
        name: constant for point in best_points for name, constant in constants(report.sweep[int(point)]).items()
    }
    body = [
        (
            name,
            f"{exact(constant.value)} {constant.unit}",
            f"{exact(constant.low)} to {exact(constant.high)}",
            constant.confidence,
            constant.source,
        )
        for name, constant in constants_by_name.items()
    ]
    return _table([("Constant", "Value", "Range", "Confidence", "Source"), *body], words=5)


def _table(rows: Sequence[Sequence[str]], words: int) -> str:
    """Return an HTML table.

    Its first row is the head, its first `words` columns are text.
    """

    def line(cells: Sequence[str], kind: str) -> str:
        texts = (f"<{kind}{' class=text' if column < words else ''}>{escape(cell)}</{kind}>" for column, cell in enumerate(cells))
        return f"<tr>{''.join(texts)}</tr>"

    body = "".join(line(row, "td") for row in rows[1:])
    return f"<table><thead>{line(rows[0], 'th')}</thead><tbody>{body}</tbody></table>"
