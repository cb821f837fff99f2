"""Samples of a fleet: the same seed selects the same hosts and guests, whatever their order."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal

import msgspec

from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import InventoryHost

SampleOf = Literal["hosts", "nics"]
_DRAWS = 1 << 64


class AuditSample(msgspec.Struct, frozen=True):
    """``share``: of all hosts or of all NICs, more than 0 and at most 1. NICs are drawn by guest,
    because rules about a whole guest would be wrong for a part of it."""

    share: float = 1.0
    of: SampleOf = "hosts"
    seed: int = 0

    @property
    def host_share(self) -> float:
        """Share of the hosts to draw."""
        return self.share if self.of == "hosts" else 1.0

    @property
    def nic_share(self) -> float:
        """Share of each host's NICs to draw."""
        return self.share if self.of == "nics" else 1.0

    def hosts(self, hosts: Sequence[InventoryHost]) -> tuple[InventoryHost, ...]:
        """The drawn hosts, in their order: that share of them, rounded, but at least one."""
        if self.host_share == 1.0 or not hosts:
            return tuple(hosts)
        number = max(1, round(len(hosts) * self.host_share))
        drawn = sorted(hosts, key=lambda host: _draw(self.seed, host.name))[:number]
        chosen = {host.name for host in drawn}
        return tuple(host for host in hosts if host.name in chosen)

    def has_domain(self, domain: Domain) -> bool:
        """True if the NICs of a guest are drawn."""
        if self.nic_share == 1.0:
            return True
        return _draw(self.seed, domain.uuid or domain.name) < self.nic_share * _DRAWS


EVERYTHING = AuditSample()


def _draw(seed: int, name: str) -> int:
    text = f"{seed}\n{name}".encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
