"""Did it help? Asked of Nova, of Neutron, and of the hypervisor where it can be reached.

What was there before must be there again. What cannot be looked at is *unknown*, with what would
tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import ActionError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import as_flag
from vnicaudit.model.runs import Check, Verdict
from vnicaudit.model.server import MULTIQUEUE
from vnicaudit.remedy.applying import verify as domains
from vnicaudit.remedy.applying.clouds import kept
from vnicaudit.remedy.applying.clouds.means import POLL, CloudMeans, look, phase
from vnicaudit.remedy.applying.clouds.nodes import Node
from vnicaudit.remedy.applying.clouds.task import Shown
from vnicaudit.remedy.applying.means import wait_until
from vnicaudit.remedy.applying.task import Baseline, Task, nic_of
from vnicaudit.remedy.cloud import Cloud
from vnicaudit.remedy.definitions import reading

_NO_PACKETS = (
    "Nova tells of no packets: this user may not ask for diagnostics, or the compute node is too "
    "old to give them"
)
_RUNNING = (None, 0, 1)
"""``power_state``: not told, not known, running (nova/compute/power_state.py)."""


def shown_by(cloud: Cloud, server_id: str) -> Shown:
    """What a running server shows now, of what Nova and Neutron can tell."""
    sent = cloud.sent(server_id) or {}
    ports = tuple(port.id for port in cloud.ports(server_id) if port.status == "ACTIVE")
    return Shown(ports, {mac: bool(count) for mac, count in sent.items()})


def verify(means: CloudMeans) -> tuple[Check, ...]:
    """Every check, when all is well or the guest's time is up; of a server that is to be off, what
    is kept alone."""
    checker = _Checker(means)
    if not means.task.active:
        return tuple(checker.kept(look(means)))
    wait_until(checker.settled, means.limits.guest_deadline, POLL)
    return checker.checks


def looked_at(means: CloudMeans) -> tuple[Check, ...]:
    """Every check, as it is now; of a server that does not run, what is kept alone."""
    checker = _Checker(means)
    state = look(means)
    if phase(state) != "on":
        return tuple(checker.kept(state))
    checker.settled()
    return checker.checks


class _Checker:
    """Looks again and again until nothing is missing any more."""

    def __init__(self, means: CloudMeans) -> None:
        self._means = means
        self._kept: tuple[Check, ...] = ()
        self.checks: tuple[Check, ...] = ()

    def settled(self) -> bool:
        """Whether all is as it should be; looks once more. What will not come back by itself is
        not waited for."""
        state = look(self._means)
        if phase(state) not in ("on", "busy"):
            detail = f"the server is {state.status}: it did not stay up"
            self.checks = (Check("server", "failed", detail),)
            return True
        self.checks = tuple(self._look(state))
        return not domains.failed(self.checks)

    def _look(self, state: ServerState) -> Iterator[Check]:
        runs = phase(state) == "on" and state.power_state in _RUNNING
        detail = "" if runs else f"the server is {state.status}, and its guest does not run"
        yield Check("server", "ok" if runs else "failed", detail or "the server is ACTIVE")
        yield from self.kept(state)
        yield from _ports(self._means)
        yield from self._device(state)

    def _device(self, state: ServerState) -> Iterator[Check]:
        """What the hypervisor shows; where it cannot be asked, what Nova tells of packets."""
        try:
            node = self._means.nodes.of(state)
            why = node if isinstance(node, str) else "it could not be looked at before either"
            if isinstance(node, Node) and self._means.task.wanted:
                yield from tuple(_domain(self._means, node))
                return
        except ActionError as error:
            why = str(error)
        yield Check("device", "unknown", why)
        yield from _traffic(self._means)

    def kept(self, state: ServerState) -> Iterator[Check]:
        """What Nova keeps is as wanted. Asked once where nova-manage has to be asked."""
        if state.kept is None and self._kept:
            yield from self._kept
            return
        goal = self._means.task.goal
        try:
            missing = kept.differing(kept.current(state, self._means.manage, goal), goal)
        except SilentError:
            raise
        except ActionError as error:
            self._kept = (Check("kept", "unknown", str(error)),)
        else:
            words = ", ".join(f"{name}={value}" for name, value in goal.items())
            detail = missing or f"Nova keeps {words} for it"
            self._kept = (Check("kept", "failed" if missing else "ok", detail),)
        yield from self._kept


def _ports(means: CloudMeans) -> Iterator[Check]:
    had = means.task.shown.ports
    if not had:
        return
    try:
        ports = {port.id: port for port in means.cloud.ports(means.task.id)}
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
    words = f"{len(had)} port{'s are' if len(had) > 1 else ' is'} ACTIVE, as before"
    yield Check("ports", "failed" if down else "ok", "; ".join(down) or words)


def _traffic(means: CloudMeans) -> Iterator[Check]:
    """Packets of the guest, as Nova counts them since it was started."""
    before = means.task.shown.sent
    try:
        sent = means.cloud.sent(means.task.id)
    except SilentError:
        raise
    except ActionError:
        sent = None
    if sent is None:
        yield Check("traffic", "unknown", _NO_PACKETS)
        return
    for mac in before or sent:
        if count := sent.get(mac):
            yield Check("traffic", "ok", f"{mac} has sent {count} packets")
        else:
            verdict: Verdict = "failed" if before.get(mac) else "unknown"
            yield Check("traffic", verdict, f"{mac} has sent no packet yet")


def _domain(means: CloudMeans, node: Node) -> Iterator[Check]:
    """What the hypervisor shows, and the guest's agent, as of any domain."""
    task = means.task
    about = Task(
        task.key, task.name, node.host.uri, task.steps, task.wanted, "restart", "", "", task.id,
        active=True, baseline=task.shown.domain or Baseline(),
    )  # fmt: skip
    yield from domains.looked_at(domains.Watched(node.host, node.machine, about))
    if as_flag(task.goal.get(MULTIQUEUE) or ""):
        domain = reading().definition_of(node.machine.live(), node.host.uri)
        yield from (_queues(domain, one.mac) for one in task.wanted)


def _queues(domain: Domain, mac: str) -> Check:
    nic = nic_of(domain, mac)
    queues = None if nic is None else nic.declared.queues
    if queues is not None and queues > 1:
        return Check("queues", "ok", f"{mac} has {queues} queue pairs")
    why = "it gives none below two vCPUs, and none where virt_type is not kvm"
    return Check("queues", "unknown", f"Nova gave {mac} no queues: {why}")
