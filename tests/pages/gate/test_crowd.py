"""Many, broken and hostile clients of a real server behind the gate: does it go on serving?"""

import os
from contextlib import ExitStack, suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pages.gate import crowd
from tests.pages.gate.test_handshake import got, said, server, shaken, stream  # noqa: F401  fixture

BROKEN = {
    "no message": b"\xff" * 50,
    "an endless field": b"\x0a\xff\xff\xff\xff\x0f",
    "drawn bytes": os.urandom(999),
    "text": "text",
    "more than a message may have": bytes(2 << 20),
    "more than a frame may have": bytes(40 << 20),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=[*BROKEN])
def test_a_broken_message_ends_its_own_connection_alone(server, content):  # noqa: F811
    host = f"localhost:{server[0]}"
    with stream(server[0], host) as good, stream(server[0], host) as bad:
        with pytest.raises(ConnectionClosed):
            bad.send(content)
            while True:
                bad.recv(20)
        good.ping().wait(20)
    assert said(server[0], host) == "trusted: False"


def test_a_full_server_refuses_by_a_sentence_and_serves_again_once_pages_are_closed(server):  # noqa: F811
    port, host = server[0], f"localhost:{server[0]}"
    with ExitStack() as pages:
        for _ in range(crowd.MOST_OPEN):
            pages.enter_context(stream(port, host))
        assert shaken(port, host) == 403
        status, _, text = got(port, host, Accept="text/html,*/*")
        assert status == 503 and f"{crowd.MOST_OPEN} open pages" in text
        assert got(port, host, "/_stcore/health")[0] == 200
    for _ in range(100):  # the server notes closed connections a moment later
        with suppress(InvalidStatus):
            assert said(port, host) == "trusted: False"
            break
    assert shaken(port, host) == 101 and got(port, host, Accept="text/html")[0] == 200
