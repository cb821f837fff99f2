"""The image properties that Nova stores for a server: read, compare and set them.

They are read from the API where it reports them (microversion 2.98), else by ``nova-manage``; both
are ``system_metadata`` of the instance (``_get_image`` in
nova/api/openstack/compute/views/servers.py, ``show`` in nova/cmd/manage.py; Nova 34.0.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from vnicaudit.base.wording import count
from vnicaudit.errors import ActionError, GoneError, NoResponseError
from vnicaudit.knowledge.fixes.nova import way_on
from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import FLAVOR_WORDS, MODEL, MULTIQUEUE, as_flag, normal_vif_model
from vnicaudit.model.runs import Check, ServerState, Verdict
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.remedy.applying.clouds.nova_manage import (
    HalfSetError,
    Manage,
    NodeDomain,
    NotSetError,
    doubtful,
    unseen,
)
from vnicaudit.remedy.applying.clouds.transaction import (
    CloudPlace,
    CloudTransaction,
    CloudWork,
    ServerBefore,
)
from vnicaudit.remedy.applying.domains.checks import DomainChecks
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DomainPlace,
    GuestBefore,
    nic_of,
)
from vnicaudit.remedy.applying.driver import CheckResults, verify, wait_until
from vnicaudit.remedy.applying.journal.events import HalfSet, NotSet, Properties, Set, Setting
from vnicaudit.remedy.applying.journal.journal_file import seconds_since
from vnicaudit.remedy.hypervisor import Cloud

# The state of a server, asked for again while its cloud does not answer.


POLL = 1.0
STILL = 5.0
"""Seconds after which a server that shows no sign of a requested action is taken not to do it. Nova
records a request before it answers (``task_state`` in nova/compute/api.py), but a request that was
cut off may arrive late, and a replica of its database may lag."""

Phase = Literal["on", "off", "shelved", "error", "busy", "other"]
_PHASES: dict[str, Phase] = {
    "active": "on", "stopped": "off", "shelved": "shelved", "shelved_offloaded": "shelved",
    "error": "error", "shutoff": "off",
}  # fmt: skip

_DELETED = ("SOFT_DELETED", "DELETED")
"""Values of ``status``: nova/api/openstack/common.py (Nova 34.0.0)."""


def phase(state: ServerState) -> Phase:
    """The power phase of a server; ``busy`` while Nova is at work on it."""
    if state.task_state is not None:
        return "busy"
    return _PHASES.get((state.vm_state or state.status).lower(), "other")


def not_deleted(state: ServerState, target: str) -> ServerState:
    """The server's ``state``, unchanged. Raises GoneError if the server is deleted and Nova will
    only remove it later (``reclaim_instance_interval``)."""
    if state.status in _DELETED:
        raise GoneError(
            f"it is deleted ({state.status}; while it is not removed, "
            f"{way_on('SOFT_DELETED', state.id, target)} brings it back)"
        )
    return state


def current_server(work: CloudWork) -> ServerState:
    """The present state of the server, asked for as long as its guest may be down. Raises as
    :func:`read_server` does."""
    return read_server(work.place, work.transaction, work.limits.guest_deadline)


def read_server(place: CloudPlace, transaction: CloudTransaction, patience: float) -> ServerState:
    """The present state of the server. A cloud that does not answer, maybe because it is being
    restarted, is asked again for ``patience`` seconds. Raises NoResponseError after that, GoneError
    if the server was deleted."""
    clock = place.adapters.clock
    end = clock.monotonic() + patience
    while True:
        try:
            return not_deleted(place.cloud.server(transaction.id), transaction.target)
        except NoResponseError:
            if clock.monotonic() > end:
                raise
        clock.sleep(STILL)


def follow(work: CloudWork, wanted: Phase, *, still: float = STILL) -> ServerState:
    """The server once it has reached the wanted phase, once Nova has stopped working on it without
    reaching it, or when the guest's time is up."""
    end = work.clock.monotonic() + work.limits.guest_deadline
    since: float | None = None
    while True:
        state = current_server(work)
        now = phase(state)
        if now == wanted:
            return state
        moment = work.clock.monotonic()
        if now == "busy":
            since = None
        elif since is None:
            since = moment
        if moment > end or (since is not None and moment - since >= still):
            return state
        work.clock.sleep(POLL)


_LANDS_SECONDS = 20.0
"""How long a guest that is off waits for a nova-manage with unknown result: on an idle controller
it has set the properties within four seconds. The rest of ``Limits.manage_seconds`` is waited for
after the guest is running again."""
_WATCH_SECONDS = 15.0
_TRIES = 2
"""How often a set may end with an unknown result."""


class ForeignError(ActionError):
    """The stored properties were set by somebody else: they are neither as before nor as
    planned."""

    def __init__(self, what: str) -> None:
        super().__init__(f"somebody else changed it in the meantime: {what}; their change was kept")


def means_the_same(name: str, one: str | None, other: str | None) -> bool:
    """True if two values of the property ``name`` mean the same to Nova. An unset flag is off."""
    if name in FLAVOR_WORDS:
        return as_flag(one or "") == as_flag(other or "")
    if name == MODEL and one is not None and other is not None:
        return normal_vif_model(one) == normal_vif_model(other)
    return one == other


