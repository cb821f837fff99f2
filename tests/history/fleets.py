"""Readings of hosts, made of few words."""

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
import pytest

from tests.drawing import DRAWS
from vnicaudit.audit.judging.judgement import digest, fingerprint_of
from vnicaudit.model.finding import Finding, Location, Ref, Severity, Skipped
from vnicaudit.model.fleet import Coverage, FleetAudit, HostReading, InventoryHost
from vnicaudit.model.nic import Resolved
from vnicaudit.model.report import Audited, NicRow, Suppressed, TargetResult


def seeds(fixed: int, fresh: int, also: Sequence[int] = ()) -> list[object]:
    """Seeds for random fleets: that many fixed ones and ``also`` those that once found something,
    and fresh ones (new with VNICAUDIT_DRAW=1) that are left for ``--long``. With HISTORY_SEEDS=1,2,
    those instead."""
    named = [int(one) for one in os.environ.get("HISTORY_SEEDS", "").split(",") if one]
    later = [None if DRAWS else 10**6 + n for n in range(fresh)]
    drawn_later = [
        pytest.param(seed, id=f"fresh{n}", marks=pytest.mark.long) for n, seed in enumerate(later)
    ]
    return [*named] or [*range(1, fixed + 1), *also, *drawn_later]


def drawn(seed: int | None) -> int:
    """The seed; a fresh one if there is none, printed so that a failure can be repeated."""
    seed = random.randrange(10**6) if seed is None else seed
    print(f"HISTORY_SEEDS={seed}")
    return seed


RULES: Mapping[str, Severity] = {
    "TEST01": "high", "TEST02": "medium", "TEST03": "low", "TEST04": "info",
}  # fmt: skip
"""Rules on NICs, but for the last, which is on domains."""
ON_DOMAINS = "TEST04"


class TestNic(msgspec.Struct, frozen=True):
    """A NIC, the rules that find something, those of them that are accepted, and the rules that
    cannot be judged. ``mac`` None: it has no address."""

    __test__ = False
    mac: str | None
    model: str = "virtio"
    found: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()


class TestDomain(msgspec.Struct, frozen=True):
    """A guest, by the number that its UUID ends with; ``found``: something is found on all of
    it."""

    __test__ = False
    number: int
    nics: tuple[TestNic, ...] = ()
    found: bool = False

    @property
    def uuid(self) -> str:
        """With hyphens."""
        return f"00000000-0000-4000-8000-{self.number:012x}"

    @property
    def name(self) -> str:
        """Short."""
        return f"vm{self.number}"


def fingerprint(rule: str, domain: TestDomain, mac: str | None = "", index: int = 0) -> str:
    """As the audit makes it; ``index`` counts for a NIC without an address."""
    return fingerprint_of(rule, domain.uuid, f"#{index}" if mac is None else mac)


def host(name: str, site: str = "") -> InventoryHost:
    """A host of an inventory."""
    return InventoryHost(name, f"qemu+ssh://{name}/system", site, source="hosts.toml:1")


def audited(one: TestDomain, target: str, rules: Iterable[str]) -> Audited:
    """The judgement of a domain by these rules."""
    place = Location(target)
    findings, suppressed, skipped = [], [], []
    for index, nic in enumerate(one.nics):
        about = Ref("nic", one.name, one.uuid, nic.mac, index)
        for rule in sorted(set(rules) - {ON_DOMAINS}):
            if rule in nic.skipped:
                skipped.append(Skipped(rule, about, "what runs"))
            elif rule in nic.found:
                message = f"{nic.model} is slow"
                made = _finding(rule, about, message, place, fingerprint(rule, one, nic.mac, index))
                if rule in nic.accepted:
                    suppressed.append(Suppressed(made, "agreed", "vnicaudit.toml"))
                else:
                    findings.append(made)
    if one.found and ON_DOMAINS in rules:
        about_all = Ref("domain", one.name, one.uuid)
        mark = fingerprint(ON_DOMAINS, one)
        findings.append(_finding(ON_DOMAINS, about_all, "mixed", place, mark))
    return Audited(
        target,
        one.name,
        one.uuid,
        nics=len(one.nics),
        findings=tuple(findings),
        skipped=tuple(skipped),
        suppressed=tuple(suppressed),
        rows=tuple(_row(one, nic, index, place) for index, nic in enumerate(one.nics)),
    )


def _finding(rule: str, about: Ref, message: str, place: Location, mark: str) -> Finding:
    return Finding(
        rule, rule.lower(), RULES[rule], "high", message, about, place, "libvirt", None, mark
    )


def _row(one: TestDomain, nic: TestNic, index: int, place: Location) -> NicRow:
    ring = Resolved(None, 256 if nic.model == "virtio" else None, "as it is")
    return NicRow(
        domain=one.name, uuid=one.uuid, index=index, mac=nic.mac, type="bridge",
        actual_type="bridge", origin="interface", owner="libvirt", arch="x86_64", machine="pc",
        vcpus=4, active=True, target_dev="vnet0", model=Resolved(nic.model, nic.model, "declared"),
        vhost=Resolved(None, nic.model == "virtio", "running"), queues=Resolved(None, 1, "default"),
        rx_queue_size=ring, tx_queue_size=ring, starts=True, location=place,
    )  # fmt: skip


def timestamp(day: float) -> str:
    """So many days after the beginning of 2026; hours and minutes are parts of a day."""
    from datetime import datetime, timedelta, timezone

    moment = datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(days=day)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def reading(
    one: InventoryHost,
    domains: Sequence[TestDomain],
    day: float,
    *,
    rules: Iterable[str] = tuple(RULES),
    status: Literal["ok", "partial", "failed"] = "ok",
) -> HostReading:
    """The reading of a host that has these domains."""
    rules = tuple(rules)
    judged = () if status == "failed" else tuple(audited(d, one.uri, rules) for d in domains)
    error = None if status == "ok" else "something was not read"
    content = msgspec.json.encode([judged, rules])
    return HostReading(
        host=one,
        status=status,
        started=timestamp(day),
        finished=timestamp(day),
        failure="unreachable" if status == "failed" else None,
        result=TargetResult(one.uri, status, error),
        audited=judged,
        digest=digest("reading", content.decode(), ""),
    )


def audit(
    name: str,
    day: float,
    hosts: Sequence[InventoryHost],
    *,
    rules: Iterable[str] = tuple(RULES),
    chosen: Iterable[str] | None = None,
    nic_share: float = 1.0,
) -> FleetAudit:
    """An audit of these hosts."""
    names = tuple(one.name for one in hosts) if chosen is None else tuple(chosen)
    return FleetAudit(
        id=name,
        started=timestamp(day),
        finished=timestamp(day + 0.01),
        version="0.1.0",
        coverage=Coverage(
            tuple(rules),
            limit="" if chosen is None else ",".join(names),
            nic_share=nic_share,
            seed=None if nic_share == 1.0 else 7,
        ),
        hosts=tuple(hosts),
        chosen_hosts=names,
    )
