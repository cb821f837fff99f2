"""What libvirt refuses of a NIC whatever its model, queues, rings and vhost are."""

from __future__ import annotations

from vnicaudit.audit.effective.given import Given
from vnicaudit.model.definition_refusal import on_ccw
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import NicConfig, RunningNic
from vnicaudit.model.version import Version

_SHARED_MEMORY = Version(11, 2)
"""The first libvirt that refuses vhost-user without shared memory (NEWS 11.2.0)."""

_VIRTIO_OPTIONS = ("iommu", "ats", "packed", "page_per_vq")
"""``virDomainCheckVirtioOptionsAreAbsent``: refused on other models, ``off`` as well."""


def is_refused(given: Given, model: Resolved[str]) -> bool:
    """Whether libvirt is known not to start this NIC, its model apart."""
    return (
        is_undefinable(given.nic, given.domain, given.running, given.arch)
        or _without_shared_memory(given)
        or _without_device(given)
        or (_has_options(given.nic, given.running) and _takes_no_options(given.nic, model))
    )


def is_refused_assigned(nic: NicConfig, domain: DomainConfig, running: RunningNic | None) -> bool:
    """The same for ``<interface type='hostdev'>``: it is not virtio."""
    if is_undefinable(nic, domain, running, domain.arch):
        return True
    return nic.type == "hostdev" and _has_options(nic, running)


def is_undefinable(
    nic: NicConfig, domain: DomainConfig, running: RunningNic | None, arch: str | None
) -> bool:
    """Whether libvirt refuses to define it. What libvirt itself wrote, or runs, it did not."""
    refused = bool(nic.refused) or on_ccw(nic.address_type, arch) is not None
    return refused and domain.as_written and running is None


def _without_shared_memory(given: Given) -> bool:
    version = given.host.libvirt_version
    if given.nic.actual_type != "vhostuser" or given.domain.shared_memory is not False:
        return False
    return version is not None and version >= _SHARED_MEMORY


def _without_device(given: Given) -> bool:
    """The vDPA device is gone: ``Unable to open '/dev/vhost-vdpa-0' for vdpa device``."""
    if given.nic.type != "vdpa" or given.running is not None:
        return False
    return dict(given.host.vhost_paths).get(given.nic.device or "") is False


def _has_options(nic: NicConfig, running: RunningNic | None) -> bool:
    if nic.origin != "interface" or running is not None:
        return False
    return any(getattr(nic, name) in ("on", "off") for name in _VIRTIO_OPTIONS)


def _takes_no_options(nic: NicConfig, model: Resolved[str]) -> bool:
    """Whether it is certain that the NIC is not virtio when it is defined: a written model that
    is QEMU's word for virtio is none to libvirt."""
    if nic.model is not None:
        return nic.model not in VIRTIO
    return model.state not in (UNKNOWN, NONE) and model.effective not in VIRTIO