def differing(now: Mapping[str, str | None], wanted: Mapping[str, str | None]) -> str:
    """The properties that differ from those wanted, as text (``NAME is X, not Y``); empty: none."""
    return ", ".join(
        f"{name} is {_value_words(now.get(name))}, not {_value_words(value)}"
        for name, value in wanted.items()
        if not means_the_same(name, now.get(name), value)
    )


def current(state: ServerState, manage: Manage, names: Iterable[str]) -> Properties:
    """The stored values of these properties; an empty value counts as not set, as in nova-manage.
    Raises ActionError if they cannot be read."""
    if state.stored_properties is not None:
        return {name: state.stored_properties.get(name) or None for name in names}
    return {name: manage.show(state.id, name) for name in names}


def read_stored(work: CloudWork) -> Properties:
    """The stored values, as of now, of the properties that the transaction changes. Raises
    ActionError, NoResponseError."""
    return current(current_server(work), work.place.manage, work.transaction.goal)


def is_ours(work: CloudWork, now: Properties) -> bool:
    """True if each property has its value from before the transaction, its goal, or the value that
    a rollback gives it."""
    transaction = work.transaction
    known = (transaction.before, transaction.goal, transaction.back)
    return all(
        any(means_the_same(name, now[name], of.get(name)) for of in known)
        for name in transaction.goal
    )


def is_missing(work: CloudWork, now: Properties, wanted: Properties) -> bool:
    """True if the properties have to be set: they differ from ``wanted``, or may be half set. If
    this transaction has set nothing yet, the doubt may come from an earlier run."""
    if differing(now, wanted):
        return True
    doubts = doubtful(work.notes.entries())
    if doubts is None:
        return work.transaction.again and wanted == work.transaction.goal
    return any(not differing(one, wanted) for one in doubts)


def store(work: CloudWork, wanted: Properties) -> None:
    """Have Nova store these properties of a server that is off; does nothing if they are stored
    already. Raises ForeignError, and ActionError if nova-manage did not end with 0: of its two
    writes, only the first can be read."""
    now = read_stored(work)
    if not is_missing(work, now, wanted):
        return
    if not is_ours(work, now):
        raise ForeignError(differing(now, work.transaction.before))
    work.tell("setting " + ", ".join(f"{name}={value}" for name, value in wanted.items()))
    _set_with_retry(work, wanted)
    if missing := differing(read_stored(work), wanted):
        raise ActionError(f"nova-manage set it, but Nova did not store it: {missing}")


def settle(work: CloudWork) -> None:
    """Wait for a nova-manage with unknown result: it may still be running on the controller, and
    set the property after everything was restored. Raises ActionError if that cannot be
    determined."""
    found = unseen(work.notes.entries())
    if not found:
        return
    last, wanted = found[-1].line, found[-1].properties
    left = min(_LANDS_SECONDS, work.limits.manage_seconds) - seconds_since(last)
    wait_until(work.clock, lambda: not differing(read_stored(work), wanted), left, POLL)


def came_late(work: CloudWork) -> str:
    """The restored properties that a nova-manage with unknown result has changed after all, as
    text; empty if there are none and no further change is possible. Raises ActionError if that
    cannot be determined."""
    back = work.transaction.back
    found = [one for one in unseen(work.notes.entries()) if differing(one.properties, back)]
    if not found:
        return ""
    work.tell("waiting for a nova-manage call with unknown result")
    left = work.limits.manage_seconds - seconds_since(found[-1].line)
    wait_until(work.clock, lambda: bool(differing(read_stored(work), back)), left, _WATCH_SECONDS)
    late = differing(read_stored(work), back)
    return f"a nova-manage call with unknown result took effect later: {late}" if late else ""


def _set_with_retry(work: CloudWork, wanted: Properties) -> None:
    """Set the properties, and once more if the result is unknown: setting them twice does no
    harm."""
    for left in reversed(range(_TRIES)):
        try:
            work.place.manage.set_properties(
                work.transaction.id, wanted, lambda: work.notes.write(Setting(wanted))
            )
        except NoResponseError:
            raise
        except NotSetError:
            work.notes.write(NotSet())
            raise
        except ActionError as error:
            if isinstance(error, HalfSetError):
                work.notes.write(HalfSet())
            if not left:
                raise
        else:
            work.notes.write(Set())
            return


def _value_words(value: str | None) -> str:
    return "not set" if value is None else value[:60]


# Checks of a server, made with Nova, Neutron and, where it can be reached, the hypervisor.
#
# Everything that was present before the change must be present again. A check that cannot be made
#   is
# *unknown*, and says what would show its result.


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
        runs = phase(self._state()) == "on"
        return self.results().checks if runs else self.of_stored_properties()

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
            missing = differing(current(state, self._place.manage, goal), goal)
        except NoResponseError:
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
    except NoResponseError:
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
    except NoResponseError:
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
        domain = definitions.definition_of(live, node.host.uri)
        yield from (_queues(domain, one.mac) for one in transaction.nic_changes)


def _queues(domain: Domain, mac: str) -> Check:
    nic = nic_of(domain, mac)
    queues = None if nic is None else nic.declared.queues
    if queues is not None and queues > 1:
        return Check("queues", "ok", f"{mac} has {queues} queue pairs")
    why = "it gives none to a guest with fewer than two vCPUs, and none if virt_type is not kvm"
    return Check("queues", "unknown", f"Nova gave {mac} no queues: {why}")
