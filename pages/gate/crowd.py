"""Bound the visitors at one time: each open page keeps a websocket and a session of this process."""

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

MOST_OPEN = 200  # pages at one time
TRY_AGAIN_LATER = 1013
SENTENCE = (
    f"This explorer already has {MOST_OPEN} open pages, which is its limit. Close pages that you do not need, and try again.\n"
)


class Crowd:
    """An ASGI application that refuses further pages while MOST_OPEN websockets are open."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._open = app, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or a websocket; a page's first request is refused by a sentence, as browsers hide a websocket's."""
        is_socket, is_full = scope["type"] == "websocket", self._open >= MOST_OPEN
        if is_full and is_socket:
            return await WebSocketClose(TRY_AGAIN_LATER)(scope, receive, send)
        if is_full and scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", ""):
            return await PlainTextResponse(SENTENCE, 503, {"Retry-After": "60"})(scope, receive, send)
        self._open += is_socket
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= is_socket
