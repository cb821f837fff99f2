"""Properties of NICs on ``-device``: their names, and the values that QEMU accepts.

The names and types are those of :mod:`vnicaudit.knowledge.qemu_properties`; QEMU's reaction to
other values was measured with 7.2.22 and 10.0.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from vnicaudit.knowledge.models import VIRTIO_PCI, bus_of
from vnicaudit.knowledge.qemu_properties import QemuProperty, properties_of
from vnicaudit.model.host import Version
from vnicaudit.model.nic import StartRefusal, is_multicast
from vnicaudit.platforms.qemu.arguments import Arguments, Option, set_properties, unfilled
from vnicaudit.platforms.qemu.options import Options, number, truth, words_of, wrong_types

# Reasons why QEMU refuses a ``-netdev``, or the backend half of ``-nic`` and ``-net``.
#
# Measured with QEMU 7.2.22, 10.0 and 11.1; the keys are those of qapi/net.json. A key that is
# unknown here may belong to a later release, so only keys of other backends or of devices are
# refused.


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
_BACKEND_NUMBERS = words_of("queues hubid poll-us")
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
        elif name in _BACKEND_NUMBERS and number(value) is None:
            yield f"{name}={value[:40]!r} of -{netdev.name} is not a number"
        elif name == "queues" and number(value) == 0:
            yield f"queues=0 of -{netdev.name} leaves no queue"
    if netdev.in_json:
        for name, wanted, value in wrong_types(netdev.text, SWITCHES, _BACKEND_NUMBERS):
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
    chardevs = None
    if whole and not arguments.has("readconfig"):
        chardevs = {one.keys.get("id", "") for one in arguments.parsed("chardev")}
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


# The ``addr=`` of a device on PCI (``set_pci_devfn`` in hw/core/qdev-properties-system.c).


_SLOT = re.compile(
    r"(?:0[xX])?(?P<slot>[0-9a-fA-F]{1,8})(?:\.(?:0[xX])?(?P<function>[0-9a-fA-F]{1,8}))?"
)
_SLOTS, _FUNCTIONS = 32, 8
_TAKEN = {
    "pci.0": frozenset({(0, 0), (1, 0), (1, 1)}),
    "pcie.0": frozenset({(0, 0), (31, 0)}),
}
"""Slots that the machine itself always uses on the root bus of pc and q35. Measured with QEMU
7.2."""
_OF_VGA = {"pci.0": (2, 0), "pcie.0": (1, 0)}
"""The slot of the graphics card that QEMU adds unless ``-nodefaults`` or ``-vga`` is given."""


def place_of(text: str) -> tuple[int, int] | None:
    """Slot and function; None if it is not an address."""
    match = _SLOT.fullmatch(text)
    if match is None:
        return None
    slot, function = int(match["slot"], 16), int(match["function"] or "0", 16)
    return (slot, function) if slot < _SLOTS and function < _FUNCTIONS else None


def slot_of(given: Options, root: str | None) -> list[tuple[str, str]]:
    """The slot of a device, under a name that is the same for the same slot. ``root``: the
    machine's own bus, which is the default; on q35 ``pci.0`` belongs to a bridge."""
    place = place_of(given.get("addr", ""))
    if place is None:
        return []
    bus = given.get("bus", "")
    named = "" if bus in ("", root) else f"{bus} "
    return [("PCI slot", f"{named}{place[0]:x}.{place[1]}")]


def is_taken(text: str, bus: str, root: str | None, *, vga: bool) -> bool:
    """True if the machine, whose root bus is called ``root``, has its own device at that address.
    ``vga``: it has its default graphics card."""
    if root is None or bus not in ("", root):
        return False
    place = place_of(text)
    return place in _TAKEN.get(root, ()) or (vga and place == _OF_VGA.get(root, ()))


# MAC addresses as accepted by ``-nic`` and ``-net nic`` (``net_parse_macaddr`` in QEMU's
# net/net.c).
#
# ``-device`` accepts only two digits for each byte.


NOT_SET = "00:00:00:00:00:00"
"""QEMU treats this address as not set."""

_BYTES = re.compile(r"[0-9a-fA-F]{1,2}(?:[:-][0-9a-fA-F]{1,2}){5}")
_LAST_THREE = 1 << 24


