"""Properties of NICs on ``-device``: their names, and the values that QEMU accepts.

From ``-device NAME,help`` of QEMU 7.2.22 and 10.0.2; its reaction to other values was measured with
both. Only properties that no QEMU accepts are refused here, not those that a later one may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.knowledge.buses import PCI, VIRTIO_PCI, bus_of
from vnicaudit.model.nic import is_multicast
from vnicaudit.platforms.qemu.addresses import of_nic
from vnicaudit.platforms.qemu.netdevs import SWITCHES as OF_BACKENDS
from vnicaudit.platforms.qemu.options import Options, number, truth, wrong_types
from vnicaudit.platforms.qemu.slots import place_of
from vnicaudit.platforms.qemu.variables import unfilled


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SWITCHES = _names(
    "any_layout csum ctrl_guest_offloads ctrl_mac_addr ctrl_rx ctrl_rx_extra ctrl_vlan ctrl_vq "
    "event_idx failover gso guest_announce guest_csum guest_ecn guest_rsc_ext guest_tso4 "
    "guest_tso6 guest_ufo hash host_ecn host_tso4 host_tso6 host_ufo indirect_desc ioeventfd "
    "iommu_platform mq mrg_rxbuf notify_on_empty packed queue_reset rss status"
)
_NUMBERS = _names("host_mtu rx_queue_size tx_queue_size vectors")
_VIRTIO = (_SWITCHES | _NUMBERS | _names("rsc_interval")) - {"vectors"}
"""Properties that only virtio NICs have."""

_PCI_SWITCHES = _names("ats page-per-vq disable-modern modern-pio-notify")
_VIRTIO_PCI = _PCI_SWITCHES | {"disable-legacy", "vectors"}
_CHOSEN = _names("disable-legacy disable-modern")
"""Properties that ``…-transitional`` and ``…-non-transitional`` set themselves."""

_OF_PCI = _names("addr romfile rombar multifunction")
_ADDRESS_OF_CCW = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,2}\.[0-3]\.[0-9a-fA-F]{4}")
_ANY_SWITCHES = _names("multifunction")
_LEGACY = _names("on off auto")
_MOST_MTU = 65535
_INTEGER = re.compile(r"[ \t]{0,8}[-+]?(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})")
_COMMON = _names("bootindex mac netdev failover_pair_id")
_KNOWN = _VIRTIO | _VIRTIO_PCI | _OF_PCI | _COMMON
_OF_BACKENDS = _names(
    "macaddr model queues vhost vhostfd vhostfds vhostforce name type ifname script downscript br "
    "helper fd fds hostfwd guestfwd mtu"
)
"""Keys of ``-netdev``, ``-nic`` and ``-net`` (and libvirt's ``<mtu>``), which no device has."""
_OF_DEVICES = _VIRTIO | _VIRTIO_PCI | _names("bus bootindex romfile rombar multifunction")
"""Properties that ``-nic`` and ``-net nic`` do not pass on."""

_ADDRESS = re.compile(r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}")


def device_faults(device: str, given: Options) -> Iterator[str]:
    """Reasons why QEMU refuses the properties of one device."""
    for name, value in given.items():
        yield from _name_faults(device, name)
        if unfilled(value) is None:
            yield from _value_faults(name, value)
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


def json_faults(text: str) -> Iterator[str]:
    """Values of JSON that are text although QEMU requires a number or a boolean, or vice versa."""
    switches = _SWITCHES | _PCI_SWITCHES | _ANY_SWITCHES
    for name, wanted, value in wrong_types(text, switches, _NUMBERS):
        yield f'"{name}" is {wanted} in JSON, not {_quoted(value)}'


def nic_faults(option: str, given: Options) -> Iterator[str]:
    """Reasons why QEMU refuses the keys of ``-nic`` and ``-net nic``."""
    wrong, right = ("macaddr", "mac") if option == "nic" else ("mac", "macaddr")
    if wrong in given:
        yield f"-{option} has no {wrong}=; it is spelt {right}="
    found = sorted((_OF_DEVICES | _names("addr vectors")) & given.keys())
    if option == "net":  # NetLegacyNicOptions in qapi/net.json
        found = [name for name in found if name not in ("addr", "vectors")]
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
    virtio = device.startswith("virtio-net")
    if name in _VIRTIO | _VIRTIO_PCI and not virtio:
        yield f"{device} has no property {name}; only virtio has"
    elif name in _VIRTIO_PCI and device not in VIRTIO_PCI:
        yield f"{device} has no property {name}: it is not on PCI"
    elif (name in _CHOSEN and device != "virtio-net-pci") or name in _OF_BACKENDS:
        yield f"{device} has no property {name}"
    elif name in _OF_PCI and bus_of(device) not in (PCI, None):
        yield f"{device} has no property {name}: it is not on PCI"
    elif name not in _KNOWN and (right := _spelt(name)) is not None:
        yield f"{device} has no property {name}; it is spelt {right}"


def _spelt(name: str) -> str | None:
    same = name.replace("-", "_").lower()
    return next((known for known in sorted(_KNOWN) if known.replace("-", "_") == same), None)


def _value_faults(name: str, value: str) -> Iterator[str]:
    if name in _SWITCHES | _PCI_SWITCHES | _ANY_SWITCHES and truth(value) is None:
        yield f"{name}={_quoted(value)} is neither on nor off"
    elif name == "disable-legacy" and value not in _LEGACY:
        yield f"{name}={_quoted(value)} is not on, off or auto"
    elif name == "host_mtu" and (number(value) or 0) > _MOST_MTU:
        yield f"{name}={_quoted(value)} is more than {_MOST_MTU}"
    elif name == "bootindex" and not _INTEGER.fullmatch(value):
        yield f"{name}={_quoted(value)} is not a number"
    elif name == "addr" and place_of(value) is None:
        yield f"{name}={_quoted(value)} is not a PCI slot"
    elif name == "devno" and not _ADDRESS_OF_CCW.fullmatch(value):
        yield f"{name}={_quoted(value)} is not a device number"
    elif name in _NUMBERS and number(value) is None:
        yield f"{name}={_quoted(value)} is not a number"


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
    return name in _SWITCHES | _PCI_SWITCHES | _ANY_SWITCHES | OF_BACKENDS


def is_device(device: str) -> bool:
    """True for a NIC device whose properties are known here."""
    return bus_of(device) is not None
