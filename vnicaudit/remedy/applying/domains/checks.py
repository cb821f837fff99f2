"""Checks of a running domain; its definition alone proves nothing.

Everything that was present before the change must be present again: an agent that answered,
addresses, packets. A check that cannot be made from here is *unknown*, and says what would show its
result.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.base.deadlines import Clock
from vnicaudit.base.wording import count
from vnicaudit.errors import ActionError, GuestError, NoResponseError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.host import GuestInterface
from vnicaudit.model.nic import Nic, NicConfig, RunningNic
from vnicaudit.model.plan import Mode
from vnicaudit.model.runs import Check, Verdict
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DomainPlace,
    DomainWork,
    GuestBefore,
    nic_of,
    unmet,
)
from vnicaudit.remedy.applying.driver import CheckResults, verify
from vnicaudit.remedy.applying.journal.events import NicChanges
from vnicaudit.remedy.guest.agent import GuestAgent, by_mac
from vnicaudit.remedy.hypervisor import Machine, RunningProcess
from vnicaudit.remedy.replacing import UnitRefusedError

_TAP = ("network", "bridge", "ethernet", "direct")
_NETDEV = {**dict.fromkeys(_TAP, "tap"), "vdpa": "vhost-vdpa", "vhostuser": "vhost-user"}
"""Actual interface type -> QEMU's word for the netdev of such a NIC (qemuBuildHostNetProps in
libvirt's qemu_command.c)."""


def guest_before(
    machine: Machine, macs: tuple[str, ...], mode: Mode, clock: Clock, *, active: bool
) -> GuestBefore:
    """The state of a running guest before its change: its addresses by MAC, the NICs that have sent
    packets, and whether its agent answers; empty if the guest is off or will not be interrupted.
    Raises RefusedError if a hot swap needs its agent and none answers."""
    if not active or mode == "next-boot":
        return GuestBefore()
    agent = GuestAgent(machine, clock)
    live = definitions.definition_of(machine.live(), "")
    sent = {mac: bool(_packets_sent(machine, nic_of(live, mac))) for mac in macs}
    if not agent.answers():
        if mode == "hotswap":
            raise UnitRefusedError(
                "no guest agent answers, so the guest's IP addresses could not be restored; "
                "restart it instead (--mode restart)",
                "agent",
            )
        return GuestBefore(sent=sent)
    try:
        seen = by_mac(agent.interfaces())
    except GuestError:
        return GuestBefore(agent=True, sent=sent)
    addresses = {mac: seen[mac].addresses for mac in macs if mac in seen}
    return GuestBefore(agent=True, addresses=addresses, sent=sent)


def verify_domain(work: DomainWork) -> tuple[Check, ...]:
    """The results of every check, once all pass or the guest's time is up."""
    transaction = work.transaction
    if not transaction.active:
        return ()
    hot = transaction.mode == "hotswap"
    checks = DomainChecks(work.place, transaction.nic_changes, transaction.guest_before, hot=hot)
    return verify(work, checks.results)


class DomainChecks(NamedTuple):
    """The checks of a domain that is to run with ``nic_changes``. ``hot``: the NICs were
    exchanged while it ran."""

    place: DomainPlace
    nic_changes: tuple[NicChanges, ...]
    before: GuestBefore
    hot: bool

    def results(self) -> CheckResults:
        """The results of every check now; the checks are over for a domain that is off."""
        checks = tuple(self._checks())
        off = any((check.name, check.verdict) == ("runs", "failed") for check in checks)
        return CheckResults(checks, over=off)

    def _checks(self) -> Iterator[Check]:
        host, machine, adapters, _ = self.place
        if not machine.state().active:
            yield Check("runs", "failed", "the domain is off: it did not stay up")
            return
        live = definitions.definition_of(machine.live(), host.uri)
        missing = unmet(live, self.nic_changes)
        yield _check("device", not missing, "; ".join(missing), "the device is as planned")
        seen = self._agent()
        yield from seen.checks
        process = adapters.machine.running_process(machine.uuid) if host.local else None
        for one in self.nic_changes:
            nic = nic_of(live, one.mac)
            if nic is None:
                continue
            yield from _process(one, nic, live, process, hot=self.hot)
            inside = seen.interfaces.get(one.mac)
            yield from _guest(one.mac, self.before, inside, asked=seen.answered)
            if nic.declared.link_state == "down":
                yield Check("link", "ok", f"the link of {one.mac} is set down, as it was")
            yield self._traffic(one.mac, nic, well=inside is not None)

    def _agent(self) -> _AgentView:
        if not self.before.agent:
            return _AgentView({}, answered=False, checks=())
        try:
            found = by_mac(self.place.agent.interfaces())
        except NoResponseError:
            raise
        except ActionError as error:
            return _AgentView({}, answered=False, checks=(Check("agent", "failed", str(error)),))
        return _AgentView(found, answered=True, checks=(Check("agent", "ok", "the agent answers"),))

    def _traffic(self, mac: str, nic: Nic, *, well: bool) -> Check:
        sent = _packets_sent(self.place.machine, nic)
        if sent is None:
            return Check("traffic", "unknown", f"the host has no packet counter for {mac}")
        if sent and not well and nic.declared.boot_order is not None:
            detail = f"{mac} has sent {sent} packets, perhaps while trying to boot from the network"
            return Check("traffic", "unknown", detail)
        if sent:
            return Check("traffic", "ok", f"{mac} has sent {sent} packets")
        detail = f"{mac} has sent no packet yet"
        expected = self.before.sent.get(mac, False) and not well
        return Check("traffic", "failed" if expected else "unknown", detail)


