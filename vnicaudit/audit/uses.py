"""What the domains of a host use of it."""

from __future__ import annotations

from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig


def uses_of(domain: Domain, host: HostConfig) -> set[str]:
    """What of its host a domain's NICs use: their actual types, and ``kvm-tap`` for one that gets
    vhost-net where the host has it."""
    from vnicaudit.audit.effective import wants_vhost_net  # loaded when there is a live host

    uses = set()
    for nic in domain.nics:
        kind = nic.declared.actual_type
        if kind is not None:
            uses.add(kind)
        if wants_vhost_net(nic.declared, domain.declared, host, nic.running):
            uses.add("kvm-tap")
    return uses
