"""NICs of servers that are to be on another backend: steps that an operator carries out by hand."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change, NicRef
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import CloudPart, Left, Step
from vnicaudit.remedy.digests import kept_digest
from vnicaudit.remedy.planning.cloud import gates
from vnicaudit.remedy.planning.cloud.vdpa import binding_of, lost, prerequisites, vdpa_route
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.routes import other_backend

_BY_HAND = "Neutron gives a server's NIC what it is connected to: the route is carried out by hand"
_WHY = "it is what was asked for (--to)"
_SO = "it is on vDPA already"


class BackendPlanner:
    """Plans the NICs of servers that were named for it."""

    def __init__(self, options: PlanOptions) -> None:
        self._options = options

    def plan(self, server: Domain, target: str) -> Iterator[Step | Left]:
        """A step for each NIC that was named."""
        for nic in server.nics:
            if not self._options.converts(nic.mac):
                continue
            if self._options.to == "vdpa" and _is_vdpa(server, nic):
                project = gates.ref_of(server).project
                yield Left(_ref(server, nic), target, (), _SO, "nic", project)
            else:
                yield self._step(server, nic, target)

    def _step(self, server: Domain, nic: Nic, target: str) -> Step:
        vdpa = self._options.to == "vdpa"
        checks = tuple(prerequisites(server, nic)) if vdpa else ()
        ref, now = gates.ref_of(server), binding_of(server, nic).vnic_type or None
        change = Change("vnic_type", now, "vdpa", safe=True, reason=_WHY)
        return Step(
            id="",
            platform="openstack",
            target=target,
            nic=_ref(server, nic),
            owner=server.declared.owner,
            to=self._options.to,
            rules=(),
            changes=(change,) if vdpa else (),
            readiness=server.declared.readiness,
            safe=True,
            reason=_WHY,
            running=gates.is_on(server),
            modes=(),
            digest=kept_digest("server", ref.id, {}),
            diff="",
            blocked=(
                _BY_HAND,
                *(f"missing: {one.text}" for one in checks if one.verdict == "missing"),
            ),
            route=tuple(vdpa_route(server, nic)) if vdpa else (other_backend("nova", "vhostuser"),),
            notes=(
                *(f"{one.verdict}: {one.text}" for one in checks if one.verdict != "missing"),
                *(lost(server) if vdpa else ()),
            ),
            cloud=CloudPart(
                "server", {}, {}, ref.project, ref.host, ref.zone, ref.groups,
                () if nic.mac is None else (nic.mac,),
            ),
        )  # fmt: skip


def _is_vdpa(server: Domain, nic: Nic) -> bool:
    return nic.declared.type == "vdpa" or binding_of(server, nic).vnic_type == "vdpa"


def _ref(server: Domain, nic: Nic) -> NicRef:
    return NicRef(server.name, server.uuid, nic.mac, nic.index)
