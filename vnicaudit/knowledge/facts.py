"""The facts that rules need: how to check for each, and which source would provide it. Those on
nova.conf, images and flavors are defined in :mod:`vnicaudit.knowledge.nova_facts`, which a lint of
nova.conf loads without the others.

A judge of a rule names them in its ``needs``. If a fact is unknown because this source cannot tell,
the rule is skipped, and the report contains the fact's sentence. The type of a fact says to which
subjects it applies.
"""

from __future__ import annotations

from collections.abc import Callable

from vnicaudit.knowledge.machines import KVM_OR_QEMU, modern_only_slot
from vnicaudit.knowledge.nova_facts import (  # noqa: F401 (a user's own rules have all facts here)
    FLAVOR_MULTIQUEUE,
    FLAVOR_PACKED_RING,
    FLAVOR_VCPUS,
    IMAGE_HW_VIF_MODEL,
    IMAGE_HW_VIRTIO_PACKED_RING,
    IMAGE_OS_DISTRO,
    IMAGE_PROPERTIES,
    IMAGE_QEMU,
    NOVA_DEVICES,
    NOVA_DRIVER,
    NOVA_LIBVIRT_USE_VIRTIO_FOR_BRIDGES,
    NOVA_MAX_QUEUES,
    NOVA_NAMES,
    NOVA_RING_SIZES,
    NOVA_TX_QUEUE_SIZE,
    NOVA_USE_VIRTIO_FOR_BRIDGES,
    NOVA_VALUES,
    NOVA_VIRT_TYPE,
)
from vnicaudit.knowledge.nova_releases import LASTING
from vnicaudit.model.effective import UNKNOWN
from vnicaudit.model.rule import Fact
from vnicaudit.model.server import ServerConfig
from vnicaudit.model.subject import DomainSubject, HostSubject, PreferenceSubject, Subject

_InDomain = Subject | DomainSubject
"""Subjects that are a domain or belong to one."""
_OnHost = Subject | DomainSubject | HostSubject


def _model_is_told(subject: Subject) -> bool:
    return subject.effective.model.state != UNKNOWN


def _slot_is_told(subject: Subject) -> bool:
    if subject.model == "virtio-non-transitional":
        return True
    return modern_only_slot(subject.nic, subject.domain) is not None


def _keeper_is_told(subject: Subject) -> bool:
    """True if the libvirt that keeps the domain is known, system or session: Nova and oVirt use
    only the system's, and a QEMU started by hand has none."""
    domain = subject.domain
    system = subject.state is not None or domain.owner in ("nova", "ovirt", "qemu")
    return system or domain.session is not None


MODEL: Fact[Subject] = Fact(
    lambda subject: subject.domain.is_server or _model_is_told(subject),
    "the effective model (architecture, or libvirt's dumpxml)",
)
"""For a server of a cloud see :data:`SERVER_MODEL`."""
QUEUES: Fact[Subject] = Fact(
    lambda subject: subject.effective.queues.state != UNKNOWN, "the effective number of queues"
)
QUEUES_OF_ALL: Fact[DomainSubject] = Fact(
    lambda subject: all(nic.effective.queues.state != UNKNOWN for nic in subject.nics),
    "the effective number of queues of each NIC",
)
ACTUAL_TYPE: Fact[Subject] = Fact(
    lambda subject: subject.nic.actual_type is not None,
    "what the network is connected to (libvirt's network definition)",
)
SLOT: Fact[Subject] = Fact(
    _slot_is_told, "the PCI controller the NIC is behind (libvirt's dumpxml shows them all)"
)
SESSION: Fact[Subject] = Fact(
    _keeper_is_told,
    "the libvirt that owns it, system or session (audit qemu:///system, or the file below "
    "/etc/libvirt/qemu)",
)
ACCELERATOR: Fact[_InDomain] = Fact(
    lambda subject: subject.domain.type != KVM_OR_QEMU,
    "the accelerator that QEMU chose, KVM or TCG (its command line leaves it open)",
)
VCPUS: Fact[_InDomain] = Fact(
    lambda subject: subject.domain.vcpus is not None, "the number of vCPUs"
)
ARCH: Fact[_InDomain] = Fact(
    lambda subject: subject.domain.arch is not None, "the guest's architecture"
)
SHARED_MEMORY: Fact[_InDomain] = Fact(
    lambda subject: subject.domain.shared_memory is not None, "the guest's memory backing"
)
STATE: Fact[_InDomain] = Fact(
    lambda subject: subject.state is not None, "a live libvirt connection", live=True
)
RUNNING_VHOST: Fact[Subject] = Fact(
    lambda subject: subject.running is not None and subject.running.vhost is not None,
    "the running QEMU: its command line, its log, or /proc on the hypervisor",
    live=True,
)
RUNNING_LOG_WARNING: Fact[Subject] = Fact(
    lambda subject: subject.running is not None and subject.running.log_warning is not None,
    "libvirt's log of the last start",
    live=True,
)

