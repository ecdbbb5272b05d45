"""A verdict question in the form of links and commands.

The form has the requirement, the allowed loss, the objective, the parts, the software and the year of prices.
"""

from ....errors import BadInput, nearest_hint
from ....hardware.software import LAYERS
from ....scenario.machine import YEARS
from ....scenario.scenario import Scenario, with_values
from ....sweep import links
from ....sweep.questions import LinkQuestions
from ..allowed import ON_SALE, AllowedParts
from ..question import PRICES, VerdictQuestion
from ..requirement import OBJECTIVES, read_requirement
from ..stacks import EXISTS, SoftwareChoice

COST = OBJECTIVES[0]


def read_question(scenario: Scenario, questions: LinkQuestions) -> VerdictQuestion:
    """Return the question of a link or command about a scenario.

    Raises BadInput with a refusal.
    """
    objective = questions.objective or COST
    if objective not in OBJECTIVES:
        raise BadInput(f"objective={objective[:60]!r} is not known; {nearest_hint(objective, OBJECTIVES, 'objectives')}")
    if questions.prices:
        if questions.prices not in YEARS:
            raise BadInput(
                f"prices={questions.prices[:20]!r} is not a year with known prices; write a year from {YEARS[0]} to {YEARS[-1]}."
            )
        scenario = with_values(scenario, {PRICES: questions.prices})
    known_objective = next(word for word in OBJECTIVES if word == objective)
    if questions.precision and questions.precision not in LAYERS:
        raise BadInput(f"precision={questions.precision[:20]!r} is not known; {nearest_hint(questions.precision, LAYERS)}")
    return VerdictQuestion(
        scenario,
        read_requirement(questions.require, questions.lose),
        known_objective,
        AllowedParts(questions.parts or ON_SALE),
        SoftwareChoice(questions.software or EXISTS),
        questions.precision,
    )


def questions_of(question: VerdictQuestion) -> LinkQuestions:
    """Return a question in the form of links, without defaults."""
    requirement, parts = question.requirement, ",".join(question.parts.words)
    return LinkQuestions(
        require=requirement.texts,
        lose=requirement.loss_text,
        objective="" if question.objective == COST else question.objective,
        parts="" if parts == ON_SALE else parts,
        software="" if question.software.text == EXISTS else question.software.text,
        precision=question.layers,
    )


def link_of(question: VerdictQuestion, base: str) -> str:
    """Return the link that asks a question again."""
    return links.link(question.scenario, base, page="decide", questions=questions_of(question))
