"""A path as it is given on the command line, and facts about it."""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.bench.endpoints.opening import parse
from vnicaudit.errors import UsageError

_BEFORE_URL = re.compile(r"([^=,:/?]*)=(?=local\b|[a-z]+://)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", re.ASCII)
_LIBVIRT = "qemu:///system"
_URI = re.compile(r"qemu(?:\+(?P<transport>\w+))?://(?P<host>[^/?#]*)(?:[/?#].*)?", re.DOTALL)
_BY_SSH = ("ssh", "libssh", "libssh2")
_HERE = ("local", "netns")
_PORT = re.compile(r":\d+$")


class PathOption(NamedTuple):
    """The parts of ``[NAME=]TARGET[,PEER]``."""

    name: str
    target: str
    peer: str


def parse_path(text: str) -> PathOption:
    """The path that ``text`` names; without a peer, the load comes from this machine. Raises
    UsageError for invalid text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{text!r} is not a path: not UTF-8") from None
    name, rest = _split_name(text)
    target, comma, peer = rest.partition(",")
    if not target or (comma and not peer) or "," in peer:
        raise UsageError(
            f"{text!r} is not a path: expected [NAME=]TARGET[,PEER], as in agent://web01,local or "
            "vm=ssh://192.0.2.7,ssh://192.0.2.9; write a comma in a URL as %2C"
        )
    path = PathOption(name, target, peer or "local")
    for url in (path.target, path.peer):
        parse(url)
    return path


def parse_paths(texts: tuple[str, ...]) -> tuple[PathOption, ...]:
    """Several paths, each with a name of its own, by which they can be told apart. Raises
    UsageError."""
    found = [parse_path(text) for text in texts]
    paths = [path._replace(name=path.name or _short(path.target)) for path in found]
    for path in paths:
        if [one.name for one in paths].count(path.name) > 1:
            raise UsageError(f"two paths have the name {path.name!r}: name them, as in vm=…")
    return tuple(paths)


def hypervisor_of(target: str) -> str | None:
    """Endpoint URL of the host that runs the guest of an ``agent://`` URL; None: not a guest, or
    its host cannot be reached by SSH. libvirt's URIs: https://libvirt.org/uri.html (a host without
    a transport is reached by TLS). Raises UsageError for an invalid endpoint."""
    domain = domain_of(target)
    uri = _URI.fullmatch(domain[1]) if domain is not None else None
    if uri is None:
        return None
    if not uri["host"]:
        return "local"
    return f"ssh://{uri['host']}" if uri["transport"] in _BY_SSH else None


def domain_of(target: str) -> tuple[str, str] | None:
    """Name (or UUID) and libvirt URI of the domain of an ``agent://`` URL; None for other URLs.
    Raises UsageError for an invalid endpoint."""
    where = parse(target)
    if where.scheme != "agent":
        return None
    return where.name, where.options.get("connect", _LIBVIRT)


def machine_of(url: str, hypervisor: str | None = None) -> str | None:
    """The machine that an endpoint's packets come from: if both ends have the same one, packets
    never leave it. ``hypervisor``: the host of a guest. None: it cannot be told from that. Raises
    UsageError for an invalid endpoint."""
    host = hypervisor or hypervisor_of(url)
    where = parse(host or url)
    if where.scheme in _HERE:
        return "local"
    if where.scheme != "ssh":
        return None
    return _PORT.sub("", where.name.rpartition("@")[2]).lower()


def _split_name(text: str) -> tuple[str, str]:
    found = _BEFORE_URL.match(text)
    if found is None:
        return "", text
    if _NAME.fullmatch(found[1]) is None:
        raise UsageError(
            f"{found[1]!r} is not a name for a path: use letters, digits, _ . -, 40 at most"
        )
    return found[1], text[found.end() :]


def _short(url: str) -> str:
    """The name of a path to that URL, if the user gives none."""
    where = parse(url)
    return where.name.rpartition("@")[2] or where.scheme
