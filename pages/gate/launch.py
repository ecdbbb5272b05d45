"""Start the explorer with its gate, and print the address with the token."""

import asyncio
import os
import sys
import webbrowser
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from socket import AI_PASSIVE, SOCK_STREAM, getaddrinfo, socket
from typing import NoReturn

import streamlit as st
from starlette.middleware import Middleware

from engine.core.catalog import VARIABLE
from engine.core.part_files import use
from engine.core.process import open_streams
from engine.errors import BadInput
from engine.scenario import presets
from pages.gate import access
from pages.gate.crowd import Crowd
from pages.gate.hosts import LOOPBACK, host_names, is_every_address, is_loopback
from pages.gate.middleware import Gate
from pages.gate.typed_path import expand_path
from pages.gate.upload_limits import UploadLimits

SCRIPT = "app.py"
SECRECY = (
    "Keep its token secret: with the token, a visitor can open files of this computer by path, and change the runs of others."
)
OPEN_SECONDS = 1.0  # seconds until the server listens
BAD_INPUT, LAST_PORT = 2, 65_535


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until stopped; return the exit status."""
    open_streams()
    parser = ArgumentParser(description="Serve Emberpool's explorer, and print its address.", allow_abbrev=False)
    parser.add_argument("--address", default="127.0.0.1", help="the address to listen on (by default this computer only)")
    parser.add_argument("--port", default="8501")
    parser.add_argument(
        "--allow", default="", metavar="NAMES", help="more host names of this server, with commas or blanks between them"
    )
    parser.add_argument("--data", default="", metavar="PATH", help="a data file to train on, or a folder of data files")
    parser.add_argument("--parts", default="", metavar="DIR", help="a folder of your own parts, as in docs/parts.md")
    parser.add_argument("--presets", default="", metavar="DIR", help="a folder of your own presets, DIR/NAME.toml")
    command_line = parser.parse_args(arguments)
    listens = command_line.address.strip().removeprefix("[").removesuffix("]") or LOOPBACK[1]
    try:
        numbers, port = _listen_addresses(listens), _port_number(command_line.port)
        names = host_names((listens, *numbers), command_line.allow.replace(",", " ").split())
        _check_data(command_line.data)
        _take_parts(command_line.parts)
        _take_presets(command_line.presets)
        token = access.set_token(os.environ.pop(access.VARIABLE, ""))  # child processes do not get the token
    except BadInput as error:
        print(error, file=sys.stderr)
        return BAD_INPUT

    @asynccontextmanager
    async def announced(_: st.App) -> AsyncIterator[None]:
        bound = st.get_option("server.port")
        print(f"Emberpool: {address(listens, numbers, bound, token)}", flush=True)
        print(SECRECY, flush=True)
        if not all(map(is_loopback, numbers)):
            print(warning(listens, bound), flush=True)
        if not st.get_option("server.headless"):
            asyncio.get_running_loop().call_later(
                OPEN_SECONDS, webbrowser.open, address(listens, numbers, bound, access.new_ticket())
            )
        yield

    options = {
        "server.address": listens,
        "server.port": port,
        "server.allowedHosts": names.options(),
        "logger.hideWelcomeMessage": True,
    }
    gate = [Middleware(Gate, names=names), Middleware(Crowd), Middleware(UploadLimits)]
    st.App(SCRIPT, middleware=gate, lifespan=announced).run(config=options)
    return 0


def address(listens: str, numbers: Collection[str], port: int, token: str) -> str:
    """Return the explorer's address for a browser on this computer, with a token."""
    is_local = LOOPBACK[1] in numbers or any(map(is_every_address, numbers))
    host = LOOPBACK[0] if is_local else f"[{listens}]" if ":" in listens else listens
    return f"http://{host}:{port}/?{access.PARAMETER}={token}"


def warning(listens: str, port: int) -> str:
    """Return the warning for a server that other computers can reach."""
    return (
        f"The server listens on {listens}: everyone who can reach port {port} may open links, and start runs and upload files "
        "within limits; only those with the token may cancel, delete or pin the runs of others, or open files by path."
    )


def _check_data(text: str) -> None:
    """Raise BadInput where the data named at start cannot be read."""
    path = expand_path(text)
    if text.strip() and not (os.access(path, os.R_OK) and (path.is_dir() or path.is_file())):
        raise BadInput(
            f"DATA={text} cannot be read; give a data file, such as Criteo's, plain or .gz, or a folder of data files."
        )


def _take_parts(text: str) -> None:
    """Use a folder's parts, also in child processes; raises BadInput if unusable."""
    if text.strip():
        folder = expand_path(text).absolute()
        use.use_folder(folder)
        os.environ[VARIABLE] = str(folder)
    else:
        use.look_at_folder()


def _take_presets(text: str) -> None:
    """Use a folder's presets, also in child processes; raises BadInput if the folder cannot be read.

    A file that cannot be used keeps nothing else from being shown: the pages say why.
    """
    if text.strip():
        folder = expand_path(text).absolute()
        if refusal := presets.use_folder(folder).refused.get(""):
            raise refusal
        os.environ[presets.VARIABLE] = str(folder)


def _listen_addresses(address: str) -> tuple[str, ...]:
    """Return this computer's IP addresses of an address; raises BadInput without any to listen on."""
    try:
        places = getaddrinfo(address, None, type=SOCK_STREAM, flags=AI_PASSIVE)
        return tuple(filter(None, (_bindable_address(*place) for place in places))) or _not_here(address)
    except (OSError, UnicodeError):
        return _not_here(address)


def _bindable_address(family: int, kind: int, protocol: int, _: str, place: tuple[object, ...]) -> str:
    """Return the IP address that a server can listen on, "" where it cannot."""
    try:
        with socket(family, kind, protocol) as probe:
            probe.bind(place)
        return str(place[0])
    except OSError:
        return ""


def _not_here(address: str) -> NoReturn:
    raise BadInput(f"ADDRESS={address} is not an address of this computer; leave it out, or write 0.0.0.0 for all its addresses.")


def _port_number(text: str) -> int:
    if not text.isdecimal() or int(text) > LAST_PORT:
        raise BadInput(f"PORT={text} is not a port; write a number from 1 to {LAST_PORT}, or 0 for any free port.")
    return int(text)
