"""The start of the explorer: which names its address brings along, what is printed, and which bad input is refused?"""

import asyncio
import os
import re
from contextlib import suppress
from socket import AF_INET, AF_INET6, SOCK_STREAM, socket

import pytest

from engine.errors import BadInput
from pages.gate import access, launch
from pages.gate.hosts import HostNames, host_names, hostname, same_origin
from tests.cases import each
from tests.pages.gate.loop import finished


def here(*addresses):
    """Return those of some addresses that this computer has: not each has IPv6, or more of loopback than one address."""
    found = []
    for address in addresses:
        with suppress(OSError), socket(AF_INET6 if ":" in address else AF_INET, SOCK_STREAM) as probe:
            probe.bind((address.strip("[]"), 0))
            found.append((address, "localhost" if address == "::" else address))
    return found


class Served:
    """Stands for Streamlit's application: notes what it was started with, and begins its life."""

    options: dict

    def __init__(self, script, middleware, lifespan):
        self.script, self.names, self.lifespan = script, middleware[0].kwargs["names"], lifespan

    def run(self, config):
        Served.options, Served.names = config, self.names

        async def live():
            async with self.lifespan(self):
                await asyncio.sleep(2 * launch.OPEN_SECONDS)

        finished(live())


@pytest.fixture
def started(monkeypatch, capsys):
    """Return what a start prints, and the addresses that it opens in a browser."""
    opened = []
    monkeypatch.setattr(launch.st, "App", Served)
    monkeypatch.setattr(launch.webbrowser, "open", opened.append)
    monkeypatch.setattr(launch, "OPEN_SECONDS", 0.001)
    monkeypatch.setattr(launch.st, "get_option", lambda name: {"server.port": 8501, "server.headless": False}[name])
    monkeypatch.setattr(access, "_token", "")

    def start(*arguments):
        assert launch.main(arguments) == 0
        return capsys.readouterr().out, opened

    return start


def test_a_start_prints_one_address_with_a_fresh_token_and_opens_it_with_a_ticket_of_one_use(started):
    texts = [started() for _ in range(2)]
    tokens = [re.fullmatch(r"Emberpool: http://localhost:8501/\?token=(\S{43})", text.splitlines()[0])[1] for text, _ in texts]
    assert tokens[0] != tokens[1] and access.is_token(tokens[1]) and not access.is_token(tokens[0])
    ticket = texts[1][1][1].partition("token=")[2]
    assert not access.is_token(ticket) and [access.redeem(ticket), access.redeem(ticket)] == [tokens[1], ""]
    assert Served.options["server.allowedHosts"] == ["127.0.0.1", "::1", "localhost"]


def test_a_token_of_ones_own_is_taken_out_of_the_environment_that_workers_inherit(started, monkeypatch):
    monkeypatch.setenv(access.VARIABLE, "a-secret-of-my-own")
    assert "token=a-secret-of-my-own" in started()[0] and access.VARIABLE not in os.environ


@each(("address", "host"), [("0.0.0.0", "localhost"), ("0", "localhost"), *here("::")])
def test_who_lets_others_reach_the_server_is_told_what_they_can_do(started, address, host):
    printed, _ = started("--address", address)
    assert printed.count("The server listens on") == 1 and f"http://{host}:8501/" in printed
    assert "only those with the token may cancel, delete or pin the runs of others, or open files by path." in printed
    assert (
        Served.options["server.allowedHosts"] == ["*"]
        and Served.names.allow("192.0.2.7:8501")
        and Served.names.allow("[2001:db8::1]")
    )
    assert not Served.names.allow("evil.example:8501")


@each(
    ("address", "host"),
    [("127.0.0.1", "localhost"), ("localhost", "localhost"), ("", "localhost"), ("[::1]", "[::1]"), ("127.0.0.2", "127.0.0.2")],
)
def test_loopback_is_nobody_elses(started, address, host):
    printed, _ = started("--address", address)
    assert "listens on" not in printed and f"http://{host}:8501/" in printed and Served.names.allow(f"{host}:8501")
    assert not Served.names.allow("192.0.2.7:8501")


@each(
    ("arguments", "word"),
    [
        (("--address", "192.0.2.77"), "ADDRESS=192.0.2.77"),
        (("--address", "nowhere.invalid"), "ADDRESS=nowhere.invalid"),
        (("--port", "65536"), "PORT=65536"),
        (("--port", "http"), "PORT=http"),
        (("--allow", "lab.example,http://evil.example"), "ALLOW=http://evil.example"),
        (("--allow", "*"), "ALLOW=*"),
        (("--allow", "lab.example:8501"), "ALLOW=lab.example:8501"),
        (("--data", "/no/such/file"), "DATA=/no/such/file"),
        (("--data", "~nobody-of-this-name/file"), "~nobody-of-this-name"),
    ],
)
def test_bad_input_at_start_is_one_sentence(arguments, word, capsys):
    assert launch.main(arguments) == 2
    assert word in (said := capsys.readouterr().err) and said.count("\n") == 1 and "; " in said


@each("token", ["short", "with a blank in it", "a" * 257, "semicolon;in;a;cookie", "é" * 20])
def test_a_token_that_no_cookie_can_hold_is_refused(token, monkeypatch):
    monkeypatch.setattr(access, "_token", "")
    with pytest.raises(BadInput, match=access.VARIABLE):
        access.set_token(token)
    assert not access.is_token(token) and not access.is_token("")


@each(
    ("host", "name"),
    [
        ("LOCALHOST:8501", "localhost"),
        ("lab.example.", "lab.example"),
        ("[0:0::1]:80", "::1"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1].evil.example", ""),
        ("a@b", ""),
        ("a/b", ""),
        ("a b", ""),
        ("a:b", ""),
        ("a:99999", ""),
        ("[::1", ""),
        ("é", ""),
        ("a\tb", ""),
        ("", ""),
        ("-a.b", ""),
        ("a..b", ""),
    ],
)
def test_a_host_is_read_as_browsers_write_it(host, name):
    assert hostname(host) == name


def test_a_name_with_a_star_means_those_below_it_and_nothing_else():
    names = host_names(("127.0.0.1",), ("*.lab.example", "[2001:DB8::7]"))
    assert [names.allow(host) for host in ("a.lab.example", "a.b.lab.example:1", "[2001:db8:0::7]:80")] == [True] * 3
    assert [names.allow(host) for host in ("lab.example", "evillab.example", "*.lab.example", "2001:db8::7", "example")] == [
        False
    ] * 5
    assert not HostNames(frozenset()).allow("localhost")


@each(
    ("origin", "host", "same"),
    [
        ("https://lab.example", "lab.example", True),  # behind a proxy that ends TLS
        ("http://lab.example", "LAB.example:80", True),
        ("https://lab.example", "lab.example:80", False),
        ("http://lab.example", "lab.example:8501", False),
        ("http://lab.example/", "lab.example", False),
        ("http://a@lab.example", "lab.example", False),
        ("ftp://lab.example", "lab.example", False),
        ("lab.example", "lab.example", False),
        ("http://lab.example:x", "lab.example:x", False),
        ("", "", False),
        ("null", "null", False),
        ("file://", "localhost", False),
    ],
)
def test_an_origin_is_the_same_site_whatever_ends_its_tls(origin, host, same):
    assert same_origin(origin, host) == same
