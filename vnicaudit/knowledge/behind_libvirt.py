"""Settings made behind libvirt's own that keep QEMU from starting, except those of rings.

``-set`` finds devices in QEMU's plain syntax alone. libvirt hands them over as JSON to a QEMU from
6.2 on (libvirt's issue 287), and then QEMU ends with ``there is no device "net0" defined``:
measured with libvirt 9.0 and QEMU 7.2.
"""

from __future__ import annotations

from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import MAYBE, SET, NicConfig
from vnicaudit.model.version import Version

_JSON_QEMU, _JSON_LIBVIRT = Version(6, 2), Version(9, 0)


def refused_behind(nic: NicConfig, host: HostConfig) -> str | None:
    """Why QEMU is known not to start; None where it starts, as far as is known."""
    if nic.behind_faults:
        return nic.behind_faults[0]
    return not_found(nic) if _as_json(host) else None


def may_be_refused(nic: NicConfig, host: HostConfig) -> str | None:
    """Why QEMU does not start with a libvirt of today; None where that is known or cannot be."""
    return not_found(nic) if _as_json(host) is None and refused_behind(nic, host) is None else None


def not_found(nic: NicConfig) -> str | None:
    """Message that ``-set`` finds no device, as libvirt hands it over as JSON; None where no
    ``-set`` concerns this NIC."""
    names = [one.name for one in nic.behind if one.by == SET and one.text != MAYBE]
    if not names or nic.origin != "interface":
        return None
    return (
        f"-set of {names[0][:40]} finds no device, because libvirt passes devices as JSON "
        "(<qemu:override> would reach it)"
    )


def _as_json(host: HostConfig) -> bool | None:
    """True where libvirt hands devices over as JSON; None where that cannot be told."""
    qemu, libvirt = host.qemu_version, host.libvirt_version
    if qemu is not None and qemu < _JSON_QEMU:
        return False
    known = qemu is not None and libvirt is not None and libvirt >= _JSON_LIBVIRT
    return True if known else None
