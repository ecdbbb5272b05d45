"""Who may give files by their path: whoever has shown the token of the address that is printed at start.

The token is a secret of this process. Under `streamlit run app.py` there is none, and nobody is trusted.
"""

import re
from hmac import compare_digest
from secrets import token_urlsafe

import streamlit as st

from engine.errors import BadInput

PARAMETER, VARIABLE = "token", "EMBERPOOL_TOKEN"
TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,256}")  # as it stands in addresses and cookies
HOW = "To give a file by its path, open the address that `make run` prints, with its token."

_token = ""
_tickets: set[str] = set()


def begin(token: str = "") -> str:
    """Set and return the token of this process, a fresh one where none is given; raises BadInput."""
    global _token
    if token and not TOKEN.fullmatch(token):
        raise BadInput(
            f"{VARIABLE} is no token; give 16 to 256 letters, digits, '.', '_', '~' or '-', or nothing for a fresh one."
        )
    _token = token or token_urlsafe(32)
    return _token


def is_token(text: str) -> bool:
    """Return whether a text is the token, in a time that does not depend on how much of it is right."""
    return bool(_token) and compare_digest(text.encode(), _token.encode())


def ticket() -> str:
    """Return a text that is taken for the token once: it stands in the command line of a browser, which others may see."""
    _tickets.add(text := token_urlsafe(32))
    return text


def redeemed(text: str) -> str:
    """Return the token for what an address holds in its place, "" where that is neither the token nor an unused ticket."""
    known = next((ticket for ticket in _tickets if compare_digest(ticket.encode(), text.encode())), None)
    _tickets.discard(known or "")
    return _token if known or is_token(text) else ""


def cookie_name(host: str) -> str:
    """Return the name of the cookie that keeps the token: browsers keep one store of cookies for all ports of a host."""
    port = re.search(r":([0-9]+)$", host)
    return f"emberpool-token-{port[1]}" if port else "emberpool-token"


def shown_token() -> str:
    """Return what this visitor's browser has shown as the token, "" where it has shown nothing."""
    text = st.context.cookies.get(cookie_name(st.context.headers.get("Host", "")))
    return text if isinstance(text, str) else ""


def is_trusted() -> bool:
    """Return whether this visitor has shown the token, and may name files by their path."""
    return bool(_token) and is_token(shown_token())
