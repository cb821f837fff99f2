"""Declared -> effective: the settings that the guest really gets, and why.

Every statement about libvirt or QEMU here has its source in docs/explanation/effective.md. QEMU's
own arguments, where known, override inference, and the reason says so.
"""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from vnicaudit.audit.effective.queues import (
    EmulatedNic,
    resolve_model,
    resolve_queues,
    resolve_rx,
    resolve_tx,
)
from vnicaudit.audit.effective.resolve import (
    effective_assigned,
    effective_if_refused,
    effective_unfilled,
    effective_without,
    foreign,
    is_assigned,
    of_manifest,
    opens_vhost_net,
    resolve_vhost,
)
from vnicaudit.audit.effective.server import is_refused, is_refused_assigned, of_server
from vnicaudit.knowledge.backends import TAP_TYPES, refused_behind
from vnicaudit.knowledge.models import not_created
from vnicaudit.knowledge.refused_nics import refused_parts
from vnicaudit.knowledge.systems import QEMU_DOMAINS
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Effective, NicConfig, RunningNic


class Resolver(Protocol):
    """A function that works out the settings that the guest gets for one NIC. Pure: it depends on
    nothing but its arguments."""

    def __call__(
        self, nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None
    ) -> Effective: ...


def resolve(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> Effective:
    """The effective facts of one NIC of a definition, or of a command line, as libvirt and QEMU
    determine them."""
    if is_assigned(nic):
        return effective_assigned(nic, refused=is_refused_assigned(nic, domain, host, running))
    if domain.type not in QEMU_DOMAINS:
        return foreign(nic, domain)
    refusal = not_created(nic, domain, host) if running is None else running.refusal
    if (never := effective_if_refused(nic, refusal, host.qemu_version)) is not None:
        refused = refused_parts(nic, None, domain, host, running)
        return replace(never, starts=never.starts and not refused)
    emulated = EmulatedNic(nic, domain, host, running)
    if not emulated.proven and (why := refused_behind(nic, host)) is not None:
        return effective_without(nic, f"does not start: {why}")
    model = resolve_model(emulated)
    name = model.value.effective
    vhost, queues = resolve_vhost(emulated, name), resolve_queues(emulated, name)
    rx, tx = resolve_rx(emulated, name), resolve_tx(emulated, name)
    stopped = any(fact.refused for fact in (model, vhost, queues, rx, tx))
    starts = not (stopped or is_refused(emulated, model.value))
    found = Effective(model.value, vhost.value, queues.value, rx.value, tx.value, starts)
    return effective_unfilled(found, nic) if nic.unseen else found


def resolve_manifest(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> Effective:
    """The effective facts of one interface of a manifest, as KubeVirt determines them."""
    if domain.manifest is None:
        return resolve(nic, domain, host, running)
    if is_assigned(nic):
        return effective_assigned(nic, refused=bool(nic.refused))
    return _refused_mac(of_manifest(nic, domain, domain.manifest), nic)


def resolve_server(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> Effective:
    """The effective facts of one port of a server, as Nova determines them."""
    if is_assigned(nic) or domain.type not in QEMU_DOMAINS or domain.server is None:
        return resolve(nic, domain, host, running)
    return _refused_mac(of_server(nic, domain, domain.server, host), nic)


def _refused_mac(found: Effective, nic: NicConfig) -> Effective:
    """The facts, with ``starts`` false for a multicast MAC: libvirt refuses it in the definition
    that will be made."""
    return replace(found, starts=False) if nic.multicast else found


def wants_vhost_net(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> bool:
    """True if libvirt opens ``/dev/vhost-net`` for this NIC on a host that has it; also False if
    that cannot be determined."""
    if nic.actual_type not in TAP_TYPES or domain.type not in QEMU_DOMAINS:
        return False
    emulated = EmulatedNic(nic, domain, host, running)
    return opens_vhost_net(emulated, resolve_model(emulated).value.effective)


def uses_of(domain: Domain, host: HostConfig) -> set[str]:
    """The features of its host that a domain's NICs use: actual types, and ``kvm-tap`` if a NIC
    gets vhost-net on a host that has it."""
    uses = {kind for nic in domain.nics if (kind := nic.declared.actual_type) is not None}
    if any(
        wants_vhost_net(nic.declared, domain.declared, host, nic.running) for nic in domain.nics
    ):
        uses.add("kvm-tap")
    return uses


__all__ = [
    "QEMU_DOMAINS",
    "TAP_TYPES",
    "Resolver",
    "resolve",
    "resolve_manifest",
    "resolve_server",
    "uses_of",
    "wants_vhost_net",
]
