"""The address of the server, and the names under which it answers."""

from __future__ import annotations

import ipaddress
import re

import msgspec

from vnicaudit.errors import UsageError

_PLACE = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]]*)):(?P<port>\d{1,5})")
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::\d{1,5})?", re.ASCII)


class ListenAddress(msgspec.Struct, frozen=True):
    """A socket address; ``port`` 0: any free port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can connect."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def is_ipv6(self) -> bool:
        """True for an IPv6 address."""
        return ":" in self.host

    @property
    def url(self) -> str:
        """``http://127.0.0.1:9817``."""
        host = f"[{self.host}]" if self.is_ipv6 else self.host
        return f"http://{host}:{self.port}"


def listen_address(text: str, *, public: bool) -> ListenAddress:
    """Parse ``ADDRESS:PORT``. Raises UsageError for an invalid address, and, unless ``public``, for
    one that other machines can reach."""
    found = _PLACE.fullmatch(text)
    if found is None or int(found["port"]) > 65535:
        raise UsageError(f"invalid address {text!r}; supported forms: 127.0.0.1:9817, [::1]:9817")
    host = found["six"] or found["host"]
    try:
        number = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise UsageError(
            f"{text}: not an IP address; use one, as a name may resolve to an address that others "
            "can reach"
        ) from None
    address = ListenAddress(str(number), int(found["port"]))
    if not (address.is_loopback or public):
        raise UsageError(
            f"{text}: other machines could read the findings there without a password; listen on "
            "127.0.0.1 behind a proxy that asks for one, or allow it with --public"
        )
    return address


class HostNames(msgspec.Struct, frozen=True):
    """Names that a request may be for. Addresses and ``localhost`` are always allowed: a hostile
    page can only make its own name resolve to our address."""

    names: frozenset[str] = frozenset()

    def allow(self, header: str) -> bool:
        """True if the ``Host`` header of a request names this server."""
        found = _HOST.fullmatch(header)
        if found is None:
            return False
        name = found["name"].lower().removesuffix(".")
        return name == "localhost" or name in self.names or _is_address(name)


def host_names(names: tuple[str, ...]) -> HostNames:
    """The names, normalised for comparison. Raises UsageError for an invalid host name."""
    for name in names:
        if _HOST.fullmatch(name) is None or ":" in name:
            raise UsageError(f"{name!r} is not a host name: write it without scheme and port")
    return HostNames(frozenset(name.lower().removesuffix(".") for name in names))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
