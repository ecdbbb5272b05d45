"""The names under which the explorer answers.

A page of another site may have its own name lead to this computer.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from engine.errors import BadInput

LOOPBACK = ("localhost", "127.0.0.1", "::1")
NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class HostNames:
    """Names of a server, without ports; `*.lab.example` means all names below.

    names: the names. addresses: whether each IP address is a name, too.
    """

    names: frozenset[str]
    addresses: bool = False

    def allow(self, host: str) -> bool:
        """Whether a request's Host is a name of the server."""
        name = hostname(host)
        if not name:
            return False
        wildcards = {f"*{name[dot:]}" for dot, letter in enumerate(name) if letter == "."}
        return name in self.names or bool(wildcards & self.names) or (self.addresses and is_address(name))

    def options(self) -> list[str]:
        """Return the names for Streamlit's `server.allowedHosts`, which cannot name all IP addresses."""
        return ["*"] if self.addresses else sorted(self.names)


def host_names(listens: Iterable[str], allowed: Iterable[str] = ()) -> HostNames:
    """Return a server's names by its addresses and `allowed`; raises BadInput for a bad name.

    All addresses of a computer include those that others have translated to it: any is a name then. A page of another site can
    have its name lead here, but not an address.
    """
    listen_names, any_address = {_canonical(address) for address in listens}, any(map(is_every_address, listens))
    return HostNames(frozenset({*LOOPBACK, *listen_names, *map(_checked, allowed)}), addresses=any_address)


def is_every_address(address: str) -> bool:
    """Whether listening on `address` reaches all addresses of the computer."""
    return is_address(address) and ip_address(address).is_unspecified


def is_loopback(address: str) -> bool:
    """Whether listening on the IP address reaches this computer alone."""
    return ip_address(address).is_loopback


def hostname(host: str) -> str:
    """Return the name in a Host header, lower case, without port; "" if bad."""
    try:
        parts = urlsplit(f"//{host}")
        if parts.netloc != host or parts.port == 0 or parts.username is not None:
            return ""
        name = _canonical(parts.hostname or "")
    except ValueError:
        return ""
    return name if is_address(name) or NAME.fullmatch(name) else ""


def same_origin(origin: str, host: str) -> bool:
    """Whether a request's Origin is the site of its Host, also behind a proxy."""
    try:
        parts, host_parts = urlsplit(origin), urlsplit(f"//{host}")
        default = DEFAULT_PORTS[parts.scheme]
        ports = parts.port or default, host_parts.port or default
    except (ValueError, KeyError):
        return False
    return origin == f"{parts.scheme}://{parts.netloc}" and hostname(parts.netloc) == hostname(host) != "" and len({*ports}) == 1


def is_address(name: str) -> bool:
    """Whether a name is an IP address."""
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
