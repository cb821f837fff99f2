"""The NICs of a host as the history knows them: what each was when it was last read."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace
from sqlalchemy import Connection, select

from vnicaudit.history.rows import NicFacts, uuid_text
from vnicaudit.history.tables import nic
from vnicaudit.model.effective import KNOWN, NONE, UNKNOWN, Resolved
from vnicaudit.model.fleet_state import FleetHost
from vnicaudit.model.location import Location
from vnicaudit.model.nic import VIRTIO
from vnicaudit.model.report import NicRow

T = TypeVar("T", str, bool, int)

_OWN_PATH = frozenset({"vhostuser", "vdpa", "hostdev"})
_KEPT = "as last read; the history does not store reasons"


def known_nics(connection: Connection, host: FleetHost) -> list[NicRow]:
    """The NICs of a host, guest by guest."""
    n = nic.c
    columns = (n[name] for name in NicFacts._fields)
    query = select(*columns).where(n.host == host.id, n.closed.is_(None))
    rows = connection.execute(query.order_by(n.domain, n.uuid, n.nic_index))
    return [_row(NicFacts(*row), host) for row in rows]


def _row(nic: NicFacts, host: FleetHost) -> NicRow:
    is_own = nic.type in _OWN_PATH or nic.origin == "hostdev"
    model = _fact(nic.model, is_own)
    vhost = None if nic.vhost is None else bool(nic.vhost)
    no_vhost = is_own or (nic.model is not None and nic.model not in VIRTIO)
    return NicRow(
        domain=nic.domain, uuid=uuid_text(nic.uuid), index=nic.nic_index, mac=nic.mac,
        type=nic.type, actual_type=nic.type, origin=nic.origin, owner=nic.owner, arch=nic.arch,
        machine=nic.machine, vcpus=nic.vcpus, active=None, target_dev=None,
        model=replace(model, declared=nic.model_declared), vhost=_fact(vhost, no_vhost),
        queues=_fact(nic.queues, no_vhost), rx_queue_size=_fact(nic.rx_queue_size, no_vhost),
        tx_queue_size=_fact(nic.tx_queue_size, no_vhost), starts=bool(nic.starts),
        location=Location(host.uri),
    )  # fmt: skip


def _fact(value: T | None, is_absent: bool) -> Resolved[T]:
    state = KNOWN if value is not None else NONE if is_absent else UNKNOWN
    return Resolved(None, value, _KEPT, state)
