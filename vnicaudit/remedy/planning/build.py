"""A domain -> steps, one for each NIC that is to be changed, and what is left as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.finding import Finding, NicRef
from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Left, Step
from vnicaudit.remedy.definitions import reading
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.planning import gates
from vnicaudit.remedy.planning.diffs import unified_diff
from vnicaudit.remedy.planning.guest_view import guest_view
from vnicaudit.remedy.planning.judged import Judged, is_decided
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.policy import NicTuning, planned_tuning
from vnicaudit.remedy.planning.source import Source
from vnicaudit.remedy.planning.wishes import Wish, Wishing

_NO_INTERFACE = "it is no <interface> of a definition: change it where it is added"
_TRANSIENT = "it is transient: there is no persistent definition to change"

Names = Callable[[Source], Mapping[str, str]]
"""MAC -> name of the interface, as the guest's agent says; empty where it was not asked."""


class Planner:
    """Plans one domain after the other."""

    def __init__(
        self,
        work: AuditWork,
        options: PlanOptions,
        devices: tuple[VdpaDevice, ...] | None,
        names: Names,
        users: Mapping[tuple[str, str], str],
    ) -> None:
        """``devices`` and ``users``: see :class:`Wishing`."""
        self._work = work
        self._options = options
        self._wishing = Wishing(options, devices, users)
        self._names = names

    def plan(self, source: Source) -> Iterator[Step | Left]:
        """The steps of one domain, and what of it is left as it is."""
        domain = source.domain
        if not self._options.takes(domain.name, domain.uuid):
            return
        try:
            judged = Judged(source, self._work)
        except RefusedError as error:
            yield from (
                Left(_ref(domain, nic), source.target, (), str(error)) for nic in domain.nics
            )
            return
        tuning = self._tuning(judged)
        for nic in domain.nics:
            if self._options.macs and nic.mac not in self._options.macs:
                continue
            if gates.owner_blocks(domain):
                yield from self._owned(judged, nic)
            else:
                yield from self._one(judged, nic, tuning.get(nic.index))

    def _owned(self, judged: Judged, nic: Nic) -> Iterator[Step]:
        """Where the owner keeps the definition: what to do there."""
        domain, findings = judged.source.domain, judged.of(nic)
        changes = tuple(one.change for one in findings if one.change is not None)
        if changes:
            wish = Wish(nic, changes, _rules(findings), gates.owner_blocks(domain))
            route = gates.owner_route(domain, findings)
            yield self._step(judged.source, wish, nic, diff="", route=route)

    def _one(self, judged: Judged, nic: Nic, tuning: NicTuning | None) -> Iterator[Step | Left]:
        source = judged.source
        proposed = [finding for finding in judged.of(nic) if is_decided(finding)]
        converts = self._options.to != "virtio" and nic.mac in self._options.macs
        if not (proposed or converts or (tuning is not None and tuning.changes)):
            return
        ref, rules = _ref(source.domain, nic), _rules(proposed)
        if nic.declared.origin != "interface" or (source.text and nic.location.xpath is None):
            yield Left(ref, source.target, rules, _NO_INTERFACE)
        elif not source.text:
            yield Left(ref, source.target, rules, _TRANSIENT)
        else:
            for reason, held in _by_reason(self._wishing.held_back(judged, nic)).items():
                text = f"unsafe: {reason} (--include-unsafe plans it)"
                yield Left(ref, source.target, held, text)
            try:
                yield from self._made(judged, self._wishing.wish(judged, nic, tuning))
            except RefusedError as error:
                yield Left(ref, source.target, rules, str(error))

    def _made(self, judged: Judged, wish: Wish | None) -> Iterator[Step]:
        if wish is None:
            return
        source, nic = judged.source, wish.nic
        if not wish.changes:
            yield self._step(source, wish, nic, diff="")
            return
        text, after = judged.changed(nic, wish.changes)
        wish = wish._replace(blocked=wish.blocked + judged.worse(nic, after))
        diff = unified_diff(source.text, text, source.name)
        yield self._step(source, wish, after.nics[nic.index], diff=diff)

    def _tuning(self, judged: Judged) -> dict[int, NicTuning]:
        """What the policy for queues and rings gives to each NIC that is or becomes virtio."""
        domain = judged.source.domain
        chosen = {
            nic.index: self._options.to for nic in domain.nics
            if nic.declared.model in VIRTIO or judged.of(nic)
        }  # fmt: skip
        found = planned_tuning(self._options.policy, domain.declared, domain.nics, chosen)
        return {tuning.index: tuning for tuning in found.nics}

    def _step(
        self, source: Source, wish: Wish, after: Nic, *, diff: str, route: tuple[str, ...] = ()
    ) -> Step:
        domain, nic = source.domain, wish.nic
        live = source.file is None
        state = source.running.state if live else None
        unsafe = [change for change in wish.changes if not change.safe]
        server = self._options.to == "vhostuser" and self._options.socket_mode == "server"
        reasons = [change.reason for change in unsafe or wish.changes]
        return Step(
            id="",
            platform="libvirt" if live else "file",
            target=source.target,
            nic=_ref(domain, nic),
            owner=domain.declared.owner,
            to=self._options.to,
            rules=wish.rules,
            changes=wish.changes,
            readiness=domain.declared.readiness,
            safe=not unsafe,
            reason=reasons[0] if reasons else "",
            running=(state or DomainState()).active or False,
            modes=gates.modes(source.running, self._options.to, server_socket=server, live=live),
            digest=digest(source.text),
            diff=diff,
            guest=guest_view(_with_ports(source), nic, after, self._names(source)),
            losses=wish.losses,
            blocked=wish.blocked + (() if route else tuple(gates.state_blocks(state))),
            route=route,
            notes=wish.notes + tuple(gates.unknown_state(state)),
            file=source.file,
            place=None if live else nic.location.xpath,
        )


def _with_ports(source: Source) -> Domain:
    """The domain with its PCI Express ports, on which the id of a virtio device depends."""
    if source.file is not None or not source.text:
        return source.domain
    ports = reading().ports_of(source.text)
    declared = replace(source.domain.declared, pcie_ports=ports)
    return replace(source.domain, declared=declared, state=source.running.state)


def _by_reason(findings: Iterable[Finding]) -> dict[str, tuple[str, ...]]:
    """Why they are unsafe -> rules."""
    found: dict[str, tuple[str, ...]] = {}
    for finding in findings:
        reason = finding.change.reason if finding.change is not None else ""
        found[reason] = (*found.get(reason, ()), finding.rule)
    return found


def _rules(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.rule for finding in findings))


def _ref(domain: Domain, nic: Nic) -> NicRef:
    return NicRef(domain.name, domain.uuid, nic.mac, nic.index, nic.target_dev)
