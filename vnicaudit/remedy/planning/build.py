"""Findings on a domain -> steps: one for each NIC that is to be changed.

What findings propose is made in memory, judged again, and so on until nothing is proposed any more:
what only comes up when the model is virtio belongs to the same step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.finding import SEVERITIES, Change, Finding, NicRef
from vnicaudit.model.machines import S390
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Left, Loss, Step
from vnicaudit.remedy.definitions import changed_at, reading
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.planning import gates
from vnicaudit.remedy.planning.backends import to_backend
from vnicaudit.remedy.planning.diffs import unified_diff
from vnicaudit.remedy.planning.guest_view import guest_view
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.policy import planned_tuning
from vnicaudit.remedy.planning.source import Source, with_actual_types

if TYPE_CHECKING:
    from vnicaudit.model.host import VdpaDevice

_ROUNDS = 5
_MORE_IS_POLICY = {"queues": 1, "rx_queue_size": 256, "tx_queue_size": 256}
"""Fields of which more is the policy's to give, and what they are where they are not set."""
_NEVER_RAN = "it never started with this NIC: there is no name or address in the guest to keep"
_SHARED_KEY = "virtio devices of this guest go through an IOMMU: without it, it has no network"
_POLICY = "policy"


class Wish(NamedTuple):
    """What is to become of one NIC, and why."""

    nic: Nic
    changes: tuple[Change, ...] = ()
    rules: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()


