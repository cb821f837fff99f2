"""A server of a cloud -> one step for all its NICs, and what of it is left as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import SEVERITIES, Change, Finding, NicRef
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.plan import GuestView, Left, Step
from vnicaudit.remedy.digests import kept_digest
from vnicaudit.remedy.planning import gates as guests
from vnicaudit.remedy.planning.cloud import gates
from vnicaudit.remedy.planning.cloud.changed import Changed, changed_nics, server_part
from vnicaudit.remedy.planning.cloud.gates import config_of, ref_of
from vnicaudit.remedy.planning.cloud.guest import guest_view, risk
from vnicaudit.remedy.planning.cloud.judged import NO_MODEL, JudgedServer, comes_unasked
from vnicaudit.remedy.planning.cloud.properties import (
    clashes,
    diff,
    does_not_start,
    is_so,
    options,
    property_of,
    with_properties,
)
from vnicaudit.remedy.planning.cloud.tenant import TENANT, tenant_route
from vnicaudit.remedy.planning.cloud.tuning import server_tuning
from vnicaudit.remedy.planning.judged import is_decided
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.wishes import POLICY, UNSAFE

_ROUNDS = 5
_NO_MODEL = f"its NIC model is not known: that takes {NO_MODEL}"
_STARTABLE = "its flavor says so; as it is Nova cannot start it (FlavorImageConflict)"
_KEEPS = "the guest is known to drive virtio; MAC addresses stay"


class _Wish(NamedTuple):
    """What is to become of a server, and why."""

    changes: tuple[Change, ...]
    properties: dict[str, str]
    rules: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def and_(self, more: Iterable[Change], *rules: str) -> _Wish:
        """And these, which are about properties by their names."""
        new = [change for change in more if change.field not in self.properties]
        if not new:
            return self
        properties = {change.field: change.new or "" for change in new}
        return self._replace(
            changes=(*self.changes, *new),
            properties={**self.properties, **properties},
            rules=tuple(dict.fromkeys((*self.rules, *rules))),
        )


class ServerPlanner:
    """Plans one server after the other."""

    def __init__(self, work: AuditWork, by_all: AuditWork, options: PlanOptions) -> None:
        """``work``, ``by_all``: see :class:`JudgedServer`."""
        self._work = work
        self._by_all = by_all
        self._options = options

    def plan(self, server: Domain, target: str) -> Iterator[Step | Left]:
        """The step of a server, and what of it is left."""
        try:
            judged = JudgedServer(server, target, self._work, self._by_all)
        except RefusedError as error:
            yield _left(server, target, (), str(error))
            return
        if judged.lacks_model:
            yield _left(server, target, (), gates.unseen(server) or _NO_MODEL)
        wish = self._with_policy(judged, _startable(judged, self._wish(judged)))
        yield from self._held_back(judged, wish)
        if wish.properties:
            yield self._step(judged, wish)

    def _wish(self, judged: JudgedServer) -> _Wish:
        """What findings propose, and what they propose once that is made."""
        changes: list[Change] = []
        rules: list[str] = []
        properties: dict[str, str] = {}
        for _ in range(_ROUNDS):
            more = [
                (finding, found)
                for finding in _worst_first(judged.with_(properties))
                if (found := _wanted(finding, judged.server)) and found[0] not in properties
                and self._may(finding)
            ]  # fmt: skip
            if not more:
                break
            for finding, (name, value) in more:
                rules.append(finding.rule)
                if name not in properties and finding.change is not None:
                    properties[name] = value
                    changes.append(_reworded(finding.change))
        return _Wish(tuple(changes), properties, tuple(dict.fromkeys(rules)))

    def _with_policy(self, judged: JudgedServer, wish: _Wish) -> _Wish:
        after = with_properties(judged.server, wish.properties)
        tuning = server_tuning(self._options.policy, after)
        return wish.and_(tuning.changes, POLICY)._replace(notes=tuning.notes)

    def _held_back(self, judged: JudgedServer, wish: _Wish) -> Iterator[Left]:
        """What is proposed and not planned: because it may hurt the guest, or because Nova has no
        property for it; and NICs that are no virtio, where nothing is planned."""
        server, reasons = judged.server, dict[str, list[str]]()
        for finding in judged.findings:
            if finding.change is not None:
                reason = self._not_planned(finding, finding.change, server)
            else:
                reason = _why_left(finding, wish, judged)
            if reason:
                reasons.setdefault(reason, []).append(finding.rule)
        for reason, rules in reasons.items():
            yield _left(server, judged.target, rules, reason)

    def _not_planned(self, finding: Finding, change: Change, server: Domain) -> str:
        if not is_decided(finding):
            return ""
        if property_of(change) is None:
            return finding.fix
        if self._may(finding) or _wanted(finding, server) is None:
            return ""
        return UNSAFE.format(change.reason)

    def _may(self, finding: Finding) -> bool:
        return self._options.unsafe or finding.change is None or finding.change.safe

    def _step(self, judged: JudgedServer, wish: _Wish) -> Step:
        server, properties = judged.server, wish.properties
        ref = ref_of(server)
        after = with_properties(server, properties)
        changed = changed_nics(server, after)
        part = server_part(server, changed, properties)
        unsafe, reason = _reasons(server, changed, wish)
        return Step(
            id="",
            platform="openstack",
            target=judged.target,
            nic=_ref(server),
            owner=server.declared.owner,
            to="virtio",
            rules=tuple(dict.fromkeys((*wish.rules, *judged.gone(properties)))),
            changes=wish.changes,
            readiness=server.declared.readiness,
            safe=not unsafe,
            reason=reason,
            running=gates.is_on(server),
            modes=gates.modes(server),
            digest=kept_digest(part.object, ref.id, part.old),
            diff=diff(server.name or ref.id, part.old, part.properties),
            guest=guest_view(server, *changed[0], len(changed)) if changed else GuestView(),
            blocked=tuple(_blocked(judged, after)),
            route=() if gates.may_operate(ref) else tuple(tenant_route(server, properties)),
            notes=(*wish.notes, *gates.notes(server, options(properties))),
            cloud=part,
        )


def _startable(judged: JudgedServer, wish: _Wish) -> _Wish:
    """And what keeps it from being started again, where that was found or it is to be stopped."""
    said, config = dict(clashes(judged.server)), config_of(judged.server)
    if not (wish.properties or judged.gone(said)):
        return wish
    return wish.and_(
        Change(name, config.property(name), value, safe=True, reason=_STARTABLE)
        for name, value in said.items()
    )


def _reasons(server: Domain, changed: Changed, wish: _Wish) -> tuple[bool, str]:
    """Whether it is unsafe, and why it is; else why it is safe."""
    danger = risk(server, *changed[0]) if changed else ""
    unsafe = [*(one.reason for one in wish.changes if not one.safe), *filter(None, [danger])]
    reasons = unsafe or [one.reason for one in wish.changes if one.reason]
    return bool(unsafe), "; ".join(dict.fromkeys(reasons))


def _blocked(judged: JudgedServer, after: Domain) -> Iterator[str]:
    """Why it is not carried out: as the server is, as it would be, and for who asks."""
    yield from gates.blocks(judged.server)
    if against := gates.unseen(judged.server):
        yield against
    yield from tuple(does_not_start(after)) or judged.worse(after)
    if not gates.may_operate(ref_of(judged.server)):
        yield TENANT


def _why_left(finding: Finding, wish: _Wish, judged: JudgedServer) -> str:
    """What of a server no change is proposed for is left; empty where it is in its step."""
    server = judged.server
    if comes_unasked(finding.rule):
        in_step = finding.rule in judged.gone(wish.properties)
        return "" if in_step else f"{finding.message}. {finding.fix}"
    left = finding.fix and not wish.properties and _is_emulated(finding, server)
    return guests.no_change(server) if left else ""


def _wanted(finding: Finding, server: Domain) -> tuple[str, str] | None:
    """The property that a finding proposes, where findings decide and it is not so already."""
    if finding.change is None or not is_decided(finding):
        return None
    found = property_of(finding.change)
    return None if found is None or is_so(config_of(server), *found) else found


def _reworded(change: Change) -> Change:
    """Rules say why it is safe for the definition of one NIC, which keeps its address."""
    return replace(change, reason=_KEEPS) if change.safe and change.field == "model" else change


def _worst_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda one: -SEVERITIES.index(one.severity))


def _is_emulated(finding: Finding, server: Domain) -> bool:
    """Whether a NIC that a finding is about is no virtio; of one on the whole server, any."""
    index = finding.nic.index
    about = (nic for nic in server.nics if index in (None, nic.index))
    return any(nic.declared.model not in (None, *VIRTIO) for nic in about)


def _left(server: Domain, target: str, rules: Iterable[str], reason: str) -> Left:
    project = "" if server.cloud is None else server.cloud.project
    return Left(_ref(server), target, tuple(dict.fromkeys(rules)), reason, "server", project)


def _ref(server: Domain) -> NicRef:
    return NicRef(server.name, server.uuid)