HOST_ARCH: Fact[_OnHost] = Fact(
    lambda subject: subject.host.arch is not None, "the hypervisor's architecture", live=True
)
HOST_BACKEND_VHOST: Fact[Subject] = Fact(
    lambda subject: subject.nic.backend_vhost in dict(subject.host.vhost_paths),
    "the hypervisor's /dev (run it on the host itself)",
    live=True,
)
HOST_KVM: Fact[_OnHost] = Fact(
    lambda subject: subject.host.kvm is not None,
    "the hypervisor's KVM support (its /dev/kvm and CPU flags)",
    live=True,
)
HOST_VHOST_NET: Fact[_OnHost] = Fact(
    lambda subject: subject.host.vhost_net is not None,
    "the hypervisor's /dev/vhost-net (run it on the host itself)",
    live=True,
)
HOST_ZEROCOPY_TX: Fact[_OnHost] = Fact(
    lambda subject: subject.host.zerocopy_tx is not None,
    "the hypervisor's /sys/module/vhost_net (run it on the host itself)",
    live=True,
)

MANIFEST_MODEL: Fact[Subject] = Fact(
    _model_is_told,
    "the interface's model (the rendered manifest, or beside it the preference it refers to)",
)
PREFERENCE_READINESS: Fact[PreferenceSubject] = Fact(
    lambda subject: subject.preference.readiness != "unknown",
    "the kind of guests the preference is for (label instancetype.kubevirt.io/os-type, or "
    "annotation vm.kubevirt.io/os)",
)
PREFERENCE_MODEL: Fact[PreferenceSubject] = Fact(
    lambda subject: "model" not in subject.preference.unseen,
    "preferredInterfaceModel after the template is rendered",
)


def _of_server(known: Callable[[ServerConfig], bool]) -> Callable[[_InDomain], bool]:
    """A fact about a server of OpenStack; False for any other domain."""

    def is_known(subject: _InDomain) -> bool:
        server = subject.domain.server
        return server is not None and known(server)

    return is_known


def _server_is_told(subject: _InDomain) -> bool:
    """True if the properties of a server are known from Nova, or its definition was read."""
    server = subject.domain.server
    return not subject.domain.is_server or (
        server is not None and server.properties_source != "unseen"
    )


def _is_dated(server: ServerConfig) -> bool:
    """True if the server's Nova is known to be old or new enough to tell whether a change of a
    server is permanent."""
    nova = server.nova
    if nova is None:
        return False
    return (nova.oldest or 0) >= LASTING or (nova.newest is not None and nova.newest < LASTING)


SERVER_MODEL: Fact[Subject] = Fact(
    lambda subject: not subject.domain.is_server or _model_is_told(subject),
    "the server's NIC model (as kept by Nova, which Nova 31 and later report; or libvirt of its "
    "compute node, read in the same run)",
)
SERVER_KEPT: Fact[_InDomain] = Fact(
    _server_is_told,
    "the properties that Nova keeps for the server (reported by Nova 31 and later, microversion "
    "2.98; or libvirt of its compute node, read in the same run)",
)
SERVER_FLAVOR: Fact[_InDomain] = Fact(
    _of_server(lambda server: server.flavor is not None and server.flavor.complete),
    "the extra specs of the server's flavor (its cloud's policy hides them from this user)",
)
SERVER_NODE: Fact[_InDomain] = Fact(
    _of_server(lambda server: server.node is not None),
    "nova.conf of the server's compute node, read in the same run",
)
SERVER_NOVA30: Fact[_InDomain] = Fact(
    _of_server(_is_dated),
    "the Nova release: since 30, image_property set survives migrations (nova-manage --version on "
    "a controller)",
)
