"""A form for the visitor's own model with its size.

Each field is checked separately; all fields are applied together.
"""

import re

import streamlit as st

from engine.errors import BadKnob
from engine.scenario import knobs
from engine.scenario.presets import DEFAULT, preset
from engine.scenario.scenario import KNOBS, Scenario, with_values
from pages.own_data.leading import Question
from pages.start_page import picture, questions
from pages.ui.plain import escape_markdown

FIELDS = {
    "model.num_tables": ("Tables", "40"),
    "model.num_embeddings": ("Rows per table", "5 M"),
    "model.embedding_dim": ("Embedding dim", "64"),
    "model.pooling": ("Pooling factor (lookups)", "20"),
    "data.batch_size": ("Batch size", "4096"),
}
# Popularity decides which machine is cheapest, so the form has it.
POPULARITIES = {
    "kaggle": "Criteo Kaggle",
    "terabyte": "Criteo Terabyte",
    "avazu": "Avazu",
    "meta": "Meta's traces",
    "uniform": "all rows equal",
}
POPULAR = (
    "Popularity is how lookups spread over rows. In Criteo's data few rows get most lookups, so a small cache is enough. In "
    "Meta's traces many rows do, and the cheapest machine can cost twice as much. The page Data shows the popularity of your log."
)
TRAINING = ("optimizer", "learning_rate", "embedding_learning_rate", "initial_accumulator")  # tuned to the preset's own model
MULTIPLIERS = {"k": 10**3, "m": 10**6, "million": 10**6, "g": 10**9, "b": 10**9, "billion": 10**9}
NUMBER = re.compile(r"([0-9][0-9,_]*(?:\.[0-9]+)?(?:e[0-9]+)?)\s*(million|billion|[kmgb])?", re.IGNORECASE)


def draw(question: Question) -> Scenario | None:
    """Draw the form and its button; return the scenario, None if a field is refused.

    question: the question that the button asks.
    """
    is_refused = False
    changes: dict[str, object] = {}
    *columns, last_column = st.columns(len(FIELDS) + 1)
    with last_column:
        names = list(POPULARITIES)
        popularity = st.selectbox(
            "Popularity of rows as in", names, key="own like", format_func=POPULARITIES.__getitem__, help=POPULAR
        )
        changes["data.popularity"] = popularity
    for column, (path, (label, usual)) in zip(columns, FIELDS.items(), strict=True):
        with column:
            text = st.text_input(label, usual, key=f"own {path}", help=KNOBS[path].help + " 5 M, 5e6 and 5,000,000 are the same.")
            try:
                changes[path] = knobs.parse(KNOBS[path], exact_numbers(text))
            except BadKnob as error:
                is_refused = True
                st.caption(f":red[{escape_markdown(str(error))}]")
    own_scenario = None if is_refused else _scenario(changes)
    with st.container(horizontal=True, vertical_alignment="center"):
        if isinstance(own_scenario, Scenario):
            st.markdown(f"**{escape_markdown(picture.size_words(own_scenario))}**", width="content")
        elif own_scenario is not None:
            st.caption(f":red[{escape_markdown(own_scenario)}]", width="content")
        st.button(
            "Ask about my model",
            key="own",
            type="primary",
            on_click=questions.ask,
            args=(question, DEFAULT, with_consequences(changes)),
            disabled=not isinstance(own_scenario, Scenario),
        )
        st.caption("MLPs and machine are those of the reference DLRM; you can change each of them later.", width="content")
    return own_scenario if isinstance(own_scenario, Scenario) else None


def exact_numbers(text: str) -> str:
    """Return a text whose numbers are as in links: "5 M" and "5,000,000" become "5000000"."""
    return ";".join(_exact(part) for part in text.split(";"))


def _exact(part: str) -> str:
    match = NUMBER.fullmatch(part.strip())
    if not match:
        return part.strip()
    number = float(match[1].replace(",", "").replace("_", "")) * MULTIPLIERS.get((match[2] or "").lower(), 1)
    return str(int(number)) if number == int(number) and number < 1e15 else str(number)


def with_consequences(changes: dict[str, object]) -> dict[str, object]:
    """Return the fields with the knobs that follow from them.

    The bottom MLP's last width is the embedding's dim, and training is by SGD, as in papers.
    """
    widths = preset(DEFAULT).scenario.model.bottom_mlp
    dim = changes.get("model.embedding_dim", widths[-1])
    widest = max(dim) if isinstance(dim, tuple) else dim  # dot products bring the other tables to this dim
    training_defaults = {f"model.{name}": KNOBS[f"model.{name}"].default for name in TRAINING}
    return {**training_defaults, **changes, "model.bottom_mlp": (*widths[:-1], widest)}


def _scenario(changes: dict[str, object]) -> Scenario | str:
    try:
        return with_values(preset(DEFAULT).scenario, with_consequences(changes))
    except BadKnob as error:
        return str(error)
