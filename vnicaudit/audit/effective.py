"""Declared -> effective: what the guest really gets, and why.

Every statement about libvirt or QEMU here has its source in docs/explanation/effective.md.
Where QEMU's own arguments are at hand they win over inference, and the reason says so.
"""

from __future__ import annotations

from vnicaudit.audit.default_model import default_model
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import KNOWN, NONE, UNKNOWN, Effective, Resolved
from vnicaudit.model.host import HostConfig
from vnicaudit.model.models import QEMU_MODELS, VIRTIO, model_of_driver
from vnicaudit.model.nic import NicConfig, RunningNic
from vnicaudit.model.version import Version

QEMU_DOMAINS = frozenset({"qemu", "kvm", "hvf", "test"})
"""Domain types whose NICs QEMU emulates. ``test`` is libvirt's test driver: judged as KVM."""

TAP_TYPES = frozenset({"bridge", "ethernet", "direct"})
"""Actual types on a tap or macvtap device: the only ones with vhost-net."""

VHOSTUSER_DEFAULT = Version(11, 1)
"""libvirt before it demands ``<model type='virtio'/>`` of ``type='vhostuser'`` (NEWS 11.1.0)."""

DEFAULT_RING = 256
MAX_RING = 1024
MAX_TAP_QUEUES = 256
"""drivers/net/tun.c; libvirt opens one descriptor per queue pair."""

STRICT_TX_QEMU = Version(8, 1)
"""From this QEMU on a TX ring above the backend's maximum is an error at start; before it was cut
down silently. Measured: 7.2.22 cuts, 10.0.13 refuses; changed by "virtio-net: correctly report
maximum tx_queue_size value" (June 2023)."""


