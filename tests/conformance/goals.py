"""What NICs are turned into by the rewriting that is tried on whole folders: the changes that a
plan would make, written out here a second time."""

from typing import NamedTuple

from lxml import etree

from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import S390, VIRTIO, Change
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic

_LOST = (
    "source", "virtualport", "bandwidth", "vlan", "port", "ip", "route", "portForward", "script",
    "downscript", "target", "backend", "filterref", "tune", "coalesce",
)  # fmt: skip
"""Children that only a NIC with a tap, or a bridge, or passt has."""


class Made(NamedTuple):
    """What was made of one NIC: its 1-based number among the interfaces, it, and the changes."""

    number: int
    nic: Nic
    changes: tuple[Change, ...]


class Goal(NamedTuple):
    """``type`` is the interface's then (None: as it is), ``path`` what it is connected to, by
    ``source``; ``lost`` are the children that go."""

    type: str | None = None
    path: str | None = None
    source: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in what is printed."""
        return self.type or "virtio"


_DEVICE = "/dev/vhost-vdpa-0"
_SOCKET = "/var/run/open vswitch/vhost-<1>&'\"\u00e9.sock"

GOALS = (
    Goal(),
    Goal("vdpa", _DEVICE, (("device", _DEVICE),), (*_LOST, "mtu")),
    Goal(
        "vhostuser",
        _SOCKET,
        (("source_type", "unix"), ("source_path", _SOCKET), ("source_mode", "client")),
        _LOST,
    ),
)


def is_wanted(goal: Goal, nic: Nic, domain: Domain) -> bool:
    """Whether a NIC is to be converted: every emulated ``<interface>`` to virtio, every one of
    another type to vDPA and vhost-user."""
    given = nic.declared
    if given.origin != "interface" or given.type == "hostdev":
        return False
    if goal.type is not None:
        return given.type != goal.type
    # of a hypervisor that is none of libvirt's QEMU, what is written
    model = _effective(nic, domain) or given.model
    return model is not None and model not in (*VIRTIO, "vfio-pci")


def _effective(nic: Nic, domain: Domain) -> str | None:
    return resolve(nic.declared, domain.declared, HostConfig(arch="x86_64")).model.effective


def changes_to(
    goal: Goal, nic: Nic, domain: Domain, interface: etree._Element
) -> tuple[Change, ...]:
    """The changes that make it so, in the order in which they are made."""
    given, found = nic.declared, []
    if given.model not in VIRTIO:
        found.append(_change("model", given.model, "virtio"))
    if domain.declared.arch in S390:
        of_pci = {"address_type": given.address_type == "pci", "rom": given.rom, "acpi": given.acpi}
        found += [_change(field, "x", None) for field, there in of_pci.items() if there][:1]
    if goal.type is None:
        return tuple(found)
    names = {"portForward": "port_forward"}
    found += (
        _change(names.get(tag, tag), "x", None)
        for tag in goal.lost
        if interface.find(tag) is not None
    )
    if interface.get("trustGuestRxFilters") is not None:
        found.append(_change("trust_guest_rx_filters", "x", None))
    found.append(_change("type", given.type, goal.type))
    found += (_change(field, None, value) for field, value in goal.source)
    return tuple(found)


def _change(field: str, old: str | None, new: str | None) -> Change:
    return Change(field, old, new, safe=False)
