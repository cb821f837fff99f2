"""The clusters among the targets of a plan: one step for each virtual machine, network and KubeVirt
object that is to be patched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.audit.reading.targets import Target
from vnicaudit.errors import RefusedError
from vnicaudit.knowledge.kube_owners import owner_to_ask, route, way_of
from vnicaudit.knowledge.kubevirt_versions import (
    RESTART_REQUIRED,
    REVERT_CLEARS_IT,
    is_at_least,
    multiqueue_blocks_cpu_hotplug,
)
from vnicaudit.model.cluster import Attachment, ClusterFacts, ClusterGuest, OwnedObject
from vnicaudit.model.domain import ClusterDomain
from vnicaudit.model.finding import Finding, Ref
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.plan import (
    MODES,
    Blocked,
    ConfigUnit,
    FindingKey,
    ModeOption,
    NetworkUnit,
    NotPlanned,
    OwnerFile,
    Planned,
    PreferenceUnit,
    Reason,
    Step,
    UnitStep,
    VmUnit,
)
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.remedy.cluster_patch import patch_diff, patch_digest
from vnicaudit.remedy.planning.cluster_lines import (
    ProposedLine,
    cluster_line,
    lines_for,
    owners_file,
    preference_line,
)
from vnicaudit.remedy.planning.run import LivePlanner, PlanRun
from vnicaudit.remedy.planning.subject import findings_in, reason_of, safety, unsafe, worst_first

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import PlannedItem

_INSTANCES = "virtualmachineinstances"
_LATER = "it takes effect when virtual machines start, whatever the mode"
_NEW_ONES = "it takes effect when virtual machines are created, whatever the mode"
_ANY_MODE = tuple(ModeOption(mode, possible=True, reason=_LATER) for mode in MODES)
_FOR_NEW_ONES = tuple(ModeOption(mode, possible=True, reason=_NEW_ONES) for mode in MODES)
_OFF = "it does not run: it takes effect when it is started"
_AT_START = "KubeVirt gives a virtual machine another NIC, or more queues, only when it starts"
_REQUIRED = "Until it is restarted, KubeVirt shows the condition RestartRequired."
_NO_SIGN = "KubeVirt before 1.2 does not show that a restart is needed."
_STAYS = (
    "A rollback before the restart leaves the condition RestartRequired until the next restart "
    "(KubeVirt before 1.8)."
)
_ANOTHER_DEVICE = (
    "The guest sees a different device, also on another slot: names like enp1s0 may change unless "
    "the interface has a pciAddress."
)
_HOTPLUG = "On this version of KubeVirt more vCPUs then need a restart."
_MIGRATION = "Forklift's migration that created it still runs: plan again when it has ended"
_MAY_MIGRATE = (
    "Forklift created it by migration {}, which is not among those that could be listed: make sure "
    "that it has ended."
)
_WRITES = "plan --patches DIR writes the patch for it."
_NO_MACHINE = "it has no VirtualMachine that could be changed: an instance itself cannot be"
_NOT_NOW = "{}: it is not restarted until that is over."
_UNREAD = "Whether it runs was not read (right: list virtualmachineinstances.kubevirt.io)."
_WHOLE = Reason(
    "owner-decides",
    "it is for the whole cluster, and this plan is of one namespace: plan the whole cluster",
)
_PREFERENCE = (
    "it changes no virtual machine that exists, as each keeps what it recorded: those are planned "
    "by themselves; --domain {} --include-unsafe plans it for new ones"
)


class ClusterTargetPlanner(LivePlanner):
    """Plans what is set in clusters."""

    def takes(self, target: Target) -> bool:
        """True for a cluster."""
        return target.kind == "kube"

    def plan_items(self, target: Target, items: Iterator[PlannedItem]) -> bool:
        """Plan what the findings in a cluster propose. True if anything could be read."""
        run = self._run
        planner, is_read = ClusterPlanner(run, target.name), False
        for number, item in enumerate(items, 1):
            self._request.progress(target.name, number)
            if isinstance(item, ReadError | NotJudged):
                run.add_unread(target, item)
                continue
            is_read = True
            try:
                run.planned[target.name] += planner.plan(item)
            except RefusedError as error:
                self.leave_out(target.name, planner.about, (), reason_of(error))
        self.note_by_hand(target.name, planner.by_hand)
        return is_read


class ClusterPlanner:
    """Plans the objects of one cluster. ``by_hand`` counts findings that propose nothing that could
    be planned; ``about``: the object that was planned last."""

    def __init__(self, run: PlanRun, target: str) -> None:
        self._run, self._target = run, target
        self._work, self._options = run.request.work, run.request.options
        self.by_hand = 0
        self.about = Ref("cluster")
        self._facts: ClusterFacts | None = None

    def plan(self, item: object) -> list[Planned]:
        """The steps on one object, and what is left out. Raises RefusedError if a rule crashes."""
        to_virtio = self._options.to == "virtio"
        if isinstance(item, ClusterDomain):
            self.about = item.ref
            known = (replace(nic, mac=nic.known_mac) for nic in item.nics)
            self._run.requested.add_domain(replace(item, nics=tuple(known)))
            wanted = to_virtio and self._options.takes(item.name, item.uuid)
            return list(self._virtual_machine(item)) if wanted else []
        if not isinstance(item, ClusterFacts | Preference) or not to_virtio or self._options.macs:
            return []
        self.about = item.ref
        findings = tuple(findings_in(self._work.description(item, self._target)))
        if isinstance(item, ClusterFacts):
            self._facts = item
            return list(self._cluster(item, findings))
        return list(self._preference(item, findings))

    def _virtual_machine(self, domain: ClusterDomain) -> Iterator[Planned]:
        findings = worst_first(findings_in(self._work.domain(domain, None, self._target)))
        lines: dict[str, ProposedLine] = {}
        asking: list[Finding] = []
        for finding in findings:
            offered = list(lines_for(finding, domain))
            proposed = list(filter(self._is_wanted, offered))
            allowed = [one for one in proposed if self._may(one) or _is_in(lines, one)]
            self.by_hand += not offered
            if held := [one.change for one in proposed if one not in allowed]:
                yield self._left_out(finding.about, (finding.rule,), unsafe(held[0]))
            for one in allowed:
                lines.setdefault(one.line.path, one)
            asking += [finding] if any(_is_in(lines, one) for one in allowed) else []
        if lines and not domain.guest.has_vm:
            text = route(domain.guest.owner) or _NO_MACHINE
            rules = tuple(dict.fromkeys(one.rule for one in asking))
            yield self._left_out(domain.ref, rules, Reason("owner-decides", text))
        elif lines:
            yield self._vm_step(domain, tuple(lines.values()), asking)

    def _may(self, proposed: ProposedLine) -> bool:
        return self._run.request.may(proposed.change)

    def _is_wanted(self, proposed: ProposedLine) -> bool:
        """True if its NIC, or the whole virtual machine, is to be planned."""
        macs, nic = self._options.macs, proposed.nic
        return not macs or (nic is not None and nic.known_mac in macs)

    def _vm_step(
        self, domain: ClusterDomain, lines: Sequence[ProposedLine], findings: Sequence[Finding]
    ) -> Step:
        guest, cluster = domain.guest, domain.guest.cluster
        groups = [f"pods apart from {one}" for one in guest.groups]
        if guest.owner is not None and guest.owner.name == "VirtualMachinePool":
            groups.append(f"pool {guest.owner.of}")
        unit = VmUnit(
            uid=domain.uuid or "",
            namespace=guest.namespace,
            name=guest.name,
            patch=tuple(one.line for one in lines),
            groups=tuple(f"{guest.namespace}: {one}" for one in groups),
            server=cluster.server,
        )
        step = self._step(domain.ref, unit, guest, lines, findings)
        is_known = guest.has is not None or cluster.has_all(_INSTANCES, guest.namespace)
        state = [_NOT_NOW.format(guest.unsettled.capitalize())] if guest.unsettled else []
        state += [] if is_known else [_UNREAD]
        busy = [f"{words}: plan again when that has ended" for words in guest.busy]
        if cluster.migrations.get(guest.imported_by):
            busy.append(_MIGRATION)
        return replace(
            step,
            readiness=domain.declared.readiness,
            running=guest.runs or not is_known,
            modes=_modes(is_off=is_known and not guest.runs),
            blocked=(*step.blocked, *(Blocked("busy", words) for words in busy)),
            notes=step.notes if step.blocked else (*step.notes, *state, *_notes(guest, lines)),
        )

    def _cluster(self, facts: ClusterFacts, findings: Iterable[Finding]) -> Iterator[Planned]:
        """The steps of the KubeVirt object and of networks."""
        for finding in findings:
            made = None if finding.change is None else cluster_line(finding.change, facts)
            if made is None:
                self.by_hand += 1
                continue
            found, one = made
            kind = NetworkUnit if isinstance(found, Attachment) else ConfigUnit
            unit = kind(found.uid, found.namespace, found.name, (one.line,), server=facts.server)
            about = Ref("cluster", unit.full_name, unit.uid)
            if not self._run.requested.add(unit.full_name, unit.uid):
                continue
            if kind is ConfigUnit and facts.is_of_one_namespace:
                yield self._left_out(about, (finding.rule,), _WHOLE)
            elif self._may(one):
                yield self._step(about, unit, found, [one], [finding])
            else:
                yield self._left_out(about, (finding.rule,), unsafe(one.change))

    def _preference(self, found: Preference, findings: Sequence[Finding]) -> Iterator[Planned]:
        """The step of a preference, which is made only if it is asked for by name. The facts of its
        cluster come first."""
        facts, (space, _slash, name) = self._facts, found.name.rpartition("/")
        owned = None if facts is None else facts.preferences.get(f"{found.kind} {found.name}")
        if not self._run.requested.add(found.name, None if owned is None else owned.uid):
            return
        lines = [(each, preference_line(each, found)) for each in findings]
        made = next(((each, one) for each, one in lines if one is not None), None)
        rules = tuple(dict.fromkeys(one.rule for one in findings))
        is_named = made is not None and bool(self._options.domains) and self._may(made[1])
        if facts is None or owned is None or made is None or not is_named:
            reason = Reason("owner-decides", _PREFERENCE.format(found.name))
            yield from [self._left_out(found.ref, rules, reason)] if rules else []
        elif facts.is_of_one_namespace and not space:
            yield self._left_out(found.ref, rules, _WHOLE)
        else:
            finding, one = made
            unit = PreferenceUnit(owned.uid, space, name, (one.line,), server=facts.server)
            step = self._step(found.ref, unit, owned, [one], [finding])
            yield replace(step, modes=_FOR_NEW_ONES)

    def _step(
        self,
        about: Ref,
        unit: VmUnit | PreferenceUnit | NetworkUnit | ConfigUnit,
        found: OwnedObject,
        lines: Sequence[ProposedLine],
        findings: Iterable[Finding],
    ) -> Step:
        """The step that patches an object, as far as its owner leaves that to others."""
        owner = owner_to_ask(found, self._options.gitops, self._options.owned)
        way, findings, changes = way_of(owner), tuple(findings), tuple(one.change for one in lines)
        safe, reason = safety(changes)
        gitops = tuple(sorted(self._options.gitops))
        unit = replace(unit, marks=tuple(one.mark for one in found.owners), gitops=gitops)
        files: tuple[OwnerFile, ...] = ()
        told = ""
        if owner is not None:
            told = f"{route(owner)} (Its mark: {owner.mark}.)"
            if way in ("apply", "file", "pool"):
                files, told = (owners_file(unit, owner, pool=way == "pool"),), f"{told} {_WRITES}"
        stops = bool(told) and way not in ("live", "apply")
        return UnitStep(
            id="",
            target=self._target,
            about=about,
            owner="kubevirt",
            to="virtio",
            rules=tuple(dict.fromkeys(one.rule for one in findings)),
            changes=changes,
            readiness="unknown",
            safe=safe,
            reason=reason,
            running=False,
            modes=_ANY_MODE,
            digest=patch_digest(self._target, unit, changes),
            diff=patch_diff(unit),
            unit=unit,
            blocked=(Blocked("owner-changes-it", told),) if stops else (),
            files=files,
            notes=(told,) if told and not stops else (),
            findings=tuple(FindingKey(one.rule, one.fingerprint) for one in findings),
        )

    def _left_out(self, about: Ref, rules: tuple[str, ...], reason: Reason) -> NotPlanned:
        return NotPlanned(about, self._target, rules, reason.text, code=reason.code)


def _is_in(lines: Mapping[str, ProposedLine], proposed: ProposedLine) -> bool:
    """True if one of the lines does the same; of several for one field, the first is made."""
    made = lines.get(proposed.line.path)
    return made is not None and made.line == proposed.line


def _modes(*, is_off: bool) -> tuple[ModeOption, ...]:
    """The ways in which the change of a virtual machine takes effect. Whether it can be restarted
    is asked again when the plan is applied."""
    boot = ModeOption("next-boot", True, _OFF, "off") if is_off else ModeOption("next-boot", True)
    hotswap = ModeOption("hotswap", possible=False, reason=_AT_START, code="definition-only")
    return boot, replace(boot, mode="restart"), hotswap


def _notes(guest: ClusterGuest, lines: Iterable[ProposedLine]) -> Iterator[str]:
    version = guest.cluster.version
    pinned = {one.name for one in guest.nics if one.template is not None and one.template.pci}
    nics = [one.nic for one in lines if one.nic is not None]
    if any(nic.alias not in pinned for nic in nics):
        yield _ANOTHER_DEVICE
    if any(one.line.after is True for one in lines) and multiqueue_blocks_cpu_hotplug(version):
        yield _HOTPLUG
    if guest.runs and (shown := is_at_least(version, RESTART_REQUIRED)) is not None:
        yield _REQUIRED if shown else _NO_SIGN
        if shown and not is_at_least(version, REVERT_CLEARS_IT):
            yield _STAYS
    if guest.imported_by and guest.imported_by not in guest.cluster.migrations:
        yield _MAY_MIGRATE.format(guest.imported_by)
