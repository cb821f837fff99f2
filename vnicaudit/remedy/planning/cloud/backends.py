"""NICs of servers that are to be on another backend: steps that an operator carries out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change, NicRef
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import CloudPart, Left, Step
from vnicaudit.remedy.digests import kept_digest
from vnicaudit.remedy.planning.cloud import gates
from vnicaudit.remedy.planning.cloud.changed import part_of
from vnicaudit.remedy.planning.cloud.prerequisite import Prerequisite
from vnicaudit.remedy.planning.cloud.vdpa import lost, prerequisites, vdpa_route
from vnicaudit.remedy.planning.cloud.vdpa_node import binding_of, is_vdpa
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.routes import other_backend

_BY_HAND = "Neutron gives a server's NIC what it is connected to: the route is carried out by hand"
_WHY = "it is what was asked for (--to)"
_SO = "it is on vDPA already"


class _Way(NamedTuple):
    """How an operator gets there: what it changes, the steps, what keeps from it and what else to
    know."""

    changes: tuple[Change, ...]
    route: tuple[str, ...]
    blocked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


_VHOST_USER = _Way((), (other_backend("nova", "vhostuser"),))


class BackendPlanner:
    """Plans the NICs of servers that were named for it."""

    def __init__(self, options: PlanOptions) -> None:
        self._options = options

    def plan(self, server: Domain, target: str) -> Iterator[Step | Left]:
        """A step for each NIC that was named."""
        for nic in server.nics:
            if not self._options.converts(nic.mac):
                continue
            to_vdpa = self._options.to == "vdpa"
            if to_vdpa and is_vdpa(server, nic):
                project = gates.ref_of(server).project
                yield Left(_ref(server, nic), target, (), _SO, "nic", project)
            else:
                way = _vdpa(server, nic) if to_vdpa else _VHOST_USER
                yield self._step(server, nic, target, way)

    def _step(self, server: Domain, nic: Nic, target: str, way: _Way) -> Step:
        return Step(
            id="",
            platform="openstack",
            target=target,
            nic=_ref(server, nic),
            owner=server.declared.owner,
            to=self._options.to,
            rules=(),
            changes=way.changes,
            readiness=server.declared.readiness,
            safe=True,
            reason=_WHY,
            running=gates.is_on(server),
            modes=(),
            digest=kept_digest("server", gates.ref_of(server).id, {}),
            diff="",
            blocked=(_BY_HAND, *way.blocked),
            route=way.route,
            notes=way.notes,
            cloud=_part(server, nic),
        )


def _vdpa(server: Domain, nic: Nic) -> _Way:
    now = binding_of(server, nic).vnic_type or None
    checks = tuple(prerequisites(server, nic))
    return _Way(
        (Change("vnic_type", now, "vdpa", safe=True, reason=_WHY),),
        tuple(vdpa_route(server, nic)),
        tuple(_said(one) for one in checks if one.verdict == "missing"),
        (*(_said(one) for one in checks if one.verdict != "missing"), *lost(server)),
    )


def _said(one: Prerequisite) -> str:
    return f"{one.verdict}: {one.text}"


def _part(server: Domain, nic: Nic) -> CloudPart:
    return replace(part_of(server), macs=() if nic.mac is None else (nic.mac,))


def _ref(server: Domain, nic: Nic) -> NicRef:
    return NicRef(server.name, server.uuid, nic.mac, nic.index)
