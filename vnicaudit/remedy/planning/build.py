"""A domain -> steps, one for each NIC that is to be changed, and what is left as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from msgspec.structs import replace

from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.finding import Finding, NicRef
from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import GuestView, Left, Step
from vnicaudit.remedy.definitions import reading
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.planning import gates
from vnicaudit.remedy.planning.diffs import unified_diff
from vnicaudit.remedy.planning.guest_view import guest_view, name_lost
from vnicaudit.remedy.planning.judged import Judged, is_decided
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.policy import NicTuning, planned_tuning
from vnicaudit.remedy.planning.routes import route
from vnicaudit.remedy.planning.source import Source
from vnicaudit.remedy.planning.wishes import Wish, Wishing

_NO_INTERFACE = "it is no <interface> of a definition: change it where it is added"
_TRANSIENT = "it is transient: there is no persistent definition to change"
_TEMPLATE = (
    "the file is a template ({}): plan what is rendered; audit --fix changes what is literal in it"
)
MOST_NICS = 256
"""Of one domain that is planned: each step is judged, and shown, with the whole definition."""
_TOO_MANY = f"the domain has more than {MOST_NICS} NICs: it is not planned"
_LIVE_ONLY = "only the running guest has it: it was plugged in, and no definition says so"

Names = Callable[[Source], Mapping[str, str]]
"""MAC -> name of the interface, as the guest's agent says; empty where it was not asked."""


