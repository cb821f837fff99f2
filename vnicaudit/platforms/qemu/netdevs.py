"""Reasons why QEMU refuses a ``-netdev``, or the backend half of ``-nic`` and ``-net``.

Measured with QEMU 7.2.22, 10.0 and 11.1; the keys are those of qapi/net.json. A key that is unknown
here may belong to a later release, so only keys of other backends or of devices are refused.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import NamedTuple

from vnicaudit.model.host import Version
from vnicaudit.model.nic import StartRefusal
from vnicaudit.platforms.qemu.arguments import Arguments, Option, set_properties, unfilled
from vnicaudit.platforms.qemu.options import Options, number, truth, words_of, wrong_types

_KEYS = {
    "user": words_of(
        "hostname restrict ipv4 ipv6 net host tftp bootfile dhcpstart dns dnssearch domainname "
        "ipv6-net ipv6-prefix ipv6-prefixlen ipv6-host ipv6-dns smb smbserver hostfwd guestfwd "
        "tftp-server-name"
    ),
    "tap": words_of(
        "ifname fd fds script downscript br helper sndbuf vnet_hdr vhost vhostfd vhostfds "
        "vhostforce queues poll-us"
    ),
    "bridge": words_of("br helper"),
    "hubport": words_of("hubid netdev"),
    "vhost-user": words_of("chardev vhostforce queues"),
    "vhost-vdpa": words_of("vhostdev vhostfd queues x-svq"),
    "socket": words_of("fd listen connect mcast localaddr udp"),
}
_ALL = frozenset().union(*_KEYS.values())
_OTHERS = words_of(
    "l2tpv3 stream dgram vde netmap vmnet-host vmnet-shared vmnet-bridged af-xdp passt dump channel"
)
_OF_DEVICES = words_of("mq rx_queue_size tx_queue_size vectors bus bootindex host_mtu mtu driver")
_OF_NIC = words_of("mac macaddr model")
_OF_PASST = words_of("mac mtu")
"""``NetDevPasstOptions`` in qapi/net.json, since QEMU 10.1: settings that passt announces to the
guest."""
SWITCHES = words_of("restrict ipv4 ipv6 vnet_hdr vhost vhostforce x-svq")
_NUMBERS = words_of("queues hubid poll-us")
_ONE_WITH = {
    "fd": words_of("ifname script downscript vnet_hdr helper queues fds vhostfds"),
    "fds": words_of("ifname script downscript vnet_hdr helper queues vhostfd"),
    "helper": words_of("ifname script downscript queues vhostfds"),
}
"""Options that a tap cannot have beside descriptors or a helper (``net_init_tap`` in net/tap.c)."""
_NEEDED = {
    "hubport": ("hubid",),
    "vhost-user": ("chardev",),
    "l2tpv3": ("src", "dst", "txsession"),
    "netmap": ("ifname",),
}
_NESTED = {"stream": ("addr.",), "dgram": ("local.", "remote.")}
"""Backend -> the beginnings of keys of which it needs one."""
_SOCKETS = ("fd", "listen", "connect", "mcast", "udp")
_SINCE = {"af-xdp": Version(8, 2), "passt": Version(10, 1)}
"""The first QEMU with a backend."""
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")


def netdev_faults(netdev: Option, chardevs: Container[str] | None) -> Iterator[str]:
    """Each reason why QEMU does not start with it; ``chardevs`` are all ids, None if there may be
    others."""
    option, given = netdev.name, netdev.keys
    kind = given.get("type") or ("user" if option == "nic" else "")
    if unfilled(kind) is not None:
        return
    if kind not in _KEYS and kind not in _OTHERS:
        if option == "netdev" and kind in ("none", "nic"):
            yield f"-netdev {kind} is not a backend"
        return
    if option in ("nic", "net") and kind in ("stream", "dgram"):
        yield f"-{option} cannot describe {kind}, whose addresses are nested; -netdev can"
    if option == "net" and kind == "hubport":
        yield "-net hubport is refused: -net is itself on a hub"
    if option == "netdev" and not given.get("id"):
        yield f"-netdev {kind} has no id="
    yield from id_faults(option, given, in_json=netdev.in_json)
    yield from _misplaced(netdev, kind)
    yield from _values(netdev)
    yield from _missing(netdev, kind, chardevs)
    if kind == "tap":
        yield from _of_tap(option, given)


def id_faults(option: str, given: Options, *, in_json: bool) -> Iterator[str]:
    """The fault of an invalid ``id=`` (``id_wellformed`` in util/id.c)."""
    name = given.get("id")
    if name is None or in_json or unfilled(name) is not None or _IDENTIFIER.fullmatch(name):
        return
    yield f"-{option} id={name[:40]!r} is not a valid id: use letters, digits, '-', '.', '_'"


def _misplaced(netdev: Option, kind: str) -> Iterator[str]:
    own = _KEYS.get(kind, _ALL)
    wrong = (_ALL - own) | _OF_DEVICES
    if netdev.name == "netdev":
        wrong |= _OF_NIC
    if kind == "passt":
        wrong -= _OF_PASST
    for name in sorted(wrong & netdev.keys.keys()):
        yield f"-{netdev.name} {kind} has no option {name}="


def _values(netdev: Option) -> Iterator[str]:
    for name, value in netdev.keys.items():
        if unfilled(value) is not None:
            continue
        if name in SWITCHES and truth(value) is None:
            yield f"{name}={value[:40]!r} of -{netdev.name} is neither on nor off"
        elif name in _NUMBERS and number(value) is None:
            yield f"{name}={value[:40]!r} of -{netdev.name} is not a number"
        elif name == "queues" and number(value) == 0:
            yield f"queues=0 of -{netdev.name} leaves no queue"
    if netdev.in_json:
        for name, wanted, value in wrong_types(netdev.text, SWITCHES, _NUMBERS):
            yield f'"{name}" is {wanted} in JSON, not {value[:40]}'


def _missing(netdev: Option, kind: str, chardevs: Container[str] | None) -> Iterator[str]:
    given = netdev.keys
    needed = next((one for one in _NEEDED.get(kind, ()) if one not in given), None)
    nested = _NESTED.get(kind, ())
    if nested and not any(name.startswith(nested) for name in given):
        needed = f"{nested[0]}type"
    if needed is not None:
        yield f"-{netdev.name} {kind} has no {needed}="
    if kind == "socket":
        yield from _of_socket(netdev)
    if kind == "vhost-vdpa" and given.keys().isdisjoint(("vhostdev", "vhostfd")):
        yield f"-{netdev.name} {kind} has neither vhostdev= nor vhostfd="
    chardev = given.get("chardev") if kind == "vhost-user" and chardevs is not None else None
    if chardev is not None and unfilled(chardev) is None and chardev not in (chardevs or ()):
        yield f"-{netdev.name} {kind} uses chardev {chardev[:40]!r}, which does not exist"


def _of_socket(netdev: Option) -> Iterator[str]:
    """The combinations of ``net_init_socket`` in net/socket.c."""
    given = [name for name in _SOCKETS if name in netdev.keys]
    if len(given) != 1:
        yield f"-{netdev.name} socket needs exactly one of listen=, connect=, mcast= and udp="
    elif given == ["udp"] and "localaddr" not in netdev.keys:
        yield f"-{netdev.name} socket with udp= has no localaddr="
    elif given[0] not in ("udp", "mcast") and "localaddr" in netdev.keys:
        yield f"localaddr= of -{netdev.name} socket is for mcast= and udp="


def kind_refusal(kind: str | None) -> StartRefusal | None:
    """The refusal of a kind of backend that no QEMU has, or only later ones."""
    if kind is None or kind == "vfio" or unfilled(kind) is not None:
        return None
    if (since := _SINCE.get(kind)) is not None:
        why = f"-netdev {kind} came with QEMU {since.major}.{since.minor}"
        return StartRefusal(why, since, has_nic=True)
    if kind not in _KEYS and kind not in _OTHERS:
        return StartRefusal(f"{kind[:40]!r} is not a backend of -netdev", certain=False)
    return None


def _of_tap(option: str, given: Options) -> Iterator[str]:
    for one, others in _ONE_WITH.items():
        wrong = sorted(others & given.keys())
        if one in given and wrong:
            yield f"{one}= and {wrong[0]}= of a tap exclude each other"
            return
    if option == "net" and (number(given.get("queues")) or 1) > 1:
        yield "a tap with several queues cannot be on the hub of -net"


class Netdevs(NamedTuple):
    """Faults of the backends of a command line: by the netdev's id, of those on the hub, and of a
    netdev that no NIC uses; and the ids of all chardevs, None if there may be others."""

    by_id: dict[str, str]
    of_hub: str | None
    unused: str | None
    chardevs: Container[str] | None


def faults_of(arguments: Arguments, used: Container[str], *, whole: bool) -> Netdevs:
    """The first fault of each backend. ``used`` are the netdevs of NICs; ``whole``: no argument is
    missing."""
    chardevs = _chardevs(arguments) if whole else None
    by_id: dict[str, str] = {}
    seen: set[str] = set()
    unused = next(_set_too_early(arguments), None) if whole else None
    of_hub = None
    settings = set_properties(arguments, "netdev")
    for one in arguments.parsed("netdev", "net"):
        if one.name == "netdev":
            one.keys.update(settings.get(one.keys.get("id", ""), {}))
            own = one.keys.get("id", "")
            fault = next(netdev_faults(one, chardevs), None)
            if fault is None and own in seen:
                fault = f"netdev {own[:40]!r} is defined twice"
            seen.add(own)
            if fault is not None and own in used:
                by_id.setdefault(own, fault)
            unused = unused or (fault if own not in used else None)
        elif one.keys.get("type") not in (None, "nic", "none"):
            of_hub = of_hub or next(netdev_faults(one._replace(text=""), chardevs), None)
    return Netdevs(by_id, of_hub, unused, chardevs)


def _set_too_early(arguments: Arguments) -> Iterator[str]:
    """A ``-set`` for an object that does not exist yet; objects in JSON do not exist until all
    options are read."""
    there: set[tuple[str, str]] = set()
    for option in arguments.parsed("readconfig", "device", "netdev", "set"):
        name, text = option.name, option.text
        if name == "readconfig" or (name in ("device", "netdev") and unfilled(text)):
            return
        if name in ("device", "netdev") and not option.in_json:
            there.add((name, option.keys.get("id", "")))
        elif name == "set":
            group, _dot, rest = text.partition(".")
            one = rest.partition(".")[0]
            if group in ("device", "netdev") and not unfilled(one) and (group, one) not in there:
                yield f"-set {group}.{one[:40]} comes before any such {group}"


def _chardevs(arguments: Arguments) -> set[str] | None:
    if arguments.has("readconfig"):
        return None
    return {one.keys.get("id", "") for one in arguments.parsed("chardev")}
