"""The facts that rules need: how to check for each, and which source would provide it.

A judge of a rule names them in its ``needs``. If a fact is unknown because this source cannot tell,
the rule is skipped, and the report contains the fact's sentence. The type of a fact says to which
subjects it applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from vnicaudit.knowledge.backends import RING_SIZES
from vnicaudit.knowledge.nova_releases import LASTING
from vnicaudit.knowledge.systems import KVM_OR_QEMU, modern_only_slot
from vnicaudit.model.finding import VIRTIO, Scope
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nic import UNKNOWN
from vnicaudit.model.nova import NovaConfig, NovaOption, as_number
from vnicaudit.model.openstack import FOREIGN_VIF_MODELS, Flavor, Image, ServerConfig
from vnicaudit.model.rule import DomainSubject, Fact, HostSubject, Judge, Problem, Subject

S = TypeVar("S", bound=Subject | DomainSubject)

# The facts that rules on nova.conf, images and flavors need.


_RENDERED = "set here by a template or another option: audit the rendered file"


def _option(section: str, name: str) -> Fact[NovaConfig]:
    """An option of nova.conf: known when it is not set, or set for certain."""

    def is_known(nova: NovaConfig) -> bool:
        options = (nova.winner(section, name), nova.written(section, name))
        return all(option is None or option.certain for option in options)

    return Fact(is_known, f"[{section}] {name} ({_RENDERED})")


def _one_is_wrong_or_all_certain(
    options: Iterable[NovaOption], is_wrong: Callable[[NovaOption], bool]
) -> bool:
    """True if enough is known about several options: one is certainly wrong, or all are certain."""
    certain = [option.certain for option in options]
    return all(certain) or any(option.certain and is_wrong(option) for option in options)


def _rings(nova: NovaConfig) -> list[NovaOption]:
    options = (nova.setting("libvirt", name) for name in ("rx_queue_size", "tx_queue_size"))
    return [option for option in options if option is not None]


def _devices(nova: NovaConfig) -> list[NovaOption]:
    names = ("device_spec", "passthrough_whitelist")
    return [o for o in nova.settings if o.section == "pci" and o.name in names]


def _not_current(nova: NovaConfig) -> list[NovaOption]:
    return [o for o in nova.own if (o.known and o.known.status != "current") or o.name[:2] == "--"]


def _is_no_ring(option: NovaOption) -> bool:
    return bool(option.value.strip()) and as_number(option.value) not in RING_SIZES


def _is_refused(option: NovaOption) -> bool:
    form = None if option.known is None else option.known.form
    return form is not None and not form.accepts(option.value)


def _values_known(nova: NovaConfig) -> bool:
    """True if one value is certainly wrong, or none is uncertain."""
    if any(option.broken for option in nova.settings):
        return True
    return _one_is_wrong_or_all_certain(nova.settings, _is_refused)


def _is_there(nova: NovaConfig, section: str, name: str) -> bool:
    options = [o for o in nova.own if o.name == name and o.section in (section, "")]
    return not options or any(option.present for option in options)


NOVA_DRIVER: Fact[NovaConfig] = Fact(
    lambda subject: subject.libvirt is not None,
    f"[DEFAULT] compute_driver ({_RENDERED})",
)
NOVA_RING_SIZES: Fact[NovaConfig] = Fact(
    lambda subject: _one_is_wrong_or_all_certain(_rings(subject), _is_no_ring),
    f"[libvirt] rx_queue_size and tx_queue_size ({_RENDERED})",
)
NOVA_VALUES: Fact[NovaConfig] = Fact(
    _values_known,
    f"the values of options that affect NICs ({_RENDERED})",
)
NOVA_NAMES: Fact[NovaConfig] = Fact(
    lambda subject: any(option.present for option in _not_current(subject)),
    "the rendered file (it may have options that this release lacks)",
)
NOVA_DEVICES: Fact[NovaConfig] = Fact(
    lambda subject: any(option.certain for option in _devices(subject)),
    f"the list of PCI devices ({_RENDERED})",
)
NOVA_WHOLE: Fact[NovaConfig] = Fact(
    lambda subject: not subject.part,
    "nova.conf as it is written (this file is only a part of it)",
)
NOVA_MAX_QUEUES = _option("libvirt", "max_queues")
NOVA_VIRT_TYPE = _option("libvirt", "virt_type")
NOVA_USE_VIRTIO_FOR_BRIDGES = _option("libvirt", "use_virtio_for_bridges")
NOVA_TX_QUEUE_SIZE = _option("libvirt", "tx_queue_size")
NOVA_LIBVIRT_USE_VIRTIO_FOR_BRIDGES: Fact[NovaConfig] = Fact(
    lambda subject: _is_there(subject, "DEFAULT", "libvirt_use_virtio_for_bridges"),
    "the rendered file (it may set [DEFAULT] libvirt_use_virtio_for_bridges)",
)


def _property(name: str) -> Fact[Image | Flavor]:
    """A property of an image, or an extra spec of a flavor: known if it is not set, or set for
    certain."""

    def is_known(subject: Image | Flavor) -> bool:
        entry = subject.property(name)
        return entry is None or entry.certain

    return Fact(is_known, f"{name} as it will be set (here a variable or a template decides)")


IMAGE_PROPERTIES: Fact[Image] = Fact(
    lambda subject: subject.complete,
    "all properties of the image (here only some are set, or the list is filled in)",
)
IMAGE_QEMU: Fact[Image] = Fact(
    # as far as its NIC model depends on it
    lambda subject: subject.qemu is not None or subject.vif_model not in FOREIGN_VIF_MODELS,
    "the hypervisor the image is for (its disk format, or img_hv_type)",
)
IMAGE_ARCHITECTURE: Fact[Image] = Fact(
    lambda subject: subject.vif_model != "spapr-vlan" or subject.architecture is not None,
    "the image's architecture (hw_architecture)",
)
"""Only spapr-vlan depends on it where it is not named."""
IMAGE_HW_VIF_MODEL = _property("hw_vif_model")
IMAGE_HW_VIRTIO_PACKED_RING = _property("hw_virtio_packed_ring")
IMAGE_OS_DISTRO = _property("os_distro")
FLAVOR_MULTIQUEUE = _property("hw:vif_multiqueue_enabled")
FLAVOR_PACKED_RING = _property("hw:virtio_packed_ring")
FLAVOR_VCPUS: Fact[Flavor] = Fact(
    lambda subject: (
        subject.vcpus is not None or subject.property("hw:vif_multiqueue_enabled") is None
    ),
    "the flavor's number of vCPUs",
)
"""Only multiqueue depends on it."""


_InDomain = Subject | DomainSubject
"""Subjects that are a domain or belong to one."""
_OnHost = Subject | DomainSubject | HostSubject


def _model_is_told(subject: Subject) -> bool:
    return subject.effective.model.state != UNKNOWN


def _next_is_told(subject: Subject) -> bool:
    """False for a VM whose instance runs with virtio, if the next one may not."""
    manifest = subject.domain.manifest
    if manifest is None or subject.running is None or subject.model not in VIRTIO:
        return True
    return manifest.next_model(subject.nic) is not None


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
    "the accelerator that QEMU chose, KVM or TCG (what was read leaves it open)",
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
    "the running QEMU: run it on the hypervisor as root, visit the host (ssh://HOST), audit "
    "--host-facts, or give QEMU's command line or log",
    live=True,
)
RUNNING_LOG_WARNING: Fact[Subject] = Fact(
    lambda subject: subject.running is not None and subject.running.log_warning is not None,
    "libvirt's log of the last start",
    live=True,
)

_ON_HOST = "run it on the host itself, visit it (ssh://HOST), or audit --host-facts"
"""In words that fit commands without ``--host-facts`` too."""

HOST_ARCH: Fact[_OnHost] = Fact(
    lambda subject: subject.host.arch is not None, "the hypervisor's architecture", live=True
)
HOST_BACKEND_VHOST: Fact[Subject] = Fact(
    lambda subject: subject.nic.backend_vhost in dict(subject.host.vhost_paths),
    f"the hypervisor's /dev ({_ON_HOST})",
    live=True,
)
HOST_KVM: Fact[_OnHost] = Fact(
    lambda subject: subject.host.kvm is not None,
    f"the hypervisor's KVM support, its /dev/kvm and CPU flags ({_ON_HOST})",
    live=True,
)
HOST_VHOST_NET: Fact[_OnHost] = Fact(
    lambda subject: subject.host.vhost_net is not None,
    f"the hypervisor's /dev/vhost-net ({_ON_HOST})",
    live=True,
)
HOST_ZEROCOPY_TX: Fact[_OnHost] = Fact(
    lambda subject: subject.host.zerocopy_tx is not None,
    f"the hypervisor's /sys/module/vhost_net ({_ON_HOST})",
    live=True,
)

MANIFEST_MODEL: Fact[Subject] = Fact(
    lambda subject: _model_is_told(subject) and _next_is_told(subject),
    "the interface's model (the rendered manifest, or the preference it refers to: beside it, or "
    "in a cluster as the VM recorded it)",
)
PREFERENCE_READINESS: Fact[Preference] = Fact(
    lambda subject: subject.readiness != "unknown",
    "the kind of guests the preference is for (label instancetype.kubevirt.io/os-type, or "
    "annotation vm.kubevirt.io/os)",
)
PREFERENCE_MODEL: Fact[Preference] = Fact(
    lambda subject: "model" not in subject.unseen,
    "preferredInterfaceModel after the template is rendered",
)


def _server_fact(known: Callable[[ServerConfig], bool]) -> Callable[[_InDomain], bool]:
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
    _server_fact(lambda server: server.flavor is not None and server.flavor.complete),
    "the extra specs of the server's flavor (its cloud's policy hides them from this user)",
)
SERVER_NODE: Fact[_InDomain] = Fact(
    _server_fact(lambda server: server.node is not None),
    "nova.conf of the server's compute node, read in the same run",
)
SERVER_NOVA30: Fact[_InDomain] = Fact(
    _server_fact(_is_dated),
    "the Nova release: since 30, image_property set survives migrations (nova-manage --version on "
    "a controller)",
)


def of_server(
    scope: Scope,
    check: Callable[[S, ServerConfig], Iterable[Problem]],
    *,
    applies: Callable[[S, ServerConfig], bool] = lambda _subject, _server: True,
    needs: tuple[Fact[S], ...] = (),
) -> Judge[S]:
    """The judge of servers (or of their NICs), read from their cloud or joined with it: its
    functions are called with Nova's record of the server, too."""

    def is_judged(subject: S) -> bool:
        server = subject.domain.server
        return server is not None and applies(subject, server)

    def problems(subject: S) -> Iterable[Problem]:
        server = subject.domain.server
        return () if server is None else check(subject, server)

    return Judge(scope, is_judged, problems, needs)