class Planner:
    """Plans one domain after the other."""

    def __init__(
        self,
        work: AuditWork,
        by_all: AuditWork,
        options: PlanOptions,
        devices: tuple[VdpaDevice, ...] | None,
        names: Names,
        users: Mapping[tuple[str, str], str],
    ) -> None:
        """``work``, ``by_all``: see :class:`Judged`; ``devices``, ``users``: :class:`Wishing`."""
        self._work = work
        self._by_all = by_all
        self._options = options
        self._wishing = Wishing(options, devices, users)
        self._names = names
        self._called: tuple[Source | None, Mapping[str, str]] = (None, {})

    def plan(self, source: Source) -> Iterator[Step | Left]:
        """The steps of one domain, and what of it is left as it is."""
        domain = source.domain
        if not self._options.takes(domain.name, domain.uuid):
            return
        if domain.template:
            for nic in filter(self._takes, domain.nics):
                yield Left(_ref(domain, nic), source.target, (), _TEMPLATE.format(domain.template))
            return
        if len(domain.nics) > MOST_NICS:
            for nic in filter(self._takes, domain.nics):
                yield Left(_ref(domain, nic), source.target, (), _TOO_MANY)
            return
        try:
            judged = Judged(source, self._work, self._by_all)
        except RefusedError as error:
            for nic in filter(self._takes, domain.nics):
                yield Left(_ref(domain, nic), source.target, (), str(error))
            return
        tuning = self._tuning(judged)
        for nic in filter(self._takes, domain.nics):
            if gates.owner_blocks(domain):
                yield from self._owned(judged, nic)
            else:
                yield from self._one(judged, nic, tuning.get(nic.index))
        yield from self._plugged_in(source)

    def _takes(self, nic: Nic) -> bool:
        return not self._options.macs or nic.mac in self._options.macs

    def _plugged_in(self, source: Source) -> Iterator[Left]:
        """NICs that are no virtio and that no definition has."""
        known = {nic.mac for nic in source.domain.nics}
        for nic in filter(self._takes, source.running.nics):
            emulated = nic.declared.model not in (None, *VIRTIO)
            if source.text and emulated and nic.mac is not None and nic.mac not in known:
                yield Left(_ref(source.running, nic), source.target, (), _LIVE_ONLY)

    def _owned(self, judged: Judged, nic: Nic) -> Iterator[Step | Left]:
        """Where the owner keeps the definition: what to do there."""
        source, goal = judged.source, self._options.to
        findings = [] if goal != "virtio" else [
            one for one in judged.of(nic) if is_decided(one) or self._asked(one)
        ]  # fmt: skip
        for reason, rules in self._wishing.held_back(judged, nic).items():
            yield Left(_ref(source.domain, nic), source.target, rules, reason)
        findings = [one for one in findings if self._asked(one) or self._wishing.may(one)]
        changes = tuple(
            one.change if not one.change.safe else replace(one.change, reason="")  # it is for XML
            for one in findings if one.change is not None
        )  # fmt: skip
        if changes or self._options.converts(nic.mac):
            wish = Wish(nic, changes, _rules(findings), gates.owner_blocks(source.domain))
            way = route(source.domain, nic, findings, goal, source.file)
            yield self._step(source, wish, nic, diff="", way=way)
        else:
            yield from self._unchanged(judged, nic)

    def _asked(self, finding: Finding) -> bool:
        """Whether a change that is the policy's to make is one that it makes."""
        field = "" if finding.change is None else finding.change.field
        return getattr(self._options.policy, field, "keep") != "keep"

    def _one(self, judged: Judged, nic: Nic, tuning: NicTuning | None) -> Iterator[Step | Left]:
        source = judged.source
        proposed = [finding for finding in judged.of(nic) if is_decided(finding)]
        converts = self._options.converts(nic.mac)
        if not (proposed or converts or (tuning is not None and tuning.changes)):
            yield from self._unchanged(judged, nic)
            return
        ref, rules = _ref(source.domain, nic), _rules(proposed)
        if nic.declared.origin != "interface" or (source.text and nic.location.xpath is None):
            yield Left(ref, source.target, rules, _NO_INTERFACE)
        elif not source.text:
            yield Left(ref, source.target, rules, _TRANSIENT)
        else:
            for reason, held in self._wishing.held_back(judged, nic).items():
                yield Left(ref, source.target, held, reason)
            try:
                yield from self._made(judged, self._wishing.wish(judged, nic, tuning))
            except RefusedError as error:
                yield Left(ref, source.target, rules, str(error))

    def _unchanged(self, judged: Judged, nic: Nic) -> Iterator[Left]:
        """A NIC that is no virtio, and for which nothing is proposed."""
        found = [one for one in judged.of(nic) if one.change is None and one.fix]
        if found and nic.declared.model not in (None, *VIRTIO):
            ref, rules = _ref(judged.source.domain, nic), _rules(found)
            yield Left(ref, judged.source.target, rules, gates.no_change(judged.source.domain, nic))

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
        self, source: Source, wish: Wish, after: Nic, *, diff: str, way: tuple[str, ...] = ()
    ) -> Step:
        domain, nic = source.domain, wish.nic
        live = source.file is None
        state = source.running.state if live else None
        view, risk = self._seen(source, nic, after) if diff else (GuestView(), "")
        unsafe = [*(one.reason for one in wish.changes if not one.safe), *([risk] if risk else [])]
        reasons = dict.fromkeys(filter(None, unsafe or [one.reason for one in wish.changes]))
        server = self._options.to == "vhostuser" and self._options.socket_mode == "server"
        blocked = wish.blocked
        if not way:
            blocked += tuple(gates.state_blocks(state))
            blocked += tuple(gates.identity_blocks(domain, nic)) if live else ()
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
            reason="; ".join(reasons),
            running=(state or DomainState()).active or False,
            modes=gates.modes(
                source.running,
                self._options.to,
                server_socket=server,
                live=live,
                shares_slot=_shares_slot(source, nic),
            ),
            digest=_digest(source.text),
            diff=diff,
            guest=view,
            losses=wish.losses,
            blocked=blocked,
            route=way,
            notes=(*wish.notes, *gates.state_notes(state), *filter(None, [source.way_back])),
            file=source.file,
            place=None if live else nic.location.xpath,
        )

    def _seen(self, source: Source, before: Nic, after: Nic) -> tuple[GuestView, str]:
        """What the guest sees of a change, and what it may lose by it."""
        domain, names = _with_ports(source), self._names_in(source)
        return guest_view(domain, before, after, names), name_lost(domain, before, after, names)

    def _names_in(self, source: Source) -> Mapping[str, str]:
        """What the guest calls its interfaces; asked once for all its NICs."""
        if self._called[0] is not source:
            self._called = (source, self._names(source))
        return self._called[1]


@lru_cache(maxsize=1)
def _digest(text: bytes) -> str:
    """All steps of one definition or file have one."""
    return digest(text)


def _shares_slot(source: Source, nic: Nic) -> bool:
    """Whether its PCI slot has another device on it."""
    if not source.alone or nic.declared.address_type != "pci" or nic.location.xpath is None:
        return False
    number = int(nic.location.xpath.rpartition("[")[2].rstrip("]"))
    return reading().shares_slot(source.text, number)


def _with_ports(source: Source) -> Domain:
    """The domain with its PCI Express ports, on which the id of a virtio device depends."""
    if not source.alone:
        return source.domain
    ports = reading().ports_of(source.text)
    declared = replace(source.domain.declared, pcie_ports=ports)
    return replace(source.domain, declared=declared, state=source.running.state)


def _rules(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.rule for finding in findings))


def _ref(domain: Domain, nic: Nic) -> NicRef:
    return NicRef(domain.name, domain.uuid, nic.mac, nic.index, nic.target_dev)
