"""NICs of servers to be moved to another backend: steps that an operator carries out by hand."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import ServerUnit, StepWords, UnitStep
from vnicaudit.model.reasons import Blocked, Reason
from vnicaudit.remedy.planning.backends import REQUESTED
from vnicaudit.remedy.planning.cloud import gates
from vnicaudit.remedy.planning.cloud.unit_step import server_unit, unit_step
from vnicaudit.remedy.planning.cloud.vdpa import prerequisites, vdpa_losses, vdpa_procedure
from vnicaudit.remedy.planning.cloud.vdpa_devices import Prerequisite
from vnicaudit.remedy.planning.cloud.vdpa_node import binding_of, is_vdpa
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.subject import PlanSubject, ProposedChanges

_BY_HAND = Blocked(
    "by-hand",
    "Neutron decides what a server's NIC is connected to: follow the route by hand",
)
_SO = "it is already on vDPA"


class PlannedPort(PlanSubject[ServerUnit]):
    """The NIC of a server that was named for another backend."""

    def __init__(
        self, server: Server, nic: Nic, target: str, options: PlanOptions, wordings: Wordings
    ) -> None:
        self._wordings = wordings
        self._server = server
        self._nic = nic
        self.target = target
        self.about = server.ref_of(nic)
        self.project = server.cloud.project
        self._to = options.to

    def requested_changes(self) -> ProposedChanges:
        """The change for an operator to make: the procedure, its obstacles and notes. Empty if the
        NIC is on that backend already."""
        if self._to != "vdpa":
            procedure = (self._wordings.backend_procedure("nova", "vhostuser"),)
            return ProposedChanges(blocked=(_BY_HAND,), procedure=procedure)
        if is_vdpa(self._server, self._nic):
            return ProposedChanges()
        now = binding_of(self._server, self._nic).vnic_type or None
        checks = tuple(prerequisites(self._server, self._nic))
        missing = (
            Blocked("prerequisite", _text_of(one)) for one in checks if one.verdict == "missing"
        )
        others = (_text_of(one) for one in checks if one.verdict != "missing")
        return ProposedChanges(
            (Change("vnic_type", now, "vdpa", safe=True, reason=REQUESTED),),
            blocked=(_BY_HAND, *missing),
            notes=(*others, *vdpa_losses(self._server)),
            procedure=tuple(vdpa_procedure(self._server, self._nic)),
        )

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """The NIC is on that backend already."""
        if not proposed.blocked:
            yield Reason("already", _SO), ""

    def step(self, proposed: ProposedChanges) -> UnitStep[ServerUnit]:
        """The step that an operator carries out by hand."""
        server = self._server
        words = StepWords(proposed.blocked, proposed.procedure, proposed.notes)
        macs = () if self._nic.mac is None else (self._nic.mac,)
        step = unit_step(
            self, proposed, replace(server_unit(server), macs=macs), words,
            readiness=server.declared.readiness, safe=True, reason=REQUESTED, modes=(),
            running=gates.is_on(server),
        )  # fmt: skip
        return replace(
            step, to=self._to, general=replace(words, procedure=self._any_procedure(proposed))
        )

    def _any_procedure(self, proposed: ProposedChanges) -> tuple[str, ...]:
        """The procedure, worded for any port."""
        if self._to != "vdpa":
            return proposed.procedure
        nic = replace(self._nic, mac=self._nic.mac and "MAC")
        return tuple(vdpa_procedure(gates.any_server(self._server), nic))


def _text_of(one: Prerequisite) -> str:
    return f"{one.verdict}: {one.text}"