def of_nic(text: str) -> str | None:
    """The address: six bytes, or the last three as one number; None for anything else."""
    value = number(text)
    if value is not None and value < _LAST_THREE:
        return ":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big"))
    if not _BYTES.fullmatch(text):
        return None
    return ":".join(byte.zfill(2) for byte in re.split("[:-]", text.lower()))


_OF_CHOICE = "virtio-net-pci"
"""The device with the most properties."""
_ADDRESS_OF_CCW = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,2}\.[0-3]\.[0-9a-fA-F]{4}")
_CHOICES = {"OnOffAuto": ("on", "off", "auto"), "duplex": ("half", "full")}
"""The words of a type, or of a property."""
_SIGNED = re.compile(r"[ \t]{0,8}[-+]?(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})")
_BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "int32": 31}
_NUMBERS = _BITS.keys() | {"uint64", "size"}
_OF_BACKENDS = words_of(
    "macaddr model queues vhost vhostfd vhostfds vhostforce name type ifname script downscript br "
    "helper fd fds hostfwd guestfwd mtu"
)
"""Keys of ``-netdev``, ``-nic`` and ``-net`` (and libvirt's ``<mtu>``), which no device has."""

_OF_BOTH = words_of("mac netdev")
"""Keys of ``-nic`` and ``-net nic`` that devices have as well."""
_OF_NO_NIC = _OF_BACKENDS - words_of("macaddr model name type")
"""Keys of a backend, which ``-net nic`` lacks."""

_ADDRESS = re.compile(r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}")


def property_refusal(device: str, given: Options) -> StartRefusal | None:
    """The first reason why QEMU, or some of its releases, refuse the properties of one device."""
    fault = next(device_faults(device, given), None)
    if fault is not None:
        return StartRefusal(fault)
    known = properties_of(device)
    for name in given if known else ():
        found = known.get(name.partition(".")[0])
        if found is None and name != "bus":
            return StartRefusal(f"{device} has no property {name[:40]}", certain=False)
        if found is not None and (refusal := _by_release(device, name, found)) is not None:
            return refusal
    return None


def _by_release(device: str, name: str, known: QemuProperty) -> StartRefusal | None:
    if (last := known.not_yet) is not None:
        why = f"{device} of QEMU {last.major}.{last.minor} has no property {name}"
        return StartRefusal(why, Version(last.major, last.minor + 1), has_nic=True)
    if (first := known.no_more) is not None:
        why = f"{device} has no property {name} any more in QEMU {first.major}.{first.minor}"
        return StartRefusal(why, refused_from=first)
    return None


def device_faults(device: str, given: Options) -> Iterator[str]:
    """Reasons why every QEMU refuses the properties of one device."""
    known = properties_of(device)
    for name, value in given.items():
        yield from _name_faults(device, name)
        if unfilled(value) is None:
            yield from _value_faults(name, value, known.get(name))
    mac = given.get("mac")
    if mac is not None and unfilled(mac) is None and not _ADDRESS.fullmatch(mac):
        yield f"mac={_quoted(mac)} is not a MAC address"
    if truth(given.get("disable-modern")) and truth(given.get("disable-legacy")):
        yield "disable-modern=on and disable-legacy=on leave no usable device"
    if _cannot_be_legacy(device, given):
        yield (
            "iommu_platform=on is for modern devices, and this one is transitional "
            "(disable-legacy=on would help)"
        )


def json_faults(device: str, text: str) -> Iterator[str]:
    """Values of JSON that have another type than QEMU requires."""
    kinds = {name: found.kind for name, found in properties_of(device).items()}
    switches = {name for name, kind in kinds.items() if kind == "bool"}
    numbers = {name for name, kind in kinds.items() if kind in _NUMBERS}
    words = {name for name, kind in kinds.items() if kind in ("str", "OnOffAuto")} - {"addr"}
    for name, wanted, value in wrong_types(text, switches, numbers, words):
        yield f'"{name}" is {wanted} in JSON, not {_quoted(value)}'


