"""The NICs of hosts as the history knows them, in the state of their last reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace
from sqlalchemy import Connection, and_, select

from vnicaudit.history.matching import grouped
from vnicaudit.history.rows import NicFacts, uuid_text
from vnicaudit.history.tables import nic
from vnicaudit.model.effective import KNOWN, NONE, UNKNOWN, Resolved
from vnicaudit.model.fleet_state import FleetHost
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.location import Location
from vnicaudit.model.report import NicRow

T = TypeVar("T", str, bool, int)

_OWN_PATH = frozenset({"vhostuser", "vdpa", "hostdev"})
_KEPT = "as last read; the history does not store reasons"


def known_nics(
    connection: Connection, hosts: Sequence[FleetHost]
) -> Iterator[tuple[FleetHost, list[NicRow]]]:
    """Each host with its NICs, guest by guest, from one query for all hosts."""
    n = nic.c
    columns = (n[name] for name in NicFacts._fields)
    here = and_(n.host.in_([one.id for one in hosts]), n.closed.is_(None))
    query = select(n.host, *columns).where(here).order_by(n.domain, n.uuid, n.nic_index)
    rows = connection.execute(query)
    known = grouped((number, NicFacts._make(facts)) for number, *facts in rows)
    for host in hosts:
        yield host, [_row(facts, host) for facts in known.pop(host.id, ())]


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
