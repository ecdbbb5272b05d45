"""Links checked for meaning: bounds and objectives name results, a crash state can be replayed; the form is checked before."""

from itertools import chain

from ..crashcheck.view import view
from ..errors import BadInput
from ..scenario.scenario import KNOBS
from ..sweep import links
from ..sweep.questions import Pairs
from .objective import column, constraint, objectives
from .verdict.report.asked import question_of


def read(url: str) -> links.Opened:
    """Open a whole link, or the part behind its question mark; raises BadInput with the sentence that refuses it."""
    return checked(links.read(url))


def checked(opened: links.Opened) -> links.Opened:
    """Return what a link says if all of it has a meaning, that of the links which it compares included; raises BadInput."""
    compared = (links.read(link).questions for _, link in links.compared(opened.questions))
    for questions in chain((opened.questions,), compared):
        if questions.pareto:
            objectives(questions.pareto)
        for bound in questions.where:
            constraint(bound)
        if questions.metric:
            _shown(questions.metric)
        question_of(opened.scenario, questions)
    if opened.crash:
        view(opened.crash)
    return opened


def _shown(metric: str) -> None:
    if column(metric) in KNOBS:
        raise BadInput(f"The link shows metric={metric[:80]!r}, which is a knob; write a result, such as metric=Step time [ms].")


def opened_or_error(pairs: Pairs) -> links.Opened | BadInput:
    """Open decoded parameters, or return the error whose sentence a page shows instead."""
    try:
        return checked(links.open_pairs(pairs))
    except BadInput as error:
        return error
