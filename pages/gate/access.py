"""Secrets of visitors: the token, which makes an operator, and a secret for each browser, which owns runs.

The token stands in the address that is printed at start, and is a secret of this process. Who has it may name files by path.
Under `streamlit run app.py` there is neither token nor secret: no visitor is an operator, and each session owns its own runs.
"""

import re
from hashlib import blake2b
from hmac import compare_digest
from secrets import token_urlsafe

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import BadInput

PARAMETER, VARIABLE = "token", "EMBERPOOL_TOKEN"
TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,256}")  # as it stands in addresses and cookies
SECRET = re.compile(r"[A-Za-z0-9_-]{43}")  # a browser's secret of 256 bits
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


def cookie_name(host: str, content: str = "token") -> str:
    """Return the name of a cookie, which contains the port.

    Browsers share a host's cookies among all its ports. content: "token", or "visitor" for a browser's secret.
    """
    port = re.search(r":([0-9]+)$", host)
    return f"emberpool-{content}-{port[1]}" if port else f"emberpool-{content}"


def new_secret() -> str:
    """Return a new secret for a browser."""
    return token_urlsafe(32)


def is_secret(text: object) -> bool:
    """Return whether a text can be a browser's secret."""
    return isinstance(text, str) and bool(SECRET.fullmatch(text))


def shown_token() -> str:
    """Return the token that this visitor's browser has sent, "" if it has sent none."""
    text = _cookie("token")
    return text if isinstance(text, str) else ""


def is_trusted() -> bool:
    """Return whether this visitor has sent the token, and so may name files by path."""
    return bool(_token) and is_token(shown_token())


def visitor() -> str:
    """Return a public text that names this visitor, the same in all sessions of one browser.

    It is a digest of the secret that the gate has given to the browser. Without a gate it is a digest of the Streamlit session,
    so another session is another visitor; "" outside of sessions.
    """
    if is_secret(secret := _cookie("visitor")):
        return f"visitor {_digest(str(secret))}"
    session = get_script_run_ctx()
    return f"session {_digest(session.session_id)}" if session else ""


def _cookie(content: str) -> object:
    return st.context.cookies.get(cookie_name(st.context.headers.get("Host", ""), content))


def _digest(secret: str) -> str:
    return blake2b(secret.encode(), digest_size=16, person=b"emberpool owner").hexdigest()
