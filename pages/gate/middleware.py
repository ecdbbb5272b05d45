"""Check each request and websocket: refuse those of other sites, read the token, and give each browser a secret.

Other sites cannot show the pages in their frames.
"""

from urllib.parse import parse_qsl, unquote_plus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from pages.gate import access
from pages.gate.hosts import HostNames, same_origin

POLICY_VIOLATION = 1008
CORE = "/_stcore/"
SECRET_SECONDS = 400 * 24 * 3600  # browsers keep no cookie for longer
# Cookies ignore ports: framed in another site's page the explorer would be trusted, and clicked unseen.
FRAMES = {"Content-Security-Policy": "frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}


class Gate:
    """An ASGI application that passes on only requests from the server's own pages.

    Requests must name the server by one of its own names.
    """

    def __init__(self, app: ASGIApp, names: HostNames) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or a websocket's handshake."""
        if scope["type"] not in ("http", "websocket"):  # lifespan events of the server
            return await self._app(scope, receive, send)
        send = _unframed(send)
        if refusal := self._refusal(Headers(scope=scope)):
            refused = PlainTextResponse(refusal, 403, {"X-Content-Type-Options": "nosniff"})
            return await (WebSocketClose(POLICY_VIOLATION) if scope["type"] == "websocket" else refused)(scope, receive, send)
        return await (self._without_token(scope) or self._app)(scope, receive, _with_secret(scope, send))

    def _refusal(self, headers: Headers) -> str:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._names.allow(hosts[0]):
            return (
                "This explorer does not answer under this host name. On its own computer, open it as localhost; "
                "make run ALLOW=NAME adds another name.\n"
            )
        if len(origins) > 1 or (origins and not same_origin(origins[0], hosts[0])):
            return "This explorer answers only its own pages, not pages of another site or port.\n"
        return ""

    def _without_token(self, scope: Scope) -> Response | None:
        """Return a redirect to the address without its token; None where there is none.

        A cookie keeps the token if it is right.
        """
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(CORE):
            return None
        query = scope["query_string"].decode("latin-1")
        parts = query.split("&")
        rest = [part for part in parts if unquote_plus(part.partition("=")[0]) != access.PARAMETER]
        if len(rest) == len(parts):
            return None
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1").lstrip("/\\")  # "//host" is another host
        response = RedirectResponse(f"/{path}{'?' * bool(rest)}{'&'.join(rest)}", 303, {"Cache-Control": "no-store"})
        if token := access.redeem(dict(parse_qsl(query)).get(access.PARAMETER, "")):
            name = access.cookie_name(Headers(scope=scope)["host"])
            response.set_cookie(name, token, httponly=True, samesite="strict", secure=scope["scheme"] == "https")
        return response


def _with_secret(scope: Scope, send: Send) -> Send:
    """Return `send` with a new secret for a browser that opens a page without one."""
    headers = Headers(scope=scope)
    name = access.cookie_name(headers["host"], "visitor")
    is_page = scope["type"] == "http" and "text/html" in headers.get("accept", "")
    if not is_page or access.is_secret(cookie_parser(headers.get("cookie", "")).get(name)):
        return send

    async def send_with_secret(message: Message) -> None:
        if message["type"] == "http.response.start":
            # Lax: a strict cookie is not sent by a link of another site, so a new secret would replace the browser's own.
            cookie = Response()
            cookie.set_cookie(
                name,
                access.new_secret(),
                max_age=SECRET_SECONDS,
                httponly=True,
                samesite="lax",
                secure=scope["scheme"] == "https",
            )
            MutableHeaders(scope=message).append("Set-Cookie", cookie.headers["Set-Cookie"])
        await send(message)

    return send_with_secret


def _unframed(send: Send) -> Send:
    """Return `send` with headers that forbid frames on other sites' pages."""

    async def send_unframed(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            MutableHeaders(scope=message).update(FRAMES)
        await send(message)

    return send_unframed
