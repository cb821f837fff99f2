"""NICs that libvirt refuses for reasons other than their model, queues, rings and vhost."""

from __future__ import annotations

from vnicaudit.audit.effective.emulated_nic import EmulatedNic
from vnicaudit.knowledge.refused_nics import refused_parts
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import NicConfig, RunningNic
from vnicaudit.model.version import Version

_SHARED_MEMORY = Version(11, 2)
"""The first libvirt that refuses vhost-user without shared memory (NEWS 11.2.0)."""

_VIRTIO_OPTIONS = ("iommu", "ats", "packed", "page_per_vq")
"""``virDomainCheckVirtioOptionsAreAbsent``: refused on other models, ``off`` as well."""


def is_refused(emulated: EmulatedNic, model: Resolved[str]) -> bool:
    """True if libvirt is known not to start this NIC, for another reason than its model."""
    nic, domain, host, running = emulated
    return (
        bool(refused_parts(nic, model.effective, domain, host, running))
        or _without_shared_memory(emulated)
        or _without_device(emulated)
        or (_has_options(nic, running) and _takes_no_options(nic, model))
    )


def is_refused_assigned(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None
) -> bool:
    """True if libvirt refuses an assigned device (``<interface type='hostdev'>``): it cannot be
    defined, or has options that are only for virtio."""
    if refused_parts(nic, None, domain, host, running):
        return True
    return nic.type == "hostdev" and nic.model not in VIRTIO and _has_options(nic, running)


def _without_shared_memory(emulated: EmulatedNic) -> bool:
    version = emulated.host.libvirt_version
    if emulated.nic.actual_type != "vhostuser" or emulated.domain.shared_memory is not False:
        return False
    return version is not None and version >= _SHARED_MEMORY


def _without_device(emulated: EmulatedNic) -> bool:
    """True if the vDPA device is gone: ``Unable to open '/dev/vhost-vdpa-0' for vdpa device``."""
    if emulated.nic.type != "vdpa" or emulated.running is not None:
        return False
    return dict(emulated.host.vhost_paths).get(emulated.nic.device or "") is False


def _has_options(nic: NicConfig, running: RunningNic | None) -> bool:
    if nic.origin != "interface" or running is not None:
        return False
    return any(getattr(nic, name) in ("on", "off") for name in _VIRTIO_OPTIONS)


def _takes_no_options(nic: NicConfig, model: Resolved[str]) -> bool:
    """True if the NIC is certain not to be virtio when it is defined: as a declared model, QEMU's
    word for virtio means nothing to libvirt."""
    if nic.model is not None:
        return nic.model not in VIRTIO
    return model.state not in (UNKNOWN, NONE) and model.effective not in VIRTIO
