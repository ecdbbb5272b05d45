"""The names under which the explorer answers requests.

A request under another name is refused: a page of another site may direct its own name to this computer.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from engine.errors import BadInput

LOOPBACK = ("localhost", "127.0.0.1", "::1")
NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
AFTER_BRACKET = re.compile(r"\][^:]")  # Python 3.11 reads "[::1].evil.example" as ::1
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class HostNames:
    """Names of a server, without ports; `*.lab.example` means all names below lab.example.

    names: the names. addresses: whether each IP address is a name, too.
    """

    names: frozenset[str]
    addresses: bool = False

    def allow(self, host: str) -> bool:
        """Return whether the Host header of a request is a name of the server."""
        name = hostname(host)
        if not name:
            return False
        wildcards = {f"*{name[dot:]}" for dot, letter in enumerate(name) if letter == "."}
        return name in self.names or bool(wildcards & self.names) or (self.addresses and is_address(name))

    def options(self) -> list[str]:
        """Return the names for Streamlit's `server.allowedHosts`, which cannot name all IP addresses."""
        return ["*"] if self.addresses else sorted(self.names)


def host_names(listens: Iterable[str], allowed: Iterable[str] = ()) -> HostNames:
    """Return a server's names from the addresses where it listens and `allowed` names.

    A server that listens on all addresses may also be reached by translated ones, so each IP address is a name then. A page of
    another site can direct its name to this computer, but not an IP address. Raises BadInput for a bad name.
    """
    listen_names, any_address = {_canonical(address) for address in listens}, any(map(is_every_address, listens))
    return HostNames(frozenset({*LOOPBACK, *listen_names, *map(_checked, allowed)}), addresses=any_address)


def is_every_address(address: str) -> bool:
    """Return whether a server that listens on `address` answers on all addresses."""
    return is_address(address) and ip_address(address).is_unspecified


def is_loopback(address: str) -> bool:
    """Return whether a server that listens on `address` can only be reached from this computer."""
    return ip_address(address).is_loopback


def hostname(host: str) -> str:
    """Return the name in a Host header in lower case, without port; "" if malformed."""
    try:
        parts = urlsplit(f"//{host}")
        if parts.netloc != host or parts.port == 0 or parts.username is not None or AFTER_BRACKET.search(host):
            return ""
        name = _canonical(parts.hostname or "")
    except ValueError:
        return ""
    return name if is_address(name) or NAME.fullmatch(name) else ""


def same_origin(origin: str, host: str) -> bool:
    """Return whether a request's Origin is the site of its Host, also behind a proxy."""
    try:
        parts, host_parts = urlsplit(origin), urlsplit(f"//{host}")
        default = DEFAULT_PORTS[parts.scheme]
        ports = parts.port or default, host_parts.port or default
    except (ValueError, KeyError):
        return False
    return origin == f"{parts.scheme}://{parts.netloc}" and hostname(parts.netloc) == hostname(host) != "" and len({*ports}) == 1


def is_address(name: str) -> bool:
    """Return whether a name is an IP address."""
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


def _canonical(name: str) -> str:
    bare = name.lower().removesuffix(".")
    return str(ip_address(bare)) if is_address(bare) else bare


def _checked(name: str) -> str:
    name_checked = _canonical(name.strip().removeprefix("[").removesuffix("]"))
    if not is_address(name_checked) and not NAME.fullmatch(name_checked.removeprefix("*.")):
        raise BadInput(
            f"ALLOW={name} is not a host name; write a name such as emberpool.example or *.lab.example, without a port."
        )
    return name_checked