def resolve(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> Effective:
    """What the guest gets for one NIC. Pure; depends on nothing but its arguments."""
    if _assigned(nic):
        return _passthrough(nic)
    if domain.type not in QEMU_DOMAINS:
        return _foreign(nic, domain)
    model = _model(nic, domain, host, running)
    name = model.effective
    return Effective(
        model=model,
        vhost=_vhost(nic, domain, host, running, name),
        queues=_queues(nic, domain, running, name),
        rx_queue_size=_ring("rx_queue_size", nic, host, running, name),
        tx_queue_size=_ring("tx_queue_size", nic, host, running, name),
        starts=_starts(nic, domain, host, running, name),
    )


def _assigned(nic: NicConfig) -> bool:
    """A host device. The transient half of a teaming pair is one also where the network is not
    known: libvirt starts it as nothing else (qemuDomainValidateActualNetDef)."""
    if nic.type == "network" and nic.actual_type is None:
        return nic.teaming == "transient"
    return "hostdev" in (nic.type, nic.actual_type)


def tuning_counts(nic: NicConfig) -> bool:
    """Whether libvirt reads ``<driver queues= rx_queue_size= …>`` of this NIC at all: only when
    the model is *written down* as virtio (virDomainNetDefParseXMLDriver runs before the default
    model is filled in)."""
    return nic.model in VIRTIO


def tx_limit(nic: NicConfig) -> int:
    """The largest TX ring of the NIC's backend (``virtio_net_max_tx_queue_size``), in
    descriptors. ``type='network'`` becomes a bridge, a macvtap or a host device, never vhost-user
    or vDPA (virDomainActualNetDefParseXML), so a ring on it is on a tap."""
    return MAX_RING if nic.actual_type in ("vhostuser", "vdpa") else DEFAULT_RING


def _before(host: HostConfig, version: Version) -> bool:
    """Whether the host's libvirt is known to be older."""
    return host.libvirt_version is not None and host.libvirt_version < version


def valid_ring(size: int) -> bool:
    """A power of two between 256 and 1024, as QEMU demands."""
    return DEFAULT_RING <= size <= MAX_RING and size & (size - 1) == 0


def _passthrough(nic: NicConfig) -> Effective:
    if nic.origin == "hostdev" and nic.teaming is None:
        model = Resolved[str](
            None, None, "an assigned PCI device; its class on the host (0x02…) tells whether it "
            "is a network adapter", UNKNOWN,
        )  # fmt: skip
    else:
        model = Resolved[str](
            nic.model, None, "passed through: the guest drives the host's device itself", NONE
        )
    reason = "passed through: no virtio device"
    return Effective(
        model=model,
        vhost=Resolved(None, None, reason, NONE),
        queues=Resolved(nic.queues, None, "set by the adapter and the guest's driver", NONE),
        rx_queue_size=Resolved(nic.rx_queue_size, None, reason, NONE),
        tx_queue_size=Resolved(nic.tx_queue_size, None, reason, NONE),
    )


def _foreign(nic: NicConfig, domain: DomainConfig) -> Effective:
    reason = f"not a QEMU domain (type='{domain.type}'): not judged"
    return Effective(
        model=Resolved(nic.model, None, reason, UNKNOWN),
        vhost=Resolved(None, None, reason, UNKNOWN),
        queues=Resolved(nic.queues, None, reason, UNKNOWN),
        rx_queue_size=Resolved(nic.rx_queue_size, None, reason, UNKNOWN),
        tx_queue_size=Resolved(nic.tx_queue_size, None, reason, UNKNOWN),
    )


def _model(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None
) -> Resolved[str]:
    if running is not None:
        return Resolved(nic.model, running.model, f"QEMU runs -device {running.driver}")
    if nic.model is not None:
        return _declared_model(nic.model)
    if nic.type in ("vdpa", "vhostuser"):
        if nic.type == "vhostuser" and _before(host, VHOSTUSER_DEFAULT):
            reason = f"libvirt {host.libvirt_version} refuses type='vhostuser' without a model"
            return Resolved(None, None, reason, NONE)
        since = "6.9" if nic.type == "vdpa" else "11.1"
        return Resolved(None, "virtio", f"libvirt's default for type='{nic.type}' since {since}")
    arch = domain.arch or host.arch
    if arch is None:
        return Resolved(
            None, None, "no model and no architecture declared: x86 would make it rtl8139, s390x "
            "virtio; the architecture of the host or libvirt's dumpxml would tell", UNKNOWN,
        )  # fmt: skip
    name = default_model(arch, domain.machine)
    where = f"{arch} {domain.machine or ''}".strip()
    reason = f"no model declared: libvirt's default on {where}"
    if nic.type == "network" and nic.actual_type is None:
        reason += " (unless the network hands out host devices)"
    return Resolved(None, name, reason)


def _declared_model(model: str) -> Resolved[str]:
    name = model_of_driver(model)
    if name == model:
        return Resolved(model, model, "as declared")
    return Resolved(model, name, f"libvirt hands it to QEMU as it is: -device {model}")


def _vhost(
    nic: NicConfig,
    domain: DomainConfig,
    host: HostConfig,
    running: RunningNic | None,
    model: str | None,
) -> Resolved[bool]:
    declared = None if nic.driver_name is None else nic.driver_name == "vhost"
    if nic.actual_type in ("vhostuser", "vdpa"):
        word = "vhost-user" if nic.actual_type == "vhostuser" else "vhost-vDPA"
        return Resolved(declared, None, f"{word} is the packet path; vhost-net is not used", NONE)
    if running is not None and running.vhost is not None:
        return Resolved(declared, running.vhost, f"seen in QEMU's {running.evidence}")
    if model is None:
        return Resolved(declared, None, "depends on the model, which is not known", UNKNOWN)
    if (reason := _vhost_impossible(nic, domain, model)) is not None:
        return Resolved(declared, False, reason)
    if nic.actual_type is None:
        return Resolved(
            declared, None, f"type='{nic.type}': the network's definition would tell what it is "
            "connected to", UNKNOWN,
        )  # fmt: skip
    if host.vhost_net is None:
        return Resolved(
            declared, None, "the definition never proves it; QEMU's command line or its open "
            "descriptors would tell", UNKNOWN,
        )  # fmt: skip
    if host.vhost_net:
        return Resolved(declared, True, "the host has /dev/vhost-net; libvirt uses it for KVM")
    return Resolved(declared, False, "the host has no /dev/vhost-net: QEMU copies every packet")


def _vhost_impossible(nic: NicConfig, domain: DomainConfig, model: str) -> str | None:
    """Why libvirt does not open vhost-net for this NIC on any host; None when it may. The order
    is that of qemuInterfaceOpenVhostNet, as far as the network is known."""
    if model not in VIRTIO:
        return f"{model} is emulated by QEMU; only virtio has vhost"
    if nic.model is not None and not tuning_counts(nic):
        return f"libvirt opens vhost-net for its own virtio models, not for {nic.model}"
    if nic.actual_type is not None and nic.actual_type not in TAP_TYPES:
        return f"type='{nic.actual_type}' never uses vhost-net"
    if domain.type not in ("kvm", "test"):
        return (
            f"domain type='{domain.type}': libvirt opens vhost-net for KVM only, "
            "and says nothing when name='vhost' asks for it"
        )
    if nic.driver_name == "qemu" and tuning_counts(nic):
        return "switched off by <driver name='qemu'/>"
    return None


def _queues(
    nic: NicConfig, domain: DomainConfig, running: RunningNic | None, model: str | None
) -> Resolved[int]:
    if running is not None and running.queues is not None:
        reason = f"QEMU runs {_pairs(running.queues)}"
        return Resolved(nic.queues, running.queues, reason + _wasted(running.queues, domain))
    if model is None:
        return Resolved(nic.queues, None, "depends on the model, which is not known", UNKNOWN)
    if model not in VIRTIO:
        dropped = "; libvirt drops queues= on it" if nic.queues is not None else ""
        return Resolved(nic.queues, 1, f"{model} has one queue{dropped}")
    if nic.queues is None:
        return Resolved(None, 1, "none declared: one queue pair")
    if not tuning_counts(nic):
        return Resolved(
            nic.queues, 1, "libvirt reads <driver> only when <model type='virtio'/> is written"
        )
    if nic.queues <= 1:
        return Resolved(nic.queues, 1, "one queue pair")
    if nic.actual_type is not None and not _multiqueue_backend(nic):
        return Resolved(
            nic.queues, None, f"libvirt refuses to start: type='{nic.actual_type}' has no "
            "multiqueue", NONE,
        )  # fmt: skip
    if nic.actual_type in TAP_TYPES and nic.queues > MAX_TAP_QUEUES:
        return Resolved(
            nic.queues, None, f"a tap device has {MAX_TAP_QUEUES} queues at most: does not start",
            NONE,
        )  # fmt: skip
    if nic.actual_type == "vdpa":
        reason = "as declared; QEMU 10 takes the device's own number of queue pairs"
        return Resolved(nic.queues, nic.queues, reason)
    return Resolved(nic.queues, nic.queues, "as declared" + _wasted(nic.queues, domain))


def _multiqueue_backend(nic: NicConfig) -> bool:
    return nic.actual_type in TAP_TYPES or nic.actual_type in ("vhostuser", "vdpa", "network")


def _pairs(count: int) -> str:
    return "one queue pair" if count == 1 else f"{count} queue pairs"


def _wasted(queues: int, domain: DomainConfig) -> str:
    vcpus = domain.vcpus_max or domain.vcpus
    if vcpus is None or queues <= vcpus:
        return ""
    return f"; {queues - vcpus} of them idle, the guest has {vcpus} vCPU{'s' if vcpus > 1 else ''}"


def _ring(
    field: str, nic: NicConfig, host: HostConfig, running: RunningNic | None, model: str | None
) -> Resolved[int]:
    receive = field == "rx_queue_size"
    declared = nic.rx_queue_size if receive else nic.tx_queue_size
    if running is not None and not host.assumed:
        size = running.rx_queue_size if receive else running.tx_queue_size
        if size is not None:
            return _running_ring(declared, size, MAX_RING if receive else tx_limit(nic))
    if model is None:
        return Resolved(declared, None, "depends on the model, which is not known", UNKNOWN)
    if model not in VIRTIO:
        dropped = f"; libvirt drops {field}= on it" if declared is not None else ""
        return Resolved(declared, None, f"{model} has no virtio ring{dropped}", NONE)
    if not declared:
        return Resolved(declared, DEFAULT_RING, "none declared: QEMU's default")
    if not tuning_counts(nic):
        return Resolved(
            declared, DEFAULT_RING,
            "libvirt reads <driver> only when <model type='virtio'/> is written",
        )  # fmt: skip
    if not valid_ring(declared):
        return Resolved(
            declared, None, "does not start: a ring is a power of two from 256 to 1024", NONE
        )
    if receive or declared == DEFAULT_RING:
        return Resolved(declared, declared, "as declared")
    return _capped_tx(nic, host, declared)


def _running_ring(declared: int | None, size: int, limit: int) -> Resolved[int]:
    """The ring of a QEMU by its arguments: more than the backend's maximum no guest ever gets
    (QEMU before 8.1 cuts it down, later ones do not start)."""
    if size <= limit:
        return Resolved(declared, size, "from QEMU's arguments")
    return Resolved(declared, limit, f"QEMU was given {size}; its backend has {limit} at most")


def _capped_tx(nic: NicConfig, host: HostConfig, declared: int) -> Resolved[int]:
    limit = tx_limit(nic)
    if declared <= limit:
        return Resolved(declared, declared, "as declared")
    version = host.qemu_version
    if version is None:
        kind = nic.actual_type or nic.type
        return Resolved(
            declared, limit, f"type='{kind}' has {limit} at most: QEMU before 8.1 cuts it "
            "down silently, later ones do not start",
        )  # fmt: skip
    if version < STRICT_TX_QEMU:
        return Resolved(declared, limit, f"QEMU {version} cuts it down silently")
    return Resolved(declared, None, f"QEMU {version} refuses to start", NONE)


def _starts(
    nic: NicConfig,
    domain: DomainConfig,
    host: HostConfig,
    running: RunningNic | None,
    model: str | None,
) -> bool:
    """False only when a refusal is certain."""
    if running is not None and not host.assumed:
        return True
    if nic.type == "vhostuser" and nic.model is None and _before(host, VHOSTUSER_DEFAULT):
        return False
    if model is not None and model not in QEMU_MODELS and nic.type not in ("vdpa", "vhostuser"):
        return False
    if not tuning_counts(nic):
        return True
    rings = [size for size in (nic.rx_queue_size, nic.tx_queue_size) if size]
    if not all(valid_ring(size) for size in rings):
        return False
    limit = tx_limit(nic)
    version = host.qemu_version
    if version is not None and (nic.tx_queue_size or 0) > limit and version >= STRICT_TX_QEMU:
        return False
    if (nic.queues or 0) > 1 and nic.actual_type is not None and not _multiqueue_backend(nic):
        return False
    return not (
        nic.driver_name == "vhost"
        and domain.type == "kvm"
        and nic.actual_type in TAP_TYPES
        and host.vhost_net is False
    )


__all__ = ["KNOWN", "QEMU_DOMAINS", "TAP_TYPES", "resolve", "tuning_counts", "tx_limit"]
