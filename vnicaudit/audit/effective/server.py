"""Effective NIC settings of an OpenStack server, derived from Nova's record of it.

Sources, all in Nova 34.0.0: ``virt/libvirt/vif.py`` (``get_base_config``, ``get_vif_model``,
``_get_virtio_mq_settings``), ``virt/libvirt/designer.py``, ``virt/libvirt/config.py``
(``LibvirtConfigGuestInterface.format_dom``), ``virt/hardware.py``. Settings that Nova's
configuration decides are known if nova.conf of the server's host was read in the same run.
"""

from __future__ import annotations

from vnicaudit.audit.effective.queues import NO_MODEL, EmulatedNic, ResolvedFact, resolve_model
from vnicaudit.knowledge.backends import DEFAULT_RING, OWN_PATH, TAP_TYPES
from vnicaudit.knowledge.models import default_model
from vnicaudit.knowledge.nova_releases import lacks_vif_model, may_have_overrides
from vnicaudit.knowledge.refused_nics import refused_parts
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import NONE, UNKNOWN, Effective, NicConfig, Resolved, RunningNic
from vnicaudit.model.nova import as_number
from vnicaudit.model.openstack import FOREIGN_VIF_MODELS, ServerConfig

# NICs that libvirt refuses for reasons other than their model, queues, rings and vhost.


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


MAX_QUEUES = 256
"""Nova's maximum if ``max_queues`` is not set: that of a tap."""

_CONF = "nova.conf of its host"
_TELL = f"{_CONF}, or its libvirt (qemu+ssh://HOST/system), would show it"
_NOT_SAID = (
    "Nova does not report what it keeps for this server (it does since 2025.1); nova-manage "
    "image_property show, or its libvirt (qemu+ssh://HOST/system), would show it"
)
_CHOSE = (
    "Nova may still keep virtio from when it was on; nova-manage image_property show, or the "
    "server's libvirt (qemu+ssh://HOST/system), would show it"
)


def of_server(
    nic: NicConfig, domain: DomainConfig, server: ServerConfig, host: HostConfig
) -> Effective:
    """The effective facts of one port of a server: the settings that Nova writes at its next
    start."""
    emulated = EmulatedNic(nic, domain, host, None)
    model = _model(emulated, server)
    name = model.value.effective
    refused = model.refused or is_refused(emulated, model.value)
    return Effective(
        model.value,
        _vhost(nic, server, name),
        _queues(nic, server, name),
        _rx(nic, server, name),
        _tx(nic, server, name),
        starts=not refused,
    )


def _model(emulated: EmulatedNic, server: ServerConfig) -> ResolvedFact[str]:
    nic = emulated.nic
    if nic.actual_type == "vdpa":
        reason = "Nova writes no model for vDPA, and libvirt makes it virtio"
        return ResolvedFact(Resolved(None, "virtio", reason))
    if nic.model is None:
        return ResolvedFact(_default(emulated, server))
    newest = None if server.nova is None else server.nova.newest
    foreign = nic.model in FOREIGN_VIF_MODELS and not _takes(nic.model, server)
    if foreign or lacks_vif_model(nic.model, newest):
        reason = f"Nova refuses {nic.model} with KVM: does not start"
        return ResolvedFact(Resolved(nic.model, None, reason, NONE), refused=True)
    found = resolve_model(emulated)
    if found.refused:
        return found
    return ResolvedFact(
        Resolved(nic.model, found.value.effective, _model_reason(nic.model, server))
    )


def _takes(model: str, server: ServerConfig) -> bool:
    """True for a model that Nova accepts with plain QEMU but refuses with KVM
    (SUPPORTED_VIF_MODELS); an unknown ``virt_type`` counts as QEMU."""
    return model == "lan9118" and _option(server, "virt_type") in ("qemu", None)


def _model_reason(model: str, server: ServerConfig) -> str:
    if server.vif_model != model:
        return f"Nova writes {model} for it, whatever it keeps"
    if server.properties_source == "image":
        return (
            f"hw_vif_model={model} from its image, which has not changed since the server was "
            "created"
        )
    return f"Nova keeps hw_vif_model={model} for this server"


def _default(emulated: EmulatedNic, server: ServerConfig) -> Resolved[str]:
    """The model if none is stored: libosinfo's, else virtio, else libvirt's (get_vif_model)."""
    if server.properties_source == "unseen":
        return Resolved(None, None, _NOT_SAID, UNKNOWN)
    system = server.property("os_distro")
    if system is not None:
        reason = (
            f"no hw_vif_model, but os_distro={system[:40]}: if its host has libosinfo, that "
            "chooses the model; its libvirt (qemu+ssh://HOST/system) would show it"
        )
        return Resolved(None, None, reason, UNKNOWN)
    virtio = _option(server, "use_virtio_for_bridges")
    none = "no hw_vif_model kept"
    if server.properties_source == "image":
        none = "its image names no hw_vif_model"
    if virtio is None:
        reason = f"{none}: virtio, unless use_virtio_for_bridges is off; {_TELL}"
        return Resolved(None, None, reason, UNKNOWN)
    if virtio == "true":
        return Resolved(None, "virtio", f"{none}: virtio, by {_CONF}")
    if may_have_overrides(server):
        return Resolved(
            None, None, f"use_virtio_for_bridges is off in {_CONF}, but {_CHOSE}", UNKNOWN
        )
    return _libvirts(emulated)


