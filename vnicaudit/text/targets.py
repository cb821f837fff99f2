"""Targets in text: libvirt URIs, hosts, clouds and clusters; and commands of this program, for
copying."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from vnicaudit.base.wording import path_word, word

# Commands of this program that are shown for copying into a shell, with the state folder if it is
# not the default.


SYSTEM = "/var/lib/vnicaudit"
"""The state folder of root."""


def default_state() -> str:
    """The default state folder: SYSTEM for root, else the user's own (XDG_STATE_HOME)."""
    if os.geteuid() == 0:
        return SYSTEM

    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return str(Path(home) / "vnicaudit")


def command(words: str, state: str | Path) -> str:
    """``words`` as a command, with ``--state`` if the folder is not the default."""
    other = Path(state) != Path(default_state())
    return f"vnicaudit {words}" + (f" --state {path_word(str(state))}" if other else "")


# libvirt connection URIs: recognise them, and tell what they reach and which URI to connect to.


_DRIVERS = frozenset({"bhyve", "ch", "lxc", "qemu", "test", "xen"})
_URI = re.compile(r"([a-z]+)(?:\+([a-z0-9]+))?://")

_PARTS = re.compile(
    r"[a-z]+(?:\+(?P<transport>[^:/?#]*))?://(?P<server>[^/?#]*)(?P<path>[^?#]*)", re.I
)
_PASSWORD = re.compile(r"^([^/]*://[^:/?#@]*?)(?::|%3a)[^?#]*@", re.I)
_TRANSPORTS = (None, "unix", "ssh", "libssh", "libssh2", "tls", "tcp")
_PLAIN = ("no_tty", "mode")
"""Parameters that start, read and switch off nothing."""
_STARTERS = ("command=", "netcat=", "ssh_config=", "kubeconfig=")
"""Parameters that name a program, here or at the other end, or a file that may name one."""


class Uri(msgspec.Struct, frozen=True):
    """One connection URI, taken apart. ``dial`` is the URI given to libvirt: the user's text, and
    for ssh ``no_tty=1``, which keeps ssh from asking for a password or a host key."""

    text: str
    driver: str
    transport: str | None
    server: str
    path: str
    own_socket: bool
    dial: str

    @property
    def session(self) -> bool:
        """True for an unprivileged daemon: its NICs belong to a user, not to the host."""
        return self.path == "/session"

    @property
    def remote(self) -> bool:
        """True if the daemon is reached over a network."""
        return bool(self.server) or self.transport not in (None, "unix")

    @property
    def local(self) -> bool:
        """True if the URI means QEMU of this machine. A socket given by path does not count,
        because it may lead elsewhere (a tunnel)."""
        return self.driver == "qemu" and not self.remote and not self.own_socket


def is_uri(text: str) -> bool:
    """True if a target is a libvirt connection URI."""
    match = _URI.match(text)
    return match is not None and match.group(1) in _DRIVERS


def parse(text: str) -> Uri:
    """Parse a URI. Raises ValueError if it is none (see :func:`is_uri`)."""
    match = _URI.match(text)
    if match is None or not is_uri(text):
        raise ValueError(f"not a libvirt URI: {text!r}")
    parts = urlsplit(text)
    query = parse_qs(parts.query, keep_blank_values=True)
    dial = text
    if match.group(2) == "ssh" and "no_tty" not in query:
        dial += ("&" if parts.query else "?") + "no_tty=1"
    return Uri(
        text,
        match.group(1),
        match.group(2),
        parts.netloc,
        parts.path,
        "socket" in query,
        dial,
    )


def without_password(target: str) -> str:
    """A libvirt URI without the password of its login; any other target as it is. libvirt takes no
    password from a URI."""
    return _PASSWORD.sub(r"\1@", target, count=1) if is_uri(target) else target