class Planner:
    """Plans one domain after the other."""

    def __init__(
        self, work: AuditWork, options: PlanOptions, devices: tuple[VdpaDevice, ...] | None
    ) -> None:
        """``devices``: the vDPA devices of this machine; None where it has not been looked at."""
        self._work = work
        self._options = options
        self._devices = devices
        self._taken: dict[str, str] = {}

    def plan(self, source: Source) -> Iterator[Step | Left]:
        """The steps of one domain, and what of it is left as it is."""
        domain = source.domain
        if not self._options.takes(domain.name, domain.uuid):
            return
        audited = self._work.domain(domain, source.host, source.target)
        by_nic = _by_nic(audited.findings)
        route = gates.owner_route(domain, audited.findings)
        tuning = self._tuning(source, by_nic)
        for nic in domain.nics:
            if self._options.macs and nic.mac not in self._options.macs:
                continue
            findings = by_nic.get(nic.index, ())
            if gates.owner_blocks(domain):
                yield from self._owned(source, nic, findings, route)
            else:
                yield from self._one(source, nic, findings, tuning.get(nic.index, ()))

    def _owned(
        self, source: Source, nic: Nic, findings: tuple[Finding, ...], route: tuple[str, ...]
    ) -> Iterator[Step]:
        changes = tuple(finding.change for finding in findings if finding.change is not None)
        if not changes:
            return
        mine = gates.owner_route(source.domain, findings) or route
        wish = Wish(nic, changes, _rules(findings), gates.owner_blocks(source.domain))
        yield self._step(source, wish, nic, diff="", route=mine)

    def _one(
        self, source: Source, nic: Nic, findings: tuple[Finding, ...], tuning: tuple[Change, ...]
    ) -> Iterator[Step | Left]:
        ref = _ref(source.domain, nic)
        proposed = [finding for finding in findings if _is_ours(finding)]
        converts = self._options.to != "virtio" and nic.mac in self._options.macs
        if not proposed and not tuning and not converts:
            return
        if nic.declared.origin != "interface" or nic.location.xpath is None:
            reason = "it is no <interface> of a definition: change it where it is added"
            yield Left(ref, source.target, _rules(proposed), reason)
            return
        if not source.text:
            reason = "it is transient: there is no persistent definition to change"
            yield Left(ref, source.target, _rules(proposed), reason)
            return
        held_back = [
            finding for finding in proposed
            if finding.change is not None and not self._may(finding.change, nic, source)
        ]  # fmt: skip
        for reason, rules in _grouped(held_back).items():
            yield Left(ref, source.target, rules, f"unsafe: {reason} (--include-unsafe plans it)")
        try:
            wish = self._wish(source, nic, tuning)
        except RefusedError as error:
            yield Left(ref, source.target, _rules(proposed), str(error))
            return
        if wish is not None:
            yield from self._made(source, wish)

    def _wish(self, source: Source, nic: Nic, tuning: tuple[Change, ...]) -> Wish | None:
        """All changes of one NIC, found by making them; None where there is none to make."""
        wish = self._converted(source, nic)
        if wish.blocked:
            return wish
        changes, rules = list(wish.changes), list(wish.rules)
        for _ in range(_ROUNDS):
            more = [
                (change, rule) for change, rule in self._proposed(source, nic, changes)
                if change.field not in {done.field for done in changes}
            ]  # fmt: skip
            if not more:
                break
            changes += [change for change, _rule in more]
            rules += [rule for _change, rule in more]
        virtio = any(c.field == "model" and c.new in VIRTIO for c in changes)
        if virtio and self._needs_iommu(source, nic):
            changes.append(Change("iommu", None, "on", safe=True, reason=_SHARED_KEY))
        if virtio or nic.declared.model in VIRTIO:
            fields = {change.field for change in changes}
            extra = [change for change in tuning if change.field not in fields and self._ok(change)]
            changes += extra
            rules += [_POLICY] * bool(extra)
        if not changes:
            return None
        return wish._replace(changes=tuple(changes), rules=tuple(dict.fromkeys(rules)))

    def _converted(self, source: Source, nic: Nic) -> Wish:
        """What asking for another backend than a tap comes to."""
        options = self._options
        if options.to == "virtio" or nic.mac not in options.macs:
            return Wish(nic)
        device = options.device(nic.mac)
        children: Mapping[str, str] = {}
        memory: int | None = None
        if source.file is None:
            children = reading().children_of(source.text, _number(nic))
            memory = reading().memory_kib(source.text)
        made = to_backend(
            options.to, nic, source.domain, source.host, children, device,
            self._devices if source.local else None, options.socket_mode, options.accepted, memory,
        )  # fmt: skip
        blocked = list(made.blocked)
        if source.file is not None:
            blocked.append("a definition in a file is not converted: plan on the live host")
        user = self._taken.setdefault(device, source.domain.name) if device else source.domain.name
        if user != source.domain.name:
            blocked.append(f"{device} is given to {user} by this plan")
        return Wish(nic, made.changes, (), tuple(blocked), made.losses, made.notes)

    def _proposed(
        self, source: Source, nic: Nic, changes: list[Change]
    ) -> Iterator[tuple[Change, str]]:
        """What findings propose for the NIC once these changes are made; one for each field, of
        the most severe finding."""
        domain = self._after(source, nic, changes)
        audited = self._work.domain(domain, source.host, source.target)
        if audited.crashed:
            raise RefusedError(f"rule {audited.crashed[0].rule} crashes on what would come of it")
        seen: set[str] = set()
        found = [finding for finding in audited.findings if finding.nic.index == nic.index]
        for finding in sorted(found, key=lambda one: -SEVERITIES.index(one.severity)):
            change = finding.change
            if change is None or not _is_ours(finding) or change.field in seen:
                continue
            if self._may(change, nic, source):
                seen.add(change.field)
                yield self._settled(change, nic, source), finding.rule

    def _after(self, source: Source, nic: Nic, changes: list[Change]) -> Domain:
        if not changes:
            return source.domain
        text = changed_at(source.text, nic.location.xpath or "", changes)
        return read_again(source, text)

    def _may(self, change: Change, nic: Nic, source: Source) -> bool:
        return self._ok(self._settled(change, nic, source))

    def _ok(self, change: Change) -> bool:
        return change.safe or self._options.unsafe

    def _settled(self, change: Change, nic: Nic, source: Source) -> Change:
        """On s390x a guest never started with an emulated NIC: there is nothing to rename."""
        impossible = source.domain.declared.arch in S390 and nic.declared.model not in VIRTIO
        if impossible and change.field in ("address_type", "rom", "acpi") and not change.safe:
            return replace(change, safe=True, reason=_NEVER_RAN)
        return change

    def _needs_iommu(self, source: Source, nic: Nic) -> bool:
        if nic.declared.iommu == "on" or source.file is not None:
            return False
        return source.domain.declared.arch in S390 and reading().uses_iommu(source.text)

    def _tuning(
        self, source: Source, by_nic: Mapping[int | None, tuple[Finding, ...]]
    ) -> dict[int, tuple[Change, ...]]:
        """What the policy for queues and rings gives to each NIC that is or becomes virtio."""
        chosen = {
            nic.index: self._options.to for nic in source.domain.nics
            if nic.declared.model in VIRTIO or by_nic.get(nic.index)
        }  # fmt: skip
        tuning = planned_tuning(
            self._options.policy, source.domain.declared, source.domain.nics, chosen
        )
        return tuning.changes

    def _made(self, source: Source, wish: Wish) -> Iterator[Step | Left]:
        nic = wish.nic
        try:
            text = changed_at(source.text, nic.location.xpath or "", wish.changes)
            after = read_again(source, text)
        except RefusedError as error:
            ref = _ref(source.domain, nic)
            yield Left(ref, source.target, wish.rules, str(error))
            return
        diff = unified_diff(source.text, text, source.name)
        worse = self._worse(source, after, wish)
        wish = wish._replace(blocked=wish.blocked + worse)
        yield self._step(source, wish, after.nics[nic.index], diff=diff)

    def _worse(self, source: Source, after: Domain, wish: Wish) -> tuple[str, ...]:
        """Errors that the change would bring up."""
        before = self._work.domain(source.domain, source.host, source.target).findings
        known = {finding.fingerprint for finding in before if finding.severity == "error"}
        audited = self._work.domain(after, source.host, source.target)
        return tuple(
            f"it would bring up {finding.rule}: {finding.message}"
            for finding in audited.findings
            if finding.severity == "error" and finding.fingerprint not in known
            and finding.nic.index in (wish.nic.index, None)
        )  # fmt: skip

    def _step(
        self, source: Source, wish: Wish, after: Nic, *, diff: str, route: tuple[str, ...] = ()
    ) -> Step:
        domain, nic = source.domain, wish.nic
        live = source.file is None
        state = source.running.state or DomainState()
        unsafe = [change for change in wish.changes if not change.safe]
        blocked = wish.blocked
        if not route and live:
            blocked += tuple(gates.state_blocks(source.running.state))
        server = self._options.to == "vhostuser" and self._options.socket_mode == "server"
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
            reason=(unsafe or list(wish.changes))[0].reason,
            running=bool(state.active),
            modes=gates.modes(source.running, self._options.to, server_socket=server, live=live),
            digest=digest(source.text),
            diff=diff,
            guest=guest_view(domain, nic, after, {}),
            losses=wish.losses,
            blocked=blocked,
            route=route,
            notes=wish.notes + (tuple(gates.unknown_state(source.running.state)) if live else ()),
            file=source.file,
            place=nic.location.xpath if source.file else None,
        )


