"""Checks of a server, made with Nova, Neutron and, where it can be reached, the hypervisor.

Everything that was present before the change must be present again. A check that cannot be made is
*unknown*, and says what would show its result.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.errors import ActionError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import as_flag
from vnicaudit.model.runs import Check, Verdict
from vnicaudit.model.server import MULTIQUEUE
from vnicaudit.remedy.applying.clouds import stored_properties
from vnicaudit.remedy.applying.clouds.nodes import NodeDomain
from vnicaudit.remedy.applying.clouds.server_state import POLL, phase, read_server
from vnicaudit.remedy.applying.clouds.transaction import CloudTransaction, ServerBefore
from vnicaudit.remedy.applying.clouds.work import CloudPlace, CloudWork
from vnicaudit.remedy.applying.domains.checks import DomainChecks
from vnicaudit.remedy.applying.domains.definition_transactions import GuestBefore, nic_of
from vnicaudit.remedy.applying.domains.place import DomainPlace
from vnicaudit.remedy.applying.verifying import CheckResults, verify
from vnicaudit.remedy.cloud import Cloud

_NO_PACKETS = (
    "Nova reports no packet counts: this user may not ask for diagnostics, or the compute node "
    "is too old to report them"
)
_RUNNING = (None, 0, 1)
"""``power_state``: not reported, unknown, running (nova/compute/power_state.py)."""


def server_before(cloud: Cloud, server_id: str) -> ServerBefore:
    """The state of a running server before its change, as far as Nova and Neutron report it."""
    sent = cloud.packets_sent(server_id) or {}
    ports = tuple(port.id for port in cloud.ports(server_id) if port.status == "ACTIVE")
    return ServerBefore(ports, {mac: bool(number) for mac, number in sent.items()})


def verify_server(work: CloudWork) -> tuple[Check, ...]:
    """The results of every check, once all pass or the guest's time is up; for a server that is to
    stay off, only the stored properties are checked."""
    checks = ServerChecks(work.place, work.transaction, work.limits.guest_deadline)
    return (
        verify(work, checks.results, POLL)
        if work.transaction.active
        else checks.of_stored_properties()
    )


class ServerChecks:
    """The checks of a server after its change. ``patience``: seconds for which a cloud that does
    not answer is asked again."""

    def __init__(
        self, place: CloudPlace, transaction: CloudTransaction, patience: float = 0.0
    ) -> None:
        self._place = place
        self._task = transaction
        self._patience = patience
        self._stored_checks: tuple[Check, ...] = ()

    def current(self) -> tuple[Check, ...]:
        """The results of every check now; for a server that does not run, only of the stored
        properties."""
        state = self._state()
        return self.results().checks if phase(state) == "on" else tuple(self._stored(state))

    def of_stored_properties(self) -> tuple[Check, ...]:
        """The checks of the properties that Nova stores for the server, and no others. Raises as
        :func:`read_server` does."""
        return tuple(self._stored(self._state()))

    def results(self) -> CheckResults:
        """The results of every check now. The checks are over if the server will not recover by
        itself."""
        state = self._state()
        if phase(state) not in ("on", "busy"):
            detail = f"the server is {state.status}: it did not stay up"
            return CheckResults((Check("server", "failed", detail),), over=True)
        return CheckResults(tuple(self._checks(state)))

    def _state(self) -> ServerState:
        return read_server(self._place, self._task, self._patience)

    def _checks(self, state: ServerState) -> Iterator[Check]:
        runs = phase(state) == "on" and state.power_state in _RUNNING
        detail = "" if runs else f"the server is {state.status}, but its guest is not running"
        yield Check("server", "ok" if runs else "failed", detail or "the server is ACTIVE")
        yield from self._stored(state)
        yield from _ports(self._place.cloud, self._task)
        yield from self._device(state)

    def _device(self, state: ServerState) -> Iterator[Check]:
        """Checks of the server's NICs on its hypervisor; where that cannot be reached, one
        *unknown* check, and checks of the packet counts that Nova reports."""
        try:
            node = self._place.nodes.of(state)
            if self._task.nic_changes:
                yield from tuple(_domain(self._place, self._task, node))
                return
            why = "it could not be checked before the change either"
        except ActionError as error:
            why = str(error)
        yield Check("device", "unknown", why)
        yield from _traffic(self._place.cloud, self._task)

    def _stored(self, state: ServerState) -> Iterator[Check]:
        """The check that Nova stores the properties as wanted. Where nova-manage has to read them,
        they are read once only."""
        if state.stored_properties is None and self._stored_checks:
            yield from self._stored_checks
            return
        goal = self._task.goal
        try:
            missing = stored_properties.differing(
                stored_properties.current(state, self._place.manage, goal), goal
            )
        except SilentError:
            raise
        except ActionError as error:
            self._stored_checks = (Check("kept", "unknown", str(error)),)
        else:
            words = ", ".join(f"{name}={value}" for name, value in goal.items())
            detail = missing or f"Nova keeps {words} for it"
            self._stored_checks = (Check("kept", "failed" if missing else "ok", detail),)
        yield from self._stored_checks


def _ports(cloud: Cloud, transaction: CloudTransaction) -> Iterator[Check]:
    had = transaction.server_before.ports
    if not had:
        return
    try:
        ports = {port.id: port for port in cloud.ports(transaction.id)}
    except SilentError:
        raise
    except ActionError as error:
        yield Check("ports", "unknown", str(error))
        return
    down = [
        f"port {name} is {ports[name].status if name in ports else 'gone'}"
        for name in had
        if name not in ports or ports[name].status != "ACTIVE"
    ]
    words = f"{count(len(had), 'port')} {'are' if len(had) > 1 else 'is'} ACTIVE, as before"
    yield Check("ports", "failed" if down else "ok", "; ".join(down) or words)


def _traffic(cloud: Cloud, transaction: CloudTransaction) -> Iterator[Check]:
    """The check of the packets that Nova has counted from the guest since it was started."""
    before = transaction.server_before.sent
    try:
        sent = cloud.packets_sent(transaction.id)
    except SilentError:
        raise
    except ActionError:
        sent = None
    if sent is None:
        yield Check("traffic", "unknown", _NO_PACKETS)
        return
    for mac in before or sent:
        if number := sent.get(mac):
            yield Check("traffic", "ok", f"{mac} has sent {number} packets")
        else:
            verdict: Verdict = "failed" if before.get(mac) else "unknown"
            yield Check("traffic", verdict, f"{mac} has sent no packet yet")


def _domain(place: CloudPlace, transaction: CloudTransaction, node: NodeDomain) -> Iterator[Check]:
    """Checks of the server's domain on its hypervisor and of the guest's agent, as for any domain;
    with multiqueue set, also of each NIC's queues."""
    domain_place = DomainPlace(node.host, node.machine, place.adapters)
    before = transaction.server_before.domain or GuestBefore()
    yield from (
        DomainChecks(domain_place, transaction.nic_changes, before, hot=False).results().checks
    )
    if as_flag(transaction.goal.get(MULTIQUEUE) or ""):
        live = node.machine.live()
        domain = place.adapters.texts.reading.definition_of(live, node.host.uri)
        yield from (_queues(domain, one.mac) for one in transaction.nic_changes)


def _queues(domain: Domain, mac: str) -> Check:
    nic = nic_of(domain, mac)
    queues = None if nic is None else nic.declared.queues
    if queues is not None and queues > 1:
        return Check("queues", "ok", f"{mac} has {queues} queue pairs")
    why = "it gives none to a guest with fewer than two vCPUs, and none if virt_type is not kvm"
    return Check("queues", "unknown", f"Nova gave {mac} no queues: {why}")
