"""Readings to rank, made of few words."""

from collections.abc import Sequence

import msgspec

from vnicaudit.model.finding import (
    AuditedScope,
    Change,
    Confidence,
    Finding,
    FindingOwner,
    Location,
    Ref,
    Severity,
)
from vnicaudit.model.fix import Fix
from vnicaudit.model.fleet import FleetAudit, HostReading, InventoryHost, NicTraffic
from vnicaudit.model.nic import Resolved
from vnicaudit.model.report import Audited, Coverage, NicRow, Placed, TargetResult

VIRTIO = Change("model", "e1000", "virtio", True)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A finding on a NIC; ``nic`` None: on the whole domain."""

    nic: int | None = 0
    rule: str = "TEST1"
    severity: Severity = "high"
    confidence: Confidence = "high"
    change: Change | None = VIRTIO
    owner: FindingOwner = "libvirt"
    file: str | None = None
    fix: str = "set it"
    fixes: tuple[Fix, ...] = ()


def guest(
    name: str,
    *problems: Problem,
    nics: int = 1,
    model: str = "e1000",
    placed: Placed | None = None,
    scope: AuditedScope = "domain",
    active: bool | None = True,
) -> Audited:
    """A guest with so many NICs, ``vnet0`` and so on behind its name."""
    uuid = f"uuid of {name}"
    return Audited(
        "t", name, uuid, scope=scope, nics=nics, placed=placed,
        findings=tuple(_finding(one, name, uuid, scope) for one in problems),
        rows=tuple(
            msgspec.structs.replace(_row(name, uuid, index, model), active=active)
            for index in range(nics)
        ),
    )  # fmt: skip


def traffic(
    name: str, nic: int = 0, *, rate: int | None = 0, drops: int | None = 0, seconds: float = 10.0
) -> NicTraffic:
    """Bytes and drops per second of a guest's NIC."""
    return NicTraffic(
        uuid=f"uuid of {name}", device=f"{name}-vnet{nic}", seconds=seconds,
        rx_bytes=None if rate is None else int(rate * seconds), tx_bytes=0,
        rx_drops=None if drops is None else int(drops * seconds), tx_drops=0,
        rx_errors=0, tx_errors=0,
    )  # fmt: skip


def reading(
    name: str, guests: Sequence[Audited], counters: Sequence[NicTraffic] = ()
) -> HostReading:
    """A host that was read."""
    return HostReading(
        host=InventoryHost(name, f"qemu+ssh://{name}/system"), status="ok",
        started="2021-01-01T00:00:00Z", finished="2021-01-01T00:00:09Z",
        result=TargetResult(name, "ok"), audited=tuple(guests), traffic=tuple(counters),
    )  # fmt: skip


def audit(*names: str) -> FleetAudit:
    """An audit of these hosts."""
    return FleetAudit(
        id="20210101-000000-0000", started="2021-01-01T00:00:00Z",
        finished="2021-01-01T00:01:00Z", version="1", coverage=Coverage(()), chosen_hosts=names,
    )  # fmt: skip


def _finding(one: Problem, name: str, uuid: str, scope: AuditedScope) -> Finding:
    about = Ref("host") if scope == "host" else (
        Ref("domain", name, uuid) if one.nic is None else Ref("nic", name, uuid, None, one.nic)
    )  # fmt: skip
    return Finding(
        one.rule, one.rule.lower(), one.severity, one.confidence, "m", about,
        Location("t", one.file), one.owner, one.change, f"{one.rule} {name} {one.nic}", one.fix,
        fixes=one.fixes,
    )  # fmt: skip


def _row(name: str, uuid: str, index: int, model: str) -> NicRow:
    one = Resolved(None, 1, "")
    return NicRow(
        domain=name, uuid=uuid, index=index, mac=None, type="bridge", actual_type="bridge",
        origin="interface", owner="libvirt", arch=None, machine=None, vcpus=1, active=True,
        target_dev=f"{name}-vnet{index}", model=Resolved(model, model, ""),
        vhost=Resolved(None, True, ""), queues=one, rx_queue_size=one, tx_queue_size=one,
        starts=True, location=Location("t"),
    )  # fmt: skip
