"""Permission to name files by path: the token in the address that is printed at start.

The token is a secret of this process. Under `streamlit run app.py` there is no token, and no visitor has the permission.
"""

import re
from hmac import compare_digest
from secrets import token_urlsafe

import streamlit as st

from engine.errors import BadInput

PARAMETER, VARIABLE = "token", "EMBERPOOL_TOKEN"
TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,256}")  # as it stands in addresses and cookies
TOKEN_HINT = "To give a file by its path, open the address that `make run` prints, with its token."

_token = ""
_tickets: set[str] = set()


def set_token(token: str = "") -> str:
    """Set and return this process's token, a new one by default; raises BadInput."""
    global _token
    if token and not TOKEN.fullmatch(token):
        raise BadInput(
            f"{VARIABLE} is not a valid token; give 16 to 256 letters, digits, '.', '_', '~' or '-', or nothing for a new token."
        )
    _token = token or token_urlsafe(32)
    return _token


def is_token(text: str) -> bool:
    """Return whether a text is the token; the time does not depend on the text."""
    return bool(_token) and compare_digest(text.encode(), _token.encode())


def new_ticket() -> str:
    """Return a text that can be exchanged for the token once.

    The text stands in the command line of a browser, which other users of the computer may see.
    """
    _tickets.add(text := token_urlsafe(32))
    return text


def redeem(text: str) -> str:
    """Return the token for a token or an unused ticket, "" for any other text."""
    matching_ticket = next((ticket for ticket in _tickets if compare_digest(ticket.encode(), text.encode())), None)
    _tickets.discard(matching_ticket or "")
    return _token if matching_ticket or is_token(text) else ""


def cookie_name(host: str) -> str:
    """Return the name of the token's cookie, which contains the port.

    Browsers share a host's cookies among all its ports.
    """
    port = re.search(r":([0-9]+)$", host)
    return f"emberpool-token-{port[1]}" if port else "emberpool-token"


def shown_token() -> str:
    """Return the token that this visitor's browser has sent, "" if it has sent none."""
    text = st.context.cookies.get(cookie_name(st.context.headers.get("Host", "")))
    return text if isinstance(text, str) else ""


def is_trusted() -> bool:
    """Return whether this visitor has sent the token, and so may name files by path."""
    return bool(_token) and is_token(shown_token())
