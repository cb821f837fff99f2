"""Endpoints by URL: the scheme is the name of a transport."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint, RequiredTool
from vnicaudit.bench.endpoints import agent
from vnicaudit.bench.endpoints.addresses import is_host_name
from vnicaudit.bench.endpoints.session import LEASE_SECONDS, EndpointSession
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.reaching import opening as reaching
from vnicaudit.reaching.process import EndpointUrl, UrlForm
from vnicaudit.remedy.hypervisor import ConnectHypervisor

ADDRESS = "address"
"""The option that every URL accepts: the address by which the other end reaches this one."""

FORMS: dict[str, UrlForm] = {
    name: form._replace(options=(*form.options, ADDRESS))
    for name, form in sorted({"agent": agent.AGENT, **reaching.FORMS}.items())
}


def open_endpoint(
    url: str, *, connect: ConnectHypervisor, lease: float = LEASE_SECONDS
) -> EndpointSession:
    """An endpoint, ready for use. ``connect``: connects to the host of a guest. ``lease``: seconds
    without contact after which everything started there ends by itself (it may take twice as long).

    Raises UsageError for an invalid URL (it lists the supported forms), MissingExtraError if a
    package for it is missing, EndpointError if it cannot be reached.
    """
    where = parse(url)
    is_guest = where.scheme == "agent"
    transport = agent.connect(where, connect) if is_guest else reaching.transport_to(where)
    return EndpointSession(where.url, transport, lease)


def address_option(url: str) -> str | None:
    """The ``?address=`` of a URL: the IP address or host name by which that end is reached. Raises
    UsageError for anything else."""
    text = reaching.parse_url(url, FORMS).options.get(ADDRESS)
    if text is None:
        return None
    if is_host_name(text):
        return text
    try:
        if "%" in text:  # a zone, which has a meaning on one machine only
            raise ValueError(text)
        return str(ip_address(text))
    except ValueError:
        raise UsageError(
            f"{url}: {ADDRESS}= must be an IP address or a host name, not {text!r}"
        ) from None


def parse(url: str) -> EndpointUrl:
    """The parts of a URL, its options those of the transport. Raises UsageError for an invalid
    one."""
    where = reaching.parse_url(url, FORMS)
    options = {name: value for name, value in where.options.items() if name != ADDRESS}
    return where._replace(options=options)


# A path as it is given on the command line, and facts about it.


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


# Programs needed on an endpoint: those that are missing, and the packages to install.


_MISSING_SCRIPT = (
    'PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; for tool; do command -v "$tool" >/dev/null 2>&1'
    ' || printf "%s\\n" "$tool"; done'
)
"""A guest's agent and a shell over ssh often have no ``sbin`` in their path. Programs that a
session runs have it."""
_INSTALL = {
    "apk": "apk add",
    "apt": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
}


def missing_tools(endpoint: Endpoint, tools: Sequence[RequiredTool]) -> tuple[RequiredTool, ...]:
    """Return the missing ones of these tools, all asked for at once. Raises EndpointError if the
    endpoint cannot tell."""
    if not tools:
        return ()
    ran = endpoint.run(["sh", "-c", _MISSING_SCRIPT, "sh", *(tool.program for tool in tools)])
    if ran.code != 0:
        raise EndpointError(f"{endpoint.url}: cannot check which programs are installed there")
    absent = set(ran.stdout.split())
    return tuple(tool for tool in tools if tool.program in absent)


def require_tools(endpoint: Endpoint, tools: Sequence[RequiredTool]) -> None:
    """Raises EndpointError with all missing tools, and the packages to install."""
    absent = missing_tools(endpoint, list({tool.program: tool for tool in tools}.values()))
    if absent:
        is_pod = endpoint.url.startswith("kubectl://")
        where = f"the image of pod {parse(endpoint.url).name}" if is_pod else endpoint.url
        how = "it needs" if is_pod else "install"
        wanted = "; ".join(f"{tool.program}: {how} {_packages(tool.packages)}" for tool in absent)
        if len(absent) > 1:
            raise EndpointError(f"{where} lacks {len(absent)} programs: {wanted}")
        raise EndpointError(f"{where} has no {wanted}")


def _packages(packages: Mapping[str, str]) -> str:
    if not packages:
        return "it"
    names = set(packages.values())
    what = f"the package {names.pop()}" if len(names) == 1 else "its package"
    commands = (f"{_INSTALL.get(key, f'{key}:')} {packages[key]}" for key in packages)
    return f"{what} ({', '.join(commands)})"
