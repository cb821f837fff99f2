"""Joins a plan to the last readings of its hosts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Literal

import msgspec

from vnicaudit.fleet.ranking import Estimates
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.plan import Plan, Step
from vnicaudit.model.ranking import (
    GainEstimate,
    LastReadings,
    OpenMark,
    PlanHistory,
    StepHistory,
    UnreadHost,
)


def plan_history(
    plan: Plan,
    hosts: Mapping[str, InventoryHost],
    unread: Collection[str],
    known: LastReadings,
    estimates: Estimates,
) -> PlanHistory:
    """The facts about a plan from the last readings of its hosts, and from measurements."""
    missed = [host.name for uri, host in hosts.items() if uri in unread]
    names = {step.id: hosts[step.target].name for step in plan.steps if step.target in hosts}
    facts = {
        step.id: _of_step(step, names.get(step.id, ""), known, estimates) for step in plan.steps
    }
    return PlanHistory(
        steps=facts,
        unread=tuple(UnreadHost(name, known.hosts.get(name)) for name in missed),
    )


def _of_step(step: Step, host: str, known: LastReadings, estimates: Estimates) -> StepHistory:
    """The facts known about a step on a host."""
    last = known.hosts.get(host)
    rules = frozenset[str]() if last is None else last.rules
    seen = [_first_seen(known.marks.get(one.fingerprint, ()), host) for one in step.findings]
    return StepHistory(
        findings=len(seen),
        known=sum(map(bool, seen)),
        new=sum(not at and one.rule in rules for at, one in zip(seen, step.findings, strict=True)),
        first_seen=min(filter(None, seen), default=""),
        gain=_gain(step, estimates),
    )


def _first_seen(marks: Collection[OpenMark], host: str) -> str:
    """When a finding was first seen on this host, or else on any; empty: never."""
    here = [mark.first_seen for mark in marks if mark.host == host]
    return min(here or (mark.first_seen for mark in marks), default="")


def _gain(step: Step, estimates: Estimates) -> GainEstimate | None:
    """The measured gain of the same change of model on other NICs."""
    models = (one for one in step.changes if one.field == "model")
    return next((estimates.between(one.old or "", one.new or "") for one in models), None)


# Samples of a fleet: the same seed selects the same hosts and guests, whatever their order.


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
