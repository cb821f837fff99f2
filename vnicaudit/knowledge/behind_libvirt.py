"""Settings made behind libvirt's settings that keep QEMU from starting, except those of rings.

``-set`` finds only devices that are passed in QEMU's plain syntax. libvirt passes them as JSON to a
QEMU from 6.2 on (libvirt's issue 287), and then QEMU exits with ``there is no device "net0"
defined``: measured with libvirt 9.0 and QEMU 7.2.
"""

from __future__ import annotations

from vnicaudit.model.guest_words import MAYBE
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import SET, NicConfig
from vnicaudit.model.version import Version

_JSON_QEMU, _JSON_LIBVIRT = Version(6, 2), Version(9, 0)


def refused_behind(nic: NicConfig, host: HostConfig) -> str | None:
    """The reason why QEMU is known not to start; None if it starts, as far as is known."""
    if nic.behind_faults:
        return nic.behind_faults[0]
    return not_found(nic) if _as_json(host) else None


def may_be_refused(nic: NicConfig, host: HostConfig) -> str | None:
    """The reason why QEMU does not start with a current libvirt, if it is unknown which libvirt is
    used; None otherwise."""
    return not_found(nic) if _as_json(host) is None and refused_behind(nic, host) is None else None


def not_found(nic: NicConfig) -> str | None:
    """Message that ``-set`` finds no device because libvirt passes it as JSON; None if no ``-set``
    concerns this NIC."""
    names = [one.name for one in nic.behind if one.by == SET and one.text != MAYBE]
    if not names or nic.origin != "interface":
        return None
    return (
        f"-set of {names[0][:40]} finds no device, because libvirt passes devices as JSON "
        "(<qemu:override> would reach it)"
    )


def _as_json(host: HostConfig) -> bool | None:
    """True if libvirt passes devices as JSON; None if that is unknown."""
    qemu, libvirt = host.qemu_version, host.libvirt_version
    if qemu is not None and qemu < _JSON_QEMU:
        return False
    known = qemu is not None and libvirt is not None and libvirt >= _JSON_LIBVIRT
    return True if known else None
