"""Declared -> effective: what the guest really gets, and why.

Every statement about libvirt or QEMU here has its source in docs/explanation/effective.md.
Where QEMU's own arguments are at hand they win over inference, and the reason says so.
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.audit.effective.given import Given
from vnicaudit.audit.effective.manifest import resolve_manifest
from vnicaudit.audit.effective.model import resolve_model
from vnicaudit.audit.effective.queues import resolve_queues
from vnicaudit.audit.effective.refused import is_refused, is_refused_assigned
from vnicaudit.audit.effective.rings import resolve_rx, resolve_tx
from vnicaudit.audit.effective.server import resolve_server
from vnicaudit.audit.effective.unjudged import (
    assigned,
    foreign,
    is_assigned,
    refused,
    unfilled,
    without,
)
from vnicaudit.audit.effective.vhost import opens_vhost_net, resolve_vhost
from vnicaudit.model.backends import TAP_TYPES
from vnicaudit.model.behind import refused_behind
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import Effective
from vnicaudit.model.host import HostConfig
from vnicaudit.model.hypervisors import QEMU_DOMAINS
from vnicaudit.model.nic import NicConfig, RunningNic


def resolve(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> Effective:
    """What the guest gets for one NIC. Pure; depends on nothing but its arguments."""
    if is_assigned(nic):
        return assigned(nic, refused=is_refused_assigned(nic, domain, running))
    if domain.manifest is not None:
        return _refused_mac(resolve_manifest(nic, domain, domain.manifest), nic)
    if domain.type not in QEMU_DOMAINS:
        return foreign(nic, domain)
    if domain.form == "server" and domain.server is not None:
        return _refused_mac(resolve_server(nic, domain, domain.server, host), nic)
    if (never := refused(nic, running, host.qemu_version)) is not None:
        return never
    given = Given(nic, domain, host, running)
    if not given.proven and (why := refused_behind(nic, host)) is not None:
        return without(nic, f"does not start: {why}")
    model = resolve_model(given)
    name = model.value.effective
    vhost, queues = resolve_vhost(given, name), resolve_queues(given, name)
    rx, tx = resolve_rx(given, name), resolve_tx(given, name)
    stopped = any(fact.refused for fact in (model, vhost, queues, rx, tx))
    starts = not (stopped or is_refused(given, model.value))
    found = Effective(model.value, vhost.value, queues.value, rx.value, tx.value, starts)
    return unfilled(found, nic) if nic.unseen else found


def _refused_mac(found: Effective, nic: NicConfig) -> Effective:
    """libvirt refuses a multicast MAC in the definition that will be made."""
    return replace(found, starts=False) if nic.multicast else found


def wants_vhost_net(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> bool:
    """Whether libvirt opens ``/dev/vhost-net`` for this NIC on a host that has it; False also
    where that cannot be told."""
    if nic.actual_type not in TAP_TYPES or domain.type not in QEMU_DOMAINS:
        return False
    given = Given(nic, domain, host, running)
    return opens_vhost_net(given, resolve_model(given).value.effective)


__all__ = ["QEMU_DOMAINS", "TAP_TYPES", "resolve", "wants_vhost_net"]