def unsafe_parts(uri: str) -> tuple[str, ...]:
    """The parts of a URI beyond the name of a host, a transport and a driver; empty: none.

    A URI can have the client start a program (``qemu+ext://…?command=``, ``netcat=``, ``proxy=``),
    read a key or a socket of somebody's choice, switch off the check of host keys, or run QEMU's
    driver in this process (``qemu:///embed?root=``): https://libvirt.org/uri.html and
    https://libvirt.org/drvqemu.html.
    """
    if uri.startswith(CLUSTER):
        return ("kubeconfig=",) if "?" in uri else ()
    match = _PARTS.match(uri)
    if match is None:
        return () if uri == "local" else ("its form",)
    transport = match["transport"]
    found = [] if transport is None or transport.lower() in _TRANSPORTS else [f"+{transport}"]
    embedded = unquote(match["path"]).strip("/").lower() == "embed"
    if embedded or not uri.isprintable():
        found.append("its path")
    for pair in re.split("[&;#]", uri[match.end() :].lstrip("?")):  # libvirt splits at both
        name = unquote(pair.partition("=")[0]).strip().lower()
        if name and name not in _PLAIN:
            found.append(f"{name}=")
    return tuple(dict.fromkeys(found))


def starting_parts(uri: str) -> tuple[str, ...]:
    """Those of the :func:`unsafe_parts` that may start a program; empty: none."""
    return tuple(
        part for part in unsafe_parts(uri) if part in _STARTERS or part.startswith(("+", "its "))
    )


# URLs of hosts, containers and network namespaces (:mod:`vnicaudit.reaching`).


_PLACE = re.compile(r"(?:ssh|docker|podman|kubectl|netns|local)://|local(?:\Z|\?)")


def is_place(text: str) -> bool:
    """True if a target is the URL of a host, unless a file is called that: ``local://`` is this
    machine, whatever files there are."""
    return _PLACE.match(text) is not None and not os.path.exists(text)


# Names by which a user calls a cloud (``CLOUD``, or ``CLOUD/REGION`` for one region of it), and
# commands for that cloud, shown for copying: somebody may have several clouds.


CLOUD = "openstack:"
"""Prefix of a target that is a cloud of clouds.yaml."""
ALL_REGIONS = "/*"
"""Suffix of such a target: every region of the cloud's catalogue."""
ENVIRONMENT = "envvars"
"""Name of the cloud that the ``OS_*`` variables describe (openstacksdk, ``OS_CLOUD_NAME``)."""


def cloud_and_region(name: str, clouds: Container[object] = ()) -> tuple[str, str]:
    """The cloud and its region (``""`` if none is named). ``clouds`` are the existing names: if one
    of them contains a slash, its second part is no region."""
    cloud, slash, region = name.rpartition("/")
    return (cloud, region) if slash and name not in clouds else (name, "")


CLUSTER = "kube:"
"""Prefix of a target that is a cluster: ``kube:CONTEXT`` or ``kube:CONTEXT/NAMESPACE``, of the
files in KUBECONFIG or, with ``?kubeconfig=FILE``, of another one."""
IN_CLUSTER = "@in-cluster"
"""Instead of a context: the account of the pod that this runs in."""


def cluster_parts(target: str) -> tuple[str, str]:
    """The context and namespace as written, which may both contain slashes, and the kubeconfig
    file, of a ``kube:`` target; each may be empty. Raises ValueError for another parameter."""
    words, _mark, query = target.removeprefix(CLUSTER).partition("?")
    given = parse_qs(query, keep_blank_values=True)
    files = given.pop("kubeconfig", [""] if not query else [])
    if given or len(files) != 1 or (query and not files[0]):
        raise ValueError("kubeconfig=FILE is the only parameter")
    return words, files[0]


def client(target: str) -> str:
    """``openstack`` with the options that select a target, ``openstack:CLOUD``; without options if
    the target is the one of the environment, or unknown."""
    cloud, region = cloud_and_region(target.partition(":")[2])
    which = f" --os-cloud {word(cloud)}" if cloud not in ("", ENVIRONMENT) else ""
    where = f" --os-region-name {word(region)}" if region else ""
    return f"openstack{which}{where}"