def _libvirts(emulated: EmulatedNic) -> Resolved[str]:
    reason = f"use_virtio_for_bridges is off in {_CONF}: Nova writes no model"
    if emulated.arch is None:
        reason += "; the architecture of its host would show libvirt's default"
        return Resolved(None, None, reason, UNKNOWN)
    return Resolved(
        None, default_model(emulated.arch, emulated.domain.machine), f"{reason}; libvirt's default"
    )


def _vhost(nic: NicConfig, server: ServerConfig, model: str | None) -> Resolved[bool]:
    if nic.actual_type in OWN_PATH:
        word = "vhost-user" if nic.actual_type == "vhostuser" else "vhost-vDPA"
        return Resolved(None, None, f"{word} is the packet path; vhost-net is not used", NONE)
    if model is None:
        return Resolved(None, None, NO_MODEL, UNKNOWN)
    if model not in VIRTIO:
        return Resolved(None, False, f"{model} is emulated by QEMU; only virtio has vhost")
    if nic.actual_type is None:
        return Resolved(None, None, "Neutron shows only admins what it is connected to", UNKNOWN)
    if nic.actual_type not in TAP_TYPES:
        return Resolved(None, False, f"type='{nic.actual_type}' never uses vhost-net")
    if _option(server, "virt_type") == "qemu":
        reason = f"virt_type=qemu in {_CONF}: Nova writes <driver name='qemu'/>"
        return Resolved(False, False, reason)
    reason = (
        "Nova leaves it to libvirt, which uses vhost-net for KVM if the host has it; its libvirt "
        "(qemu+ssh://HOST/system) and QEMU's command line would show it"
    )
    return Resolved(None, None, reason, UNKNOWN)


def _queues(nic: NicConfig, server: ServerConfig, model: str | None) -> Resolved[int]:
    if nic.actual_type == "vdpa":
        return Resolved(None, 1, "Nova writes no queues= for vDPA: one queue pair")
    if model is None:
        return Resolved(nic.queues, None, NO_MODEL, UNKNOWN)
    if model not in VIRTIO:
        return Resolved(nic.queues, 1, f"{model} has one queue")
    if nic.queues is None:
        return _without_multiqueue(server)
    kind = _option(server, "virt_type")
    if kind == "qemu":
        return Resolved(nic.queues, 1, f"virt_type=qemu in {_CONF}: Nova ignores multiqueue")
    most = _option(server, "max_queues")
    if most is None or kind is None:
        reason = f"multiqueue is on: one per vCPU, if max_queues and virt_type allow; {_TELL}"
        return Resolved(nic.queues, None, reason, UNKNOWN)
    limit = as_number(most) or MAX_QUEUES
    if nic.queues <= limit:
        return Resolved(nic.queues, nic.queues, "multiqueue is on: one per vCPU")
    reason = f"multiqueue is on: one per vCPU, {limit} at most"
    return Resolved(nic.queues, limit, reason + (f" (max_queues in {_CONF})" if most else ""))


def _without_multiqueue(server: ServerConfig) -> Resolved[int]:
    if server.properties_source == "unseen" or server.flavor is None:
        return Resolved(None, None, _NOT_SAID, UNKNOWN)
    reason = "multiqueue is off in its flavor and in what Nova keeps: one queue pair"
    return Resolved(None, 1, reason)


def _rx(nic: NicConfig, server: ServerConfig, model: str | None) -> Resolved[int]:
    return _ring(nic, server, model, "rx_queue_size")


def _tx(nic: NicConfig, server: ServerConfig, model: str | None) -> Resolved[int]:
    if model in VIRTIO and nic.actual_type in TAP_TYPES:
        reason = "Nova writes tx_queue_size= for vhost-user only: QEMU's default"
        return Resolved(None, DEFAULT_RING, reason)
    return _ring(nic, server, model, "tx_queue_size")


def _ring(nic: NicConfig, server: ServerConfig, model: str | None, option: str) -> Resolved[int]:
    if model is None:
        return Resolved(None, None, NO_MODEL, UNKNOWN)
    if model not in VIRTIO:
        return Resolved(None, None, f"{model} has no virtio ring", NONE)
    if nic.actual_type == "vdpa":
        reason = f"Nova writes no {option}= that libvirt reads for vDPA: QEMU's default"
        return Resolved(None, DEFAULT_RING, reason)
    value = _option(server, option)
    if value is None:
        return Resolved(None, None, f"{option} in {_TELL}", UNKNOWN)
    size = as_number(value)
    if size is None:
        return Resolved(None, DEFAULT_RING, f"{_CONF} sets none: QEMU's default")
    if nic.actual_type is None:
        return Resolved(size, None, "Neutron shows only admins what it is connected to", UNKNOWN)
    return Resolved(size, size, f"{option} in {_CONF}")


def _option(server: ServerConfig, name: str) -> str | None:
    """Value of an option of ``[libvirt]`` on the server's host: ``""`` if it is unset and has no
    default, None if it is unknown."""
    return None if server.node is None else server.node.value(name)
