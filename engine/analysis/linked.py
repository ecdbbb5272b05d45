"""Links checked for meaning: bounds and objectives name results, a crash state can be replayed; the form is checked before."""

from collections.abc import Callable
from itertools import chain

from ..crashcheck.view import view
from ..errors import BadInput
from ..scenario.scenario import KNOBS
from ..sweep import links
from ..sweep.questions import Pairs
from .objective import column, constraint, objectives
from .verdict.report.asked import question_of

Refusal = Callable[[links.Opened], str]


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


def opened_in_part(pairs: Pairs, refusal: Refusal = lambda opened: "") -> tuple[links.Opened, tuple[str, ...]]:
    """Open decoded parameters without those that refuse the link; return a sentence for each one that is left out.

    `refusal` returns a further sentence that refuses what was opened, or "". A parameter that alone refuses the link is found
    by leaving each out in turn. Of several, each is taken that goes with those taken before, in two rounds, as some are only
    good together: three attempts a parameter at most.
    """

    def attempt(kept: Pairs) -> links.Opened | BadInput:
        opened = opened_or_error(kept)
        sentence = refusal(opened) if isinstance(opened, links.Opened) else ""
        return BadInput(sentence) if sentence else opened

    whole = attempt(pairs)
    if isinstance(whole, links.Opened):
        return whole, ()
    for nth, pair in enumerate(pairs):
        without = attempt([*pairs[:nth], *pairs[nth + 1 :]])
        if isinstance(without, links.Opened):
            return without, (_left_out(pair, whole),)
    kept: Pairs = []
    left, refusals = _first(pairs), [whole]
    for _ in range(2):
        tried, left, refusals = left, [], []
        for pair in tried:
            found = attempt([*kept, pair])
            if isinstance(found, BadInput):
                left.append(pair)
                refusals.append(found)
            else:
                kept.append(pair)
    return links.open_pairs(kept), tuple(map(_left_out, left, refusals))


def _first(pairs: Pairs) -> Pairs:
    """Return the parameters in the order in which others depend on them: format, preset, named model."""
    order = ("v", "preset", "part", "model", "model.name", "system")
    return sorted(pairs, key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))


def _left_out(pair: tuple[str, str], error: BadInput) -> str:
    name, value = pair
    return f"Left out of the link, {name[:80]}={value[:80]}: {error}"
