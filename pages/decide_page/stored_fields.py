"""Fields of a question that keep their values while they are not drawn, since Streamlit forgets those of undrawn widgets."""

from collections.abc import Mapping

import streamlit as st

from pages.ui import session


def stored_key(key: str) -> str:
    """Return the session key of a field's stored value."""
    return f"kept {key}"


def stored_value(key: str, default: str = "") -> str:
    """Return a field's stored value."""
    return str(st.session_state.get(stored_key(key), default))


def store(values: Mapping[str, str]) -> None:
    """Set fields to values; call before the fields are drawn, or in a callback."""
    for key, text in values.items():
        st.session_state.pop(key, None)
        st.session_state[stored_key(key)] = text


def draw_choice(key: str, label: str, options: Mapping[str, str], default: str = "", tip: str = "") -> None:
    """Draw a select box of words with their titles; `default` is its first value, `tip` its help."""
    choice, names = stored_value(key, default), list(options)
    st.session_state[key] = choice if choice in names else names[0]
    st.selectbox(
        label,
        names,
        session.option_index(names, key),
        key=key,
        format_func=lambda name: options.get(name, name),
        help=tip or None,
        on_change=_store_field,
        args=(key,),
    )
    st.session_state[stored_key(key)] = st.session_state[key]


def draw_text(key: str, label: str, example: str, disabled: bool = False) -> None:
    """Draw a field of text; `example` stands in it while it is empty."""
    st.session_state[key] = stored_value(key)
    st.text_input(
        label, st.session_state[key], key=key, placeholder=example, disabled=disabled, on_change=_store_field, args=(key,)
    )


def _store_field(key: str) -> None:
    st.session_state[stored_key(key)] = st.session_state[key]