class _AgentView(NamedTuple):
    """The interfaces that the guest's agent reports, by MAC. ``answered``: the agent was asked and
    answered."""

    interfaces: dict[str, GuestInterface]
    answered: bool
    checks: tuple[Check, ...]


def _guest(
    mac: str, before: GuestBefore, inside: GuestInterface | None, *, asked: bool
) -> Iterator[Check]:
    if not asked:
        return
    if inside is None:
        yield Check(
            "guest", "failed", (f"the guest has no interface with {mac}: does it have the driver?")
        )
        return
    yield Check("guest", "ok", f"the guest calls it {inside.name}")
    had = [address for address in before.addresses.get(mac, ()) if _lasting(address)]
    if not had:
        return
    back = [address for address in had if address in inside.addresses]
    others = [address for address in inside.addresses if _lasting(address)]
    detail = f"{mac} has {', '.join(inside.addresses) or 'no address'}; it had {', '.join(had)}"
    yield _check("address", bool(back or others), detail, f"{mac} has {', '.join(back or others)}")


def _process(
    wanted: NicChanges, nic: Nic, domain: Domain, process: RunningProcess | None, *, hot: bool
) -> Iterator[Check]:
    """Checks of a NIC against QEMU's arguments and open descriptors."""
    if process is None:
        yield Check("qemu", "unknown", "QEMU's process is not visible from here")
        return
    if not hot:  # the command line shows only what QEMU was started with
        yield _on_command_line(wanted.mac, nic.declared, process)
    if _may_have_vhost(nic) and domain.declared.type == "kvm":
        queues = sum(one.declared.queues or 1 for one in domain.nics if _may_have_vhost(one))
        yield _vhost(wanted, process, queues)


def _on_command_line(mac: str, declared: NicConfig, process: RunningProcess) -> Check:
    found, model = _running(process.nics, mac), declared.model
    if found is None:
        return Check("qemu", "unknown", f"{mac} is not on QEMU's command line")
    backend = _NETDEV.get(declared.actual_type or "")
    on = f" on {found.backend}" if found.backend else ""
    detail = f"QEMU runs {found.driver}{on} for {mac}"
    if model is not None and (found.model in VIRTIO) != (model in VIRTIO):
        return Check("qemu", "failed", f"{detail}, not {model}")
    same = backend is None or found.backend in (None, backend)
    return _check("qemu", same, f"{detail}, not on {backend}", detail)


def _may_have_vhost(nic: Nic) -> bool:
    """True if vhost-net may carry the NIC's packets, provided the domain uses KVM."""
    given = nic.declared
    return given.model in VIRTIO and given.actual_type in _TAP and given.driver_name != "qemu"


def _vhost(wanted: NicChanges, process: RunningProcess, queues: int) -> Check:
    """``queues``: the queues of all NICs of the domain that may use vhost-net. QEMU opens it once
    for each."""
    found = process.vhost_files
    if found is None:
        return Check("vhost", "unknown", "QEMU's open descriptors are not visible")
    detail = f"QEMU holds {count(found, 'descriptor')} of /dev/vhost-net"
    if found >= queues:
        return Check("vhost", "ok", detail)
    asked = any(c.field == "driver_name" and c.new == "vhost" for c in wanted.changes)
    detail = f"{detail}, for {queues} queues" if found else "QEMU holds no /dev/vhost-net"
    return Check("vhost", "failed" if asked else "unknown", detail)


def _running(nics: tuple[RunningNic, ...], mac: str) -> RunningNic | None:
    found = [nic for nic in nics if nic.mac == mac]
    return found[-1] if len(found) == 1 else None


def _packets_sent(machine: Machine, nic: Nic | None) -> int | None:
    if nic is None or nic.target_dev is None:
        return None
    traffic = machine.traffic(nic.target_dev)
    return None if traffic is None else traffic.sent


def _lasting(address: str) -> bool:
    return not ipaddress.ip_interface(address).ip.is_link_local


def _check(name: str, good: bool, bad_detail: str, good_detail: str) -> Check:
    verdict: Verdict = "ok" if good else "failed"
    return Check(name, verdict, good_detail if good else bad_detail)