def read_again(source: Source, text: bytes) -> Domain:
    """The domain of a source as another text describes it."""
    if source.file is not None:
        return _of_file(source, text)
    found = with_actual_types(reading().definition_of(text, source.target), source.domain)
    declared = replace(found.declared, readiness=source.domain.declared.readiness)
    return replace(
        found, declared=declared, state=source.domain.state,
        suppressions=source.domain.suppressions, location=source.domain.location,
    )  # fmt: skip


def _of_file(source: Source, text: bytes) -> Domain:
    from io import BytesIO

    from vnicaudit.audit.files import read_stream

    for item in read_stream(BytesIO(text), source.domain.location.target):
        if isinstance(item, Domain) and item.location.xpath == source.domain.location.xpath:
            declared = replace(item.declared, readiness=source.domain.declared.readiness)
            return replace(item, declared=declared)
    raise RefusedError("what would come of the file could not be read again")


def _by_nic(findings: Iterable[Finding]) -> dict[int | None, tuple[Finding, ...]]:
    found: dict[int | None, tuple[Finding, ...]] = {}
    for finding in findings:
        found[finding.nic.index] = (*found.get(finding.nic.index, ()), finding)
    return found


def _is_ours(finding: Finding) -> bool:
    """Whether its change is one that findings decide: more queues or larger rings are policy."""
    change = finding.change
    if change is None:
        return False
    least = _MORE_IS_POLICY.get(change.field)
    if least is None or change.new is None:
        return True
    return int(change.new) < int(change.old or least)


def _grouped(findings: Iterable[Finding]) -> dict[str, tuple[str, ...]]:
    """Reason -> rules."""
    found: dict[str, tuple[str, ...]] = {}
    for finding in findings:
        reason = finding.change.reason if finding.change is not None else ""
        found[reason] = (*found.get(reason, ()), finding.rule)
    return found


def _rules(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.rule for finding in findings))


def _ref(domain: Domain, nic: Nic) -> NicRef:
    return NicRef(domain.name, domain.uuid, nic.mac, nic.index, nic.target_dev)


def _number(nic: Nic) -> int:
    return int((nic.location.xpath or "[1]").rpartition("[")[2].rstrip("]"))
