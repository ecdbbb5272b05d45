"""Check that the parts of a link name existing results and states.

Bounds and objectives must name results, and a crash state must be one that can be replayed. `sweep.links` has already checked
the form of the parts.
"""

from collections.abc import Callable
from itertools import chain

from ..errors import BadInput
from ..scenario.scenario import KNOBS
from ..sweep import links
from ..sweep.questions import Pairs
from .objective import column_name, read_constraint, read_objectives
from .verdict.report.asked import read_question

Refusal = Callable[[links.OpenedLink], str]


def read_link(url: str) -> links.OpenedLink:
    """Open a link: the whole link, or the part after its question mark.

    Raises BadInput with the sentence that refuses it.
    """
    return check_link(links.open_link(url))


def check_link(opened_link: links.OpenedLink) -> links.OpenedLink:
    """Return an opened link if all its parts and compared links are valid.

    Raises BadInput.
    """
    compared = (links.open_link(link).questions for _, link in links.compared_runs(opened_link.questions))
    for questions in chain((opened_link.questions,), compared):
        if questions.pareto:
            read_objectives(questions.pareto)
        for bound in questions.bounds:
            read_constraint(bound)
        if questions.metric:
            _check_metric(questions.metric)
        read_question(opened_link.scenario, questions)
    if opened_link.crash:
        from ..crashcheck.view import view_state  # late: few links need these modules

        view_state(opened_link.crash)
    return opened_link


def _check_metric(metric: str) -> None:
    if column_name(metric) in KNOBS:
        raise BadInput(
            f"The link shows metric={metric[:80]!r}, which is a knob and not a result; write a result, such as metric=Step time "
            "[ms]."
        )


def open_or_error(pairs: Pairs) -> links.OpenedLink | BadInput:
    """Open decoded parameters, or return the error whose sentence a page shows instead."""
    try:
        return check_link(links.open_pairs(pairs))
    except BadInput as error:
        return error


def open_in_part(pairs: Pairs, refusal: Refusal = lambda opened_link: "") -> tuple[links.OpenedLink, tuple[str, ...]]:
    """Open decoded parameters without the parameters that make the link invalid.

    Return the opened link, and a sentence for each parameter that is left out.
    `refusal` returns a further sentence that refuses the opened link, or "". If one parameter makes the link invalid, it is found
    by leaving out each in turn. If several do, parameters are added one by one, and each is kept if the link then opens. This is
    done in two rounds, as some parameters are only valid together. So there are at most three attempts for each parameter.
    """

    def attempt(subset: Pairs) -> links.OpenedLink | BadInput:
        opened_link = open_or_error(subset)
        sentence = refusal(opened_link) if isinstance(opened_link, links.OpenedLink) else ""
        return BadInput(sentence) if sentence else opened_link

    full_attempt = attempt(pairs)
    if isinstance(full_attempt, links.OpenedLink):
        return full_attempt, ()
    for pair in reversed(_in_dependency_order(pairs)):  # the preset last: many parameters mean little without it
        attempt_without = attempt([other for other in pairs if other is not pair])
        if isinstance(attempt_without, links.OpenedLink):
            return attempt_without, (_left_out_sentence(pair, full_attempt),)
    kept_pairs: Pairs = []
    refused_pairs, refusals = _in_dependency_order(pairs), [full_attempt]
    for _ in range(2):
        candidates, refused_pairs, refusals = refused_pairs, [], []
        for pair in candidates:
            outcome = attempt([*kept_pairs, pair])
            if isinstance(outcome, BadInput):
                refused_pairs.append(pair)
                refusals.append(outcome)
            else:
                kept_pairs.append(pair)
    return links.open_pairs(kept_pairs), tuple(map(_left_out_sentence, refused_pairs, refusals))


def _in_dependency_order(pairs: Pairs) -> Pairs:
    """Return the parameters in the order in which others depend on them: format, preset, named model."""
    order = ("v", "preset", "part", "model", "model.name", "system")
    return sorted(pairs, key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))


def _left_out_sentence(pair: tuple[str, str], error: BadInput) -> str:
    name, setting = pair
    return f"Left out of the link, {name[:80]}={setting[:80]}: {error}"
