"""Names of interfaces in running guests, from their agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vnicaudit.errors import ActionError, TargetError
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.guest.agent import GuestAgent, by_mac
from vnicaudit.remedy.hypervisor import Hypervisor
from vnicaudit.remedy.planning.source import Source

_SECONDS = 30.0
"""Time for all guests of a target together: a guest that does not answer costs a few seconds."""


AskNames = Callable[[Source], Mapping[str, str]]
"""MAC -> name of the interface, from the guest's agent; empty if it was not asked."""


class AgentNames:
    """Asks guests of live hosts. libvirt does not allow that on a read-only connection, so a second
    connection is opened for it; a host that refuses that one has no names."""

    def __init__(self, adapters: Adapters, deadline: float) -> None:
        self._connect = adapters.connect
        self._clock = adapters.clock
        self._deadline = deadline
        self._hosts: dict[str, Hypervisor | None] = {}
        self._left: dict[str, float] = {}

    def __call__(self, source: Source) -> Mapping[str, str]:
        """MAC -> name; empty if the guest does not run, or does not answer."""
        state = source.running.state
        uuid = source.domain.uuid
        if state is None or not state.active or not state.agent or uuid is None:
            return {}
        host = self._host(source.target)
        if host is None or self._left.setdefault(source.target, _SECONDS) <= 0:
            return {}
        began = self._clock.monotonic()
        try:
            found = by_mac(GuestAgent(host.machine(uuid), self._clock).interfaces())
        except ActionError:
            return {}
        finally:
            self._left[source.target] -= self._clock.monotonic() - began
        return {mac: interface.name for mac, interface in found.items()}

    def close(self) -> None:
        """Disconnect from all hosts."""
        for host in self._hosts.values():
            if host is not None:
                host.close()

    def _host(self, target: str) -> Hypervisor | None:
        if target not in self._hosts:
            try:
                self._hosts[target] = self._connect(target, deadline=self._deadline)
            except (ActionError, TargetError):
                self._hosts[target] = None
        return self._hosts[target]


class InterfaceNames:
    """Names of interfaces by guest: each guest is asked once for all its NICs."""

    def __init__(self, ask: AskNames) -> None:
        self._ask = ask
        self._told: tuple[Source | None, Mapping[str, str]] = (None, {})

    def of(self, source: Source) -> Mapping[str, str]:
        """MAC -> name, for the NICs of that guest."""
        if self._told[0] is not source:
            self._told = (source, self._ask(source))
        return self._told[1]


def no_names(source: Source) -> Mapping[str, str]:
    """No names."""
    del source
    return {}