def nic_faults(option: str, given: Options) -> Iterator[str]:
    """Reasons why QEMU refuses the keys of ``-nic`` and ``-net nic``."""
    wrong, right = ("macaddr", "mac") if option == "nic" else ("mac", "macaddr")
    if wrong in given:
        yield f"-{option} has no {wrong}=; it is spelt {right}="
    own = (properties_of(_OF_CHOICE).keys() | {"bus"}) - _OF_BOTH
    found = sorted(own & given.keys())
    if option == "net":  # NetLegacyNicOptions in qapi/net.json
        found = [name for name in found if name not in ("addr", "vectors")]
        for name in sorted(_OF_NO_NIC & given.keys()):
            yield f"-net nic has no option {name}="
    if found:
        yield f"{found[0]}= is a property of -device, which -{option} does not take"
    mac = given.get(right, "")
    if not mac or unfilled(mac) is not None:
        return
    address = of_nic(mac)
    if address is not None and is_multicast(address):
        yield f"{right}={mac} is a multicast address"
    elif address is None:
        yield f"{right}={_quoted(mac)} is not a MAC address"


def _name_faults(device: str, name: str) -> Iterator[str]:
    known = properties_of(device)
    if name in known or name == "bus":
        return
    if name in _OF_BACKENDS or not known:
        yield f"{device} has no property {name}"
    elif name in properties_of(_OF_CHOICE):
        of_virtio = name not in properties_of("rtl8139")
        if device in VIRTIO_PCI:  # which sets this by its name
            yield f"{device} has no property {name}"
        elif of_virtio and not device.startswith("virtio-net"):
            yield f"{device} has no property {name}; only virtio has"
        else:
            yield f"{device} has no property {name}: it is not on PCI"
    elif (right := _spelt(name, known)) is not None:
        yield f"{device} has no property {name}; it is spelt {right}"


def _spelt(name: str, known: Iterable[str]) -> str | None:
    same = name.replace("-", "_").lower()
    every = sorted({*known, *properties_of(_OF_CHOICE)})
    return next((one for one in every if one.replace("-", "_") == same), None)


def _value_faults(name: str, value: str, known: QemuProperty | None) -> Iterator[str]:
    kind = "" if known is None else known.kind
    choices = _CHOICES.get(kind) or _CHOICES.get(name)
    if kind == "bool" and truth(value) is None:
        yield f"{name}={_quoted(value)} is neither on nor off"
    elif choices is not None and known is not None and value not in choices:
        others = ", ".join(choices[:-1])
        yield f"{name}={_quoted(value)} is not {others} or {choices[-1]}"
    elif name == "addr" and place_of(value) is None:
        yield f"{name}={_quoted(value)} is not a PCI slot"
    elif name == "devno" and not _ADDRESS_OF_CCW.fullmatch(value):
        yield f"{name}={_quoted(value)} is not a device number"
    elif kind == "int32" and (number(value.strip(" \t-+")) is None or not _SIGNED.fullmatch(value)):
        yield f"{name}={_quoted(value)} is not a number"
    elif name == "speed" and value.strip().startswith("-") and value.strip() != "-1":
        yield f"{name}={_quoted(value)} is less than zero"
    elif kind.startswith("uint") and number(value) is None:
        yield f"{name}={_quoted(value)} is not a number"
    elif kind in _BITS and (number(value) or 0) >> _BITS[kind]:
        yield f"{name}={_quoted(value)} is more than {(1 << _BITS[kind]) - 1}"


def _cannot_be_legacy(device: str, given: Options) -> bool:
    """True if QEMU refuses a device because ``VIRTIO_F_IOMMU_PLATFORM was supported by neither
    legacy nor transitional device``: a device is transitional on conventional PCI and on the root
    bus, unless configured otherwise."""
    if not truth(given.get("iommu_platform")):
        return False
    if device == "virtio-net-pci-transitional":
        return True
    on_root = given.get("bus", "pci.0") in ("pci.0", "pcie.0")
    return device == "virtio-net-pci" and on_root and not truth(given.get("disable-legacy"))


def _quoted(text: str) -> str:
    return repr(text[:40])


def is_switch(name: str) -> bool:
    """True for a key of a NIC or a backend that may stand without a value, which means *on*."""
    found = properties_of(_OF_CHOICE).get(name)
    return name in SWITCHES or (found is not None and found.kind in ("bool", "OnOffAuto"))


def is_device(device: str) -> bool:
    """True for a NIC device whose properties are known here."""
    return bus_of(device) is not None
