"""A server of a cloud as a subject of a plan: one step for all its NICs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec.structs import replace

from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.knowledge import facts
from vnicaudit.knowledge.fixes.nova import TENANT, tenant_procedure
from vnicaudit.knowledge.nova_releases import properties_of, property_of
from vnicaudit.knowledge.systems import LINUX, WINDOWS, System, is_q35, model_of, system_of
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import EVERY_RULE, VIRTIO, Change, Finding
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic
from vnicaudit.model.nova import as_number
from vnicaudit.model.openstack import FLAVOR_WORDS, MODEL, MULTIQUEUE, MULTIQUEUE_VCPUS, PROPERTY_OF
from vnicaudit.model.plan import Blocked, GuestView, Naming, Reason, ServerUnit, UnitStep
from vnicaudit.remedy.planning import backends as guests
from vnicaudit.remedy.planning.cloud import properties as gates
from vnicaudit.remedy.planning.cloud.properties import (
    changed_nics,
    changed_server,
    clashes,
    does_not_start,
    has_value,
    unit_step,
    with_properties,
)
from vnicaudit.remedy.planning.guest_view import GHOST, device_view, driver_notes, name_lost
from vnicaudit.remedy.planning.naming import NEW_ADAPTER
from vnicaudit.remedy.planning.policy import Tuning
from vnicaudit.remedy.planning.run import PlanRequest
from vnicaudit.remedy.planning.subject import (
    POLICY,
    JudgedItem,
    PlanSubject,
    ProposedChanges,
    is_decided,
    safety,
    unsafe,
    with_follow_up_changes,
    worst_first,
)

# The policy for queues and rings where Nova writes the NICs.
#
# Nova has one switch: if it is on, a NIC gets one queue pair per vCPU, up to ``[libvirt]
# max_queues`` of the compute node (``virt/libvirt/vif.py``, ``get_max_tap_queues``). Ring sizes are
# options of the compute node only (nova/conf/libvirt.py).


_PER_VCPU = "the policy asks for it; Nova gives one queue pair per vCPU ({queues})"
_ONE = "the policy asks for one queue pair"
_TOO_MANY = (
    "no multiqueue: Nova gives one queue pair per vCPU ({queues}), the policy allows {most}; "
    "[libvirt] max_queues in nova.conf of {host} would bound it"
)
_VECTORS = (
    "no multiqueue: with {queues} queue pairs each its NICs would need more than {most} interrupt "
    "vectors"
)
_FLAVORS = "its flavor decides on multiqueue ({spec})"
_EMULATED = "no multiqueue: Nova does not give it to guests with virt_type qemu"
_NO_VCPUS = "no multiqueue: the number of vCPUs is unknown"
_BOUND = "no multiqueue: [libvirt] max_queues of {host} leaves one queue pair"
_RINGS = (
    "ring sizes are set on the compute node, not the server: [libvirt] rx_queue_size, and for "
    "vhost-user tx_queue_size, in nova.conf of {host}, then a hard reboot"
)


def server_tuning(policy: PolicyTable, server: Server) -> Tuning:
    """The policy's changes for ``server``, which has all other changes already."""
    if not any(nic.declared.model == "virtio" for nic in server.nics):
        return Tuning()
    changes, notes = _multiqueue(policy, server)
    rx, tx = policy.rx_queue_size, policy.tx_queue_size
    if tx != "keep" or rx not in ("keep", as_number(_of_node(server, "rx_queue_size"))):
        notes = (*notes, _RINGS.format(host=_host(server)))
    return Tuning(changes, notes)


def _multiqueue(policy: PolicyTable, server: Server) -> Tuning:
    if policy.queues == "keep":
        return Tuning()
    config = server.config
    flavors = config.flavor_flag(MULTIQUEUE)
    if flavors is not None:
        same = flavors == (policy.queues != 1)
        note = _FLAVORS.format(spec=f"{FLAVOR_WORDS[MULTIQUEUE]}={str(flavors).lower()}")
        return Tuning(notes=() if same else (note,))
    is_on, now = config.flag(MULTIQUEUE), config.property(MULTIQUEUE)
    if policy.queues == 1:
        off = Change(MULTIQUEUE, now, "false", safe=True, reason=_ONE)
        return Tuning((off,) if is_on else ())
    return Tuning() if is_on else _switched_on(policy, server)


def _switched_on(policy: PolicyTable, server: Server) -> Tuning:
    vcpus = server.declared.vcpus
    if vcpus is None:
        return Tuning(notes=(_NO_VCPUS,))
    if vcpus < MULTIQUEUE_VCPUS:
        return Tuning()
    if server.declared.type == "qemu":
        return Tuning(notes=(_EMULATED,))
    queues = min(vcpus, as_number(_of_node(server, "max_queues")) or vcpus)
    if queues < 2:
        return Tuning(notes=(_BOUND.format(host=_host(server)),))
    most = policy.queues_max if policy.queues == "auto" else int(policy.queues)
    if queues > most:
        note = _TOO_MANY.format(queues=queues, most=most, host=_host(server))
        return Tuning(notes=(note,))
    if len(server.nics) * (2 * queues + 2) > policy.vectors_max:
        return Tuning(notes=(_VECTORS.format(queues=queues, most=policy.vectors_max),))
    reason = _PER_VCPU.format(queues=queues)
    now = server.config.property(MULTIQUEUE)
    return Tuning((Change(MULTIQUEUE, now, "true", safe=True, reason=reason),))


def _of_node(server: Server, option: str) -> str:
    """An option of nova.conf of its compute node; empty if that was not read."""
    node = server.config.node
    return (node.value(option) or "") if node is not None else ""


def _host(server: Server) -> str:
    return server.cloud.host or "its compute node"


# A guest's view of its NICs after Nova rewrites its definition.


_NAME = (
    "Nova does not keep PCI addresses: a name derived from the address may change, one that the "
    "guest assigns by MAC address stays"
)
_KERNEL = (
    "in this system the kernel names virtio NICs (ethN) and systemd names the others: "
    "configuration for the old name does not apply to the new one"
)
_Q35 = (
    "On q35 the NIC is no longer behind the bridge for conventional PCI devices: a name derived "
    "from its address changes."
)
_ALL = "All NICs of the server change at once ({count})."
_CLOUD_INIT = (
    "cloud-init names interfaces by MAC address where it writes their configuration (netplan, "
    "sysconfig): such guests keep their names."
)
_CONVENTIONAL = frozenset({"rtl8139", "ne2k_pci", "pcnet", "e1000"})


def guest_view(domain: Domain, before: Nic, after: Nic, count: int) -> GuestView:
    """PCI ids, drivers and the interface name; ``before`` and ``after`` are one of ``count`` NICs
    that change alike. Empty if its model stays."""
    if model_of(before) == model_of(after):
        return GuestView()
    system = system_of(domain)
    return replace(
        device_view(domain, system, before, after),
        name=Naming(reason=NEW_ADAPTER if system.family == WINDOWS else _NAME),
        notes=tuple(_notes(domain, system, before, after, count)),
    )


def risk(domain: Domain, before: Nic, after: Nic) -> str:
    """Why the guest's configuration will no longer apply to the interface; empty if nothing
    indicates that. Judged like a libvirt guest whose agent was not asked for interface names."""
    lost = name_lost(domain, before, after, {})
    linux = system_of(domain).family in (LINUX, None)
    return _KERNEL if lost and linux else lost


def _notes(domain: Domain, system: System, before: Nic, after: Nic, count: int) -> Iterator[str]:
    yield from driver_notes(domain, system, before, after)
    if system.family == WINDOWS:
        yield GHOST
    elif is_q35(domain.declared) and model_of(before) in _CONVENTIONAL:
        yield _Q35
    if system.family != WINDOWS:
        yield _CLOUD_INIT
    if count > 1:
        yield _ALL.format(count=count)


NO_MODEL = facts.SERVER_MODEL.tell
"""The words for what would show a NIC's model."""
_NO_MODEL = f"its NIC model is unknown: that needs {NO_MODEL}"
_STARTABLE = "its flavor requires it; Nova cannot start it as it is (FlavorImageConflict)"
_REBUILD = (
    "its image has hw_vif_model={model}: unless that is changed too, a rebuild would bring it back "
    "(VNIC064)"
)
_KEEPS = "the guest is known to support virtio; MAC addresses stay the same"


class PlannedServer(PlanSubject[ServerUnit]):
    """One server. Its stored properties are changed, and with them all its NICs."""

    def __init__(self, request: PlanRequest, server: Server, target: str) -> None:
        super().__init__(request, target, server.ref, server.cloud.project)
        self._server = server

    @cached_property
    def _judged_server(self) -> JudgedItem[Server]:
        return judged_server(self.request, self._server, self.target)

    def proposed(self) -> ProposedChanges:
        """The changes that findings propose, with those that are needed for the server to start
        again, if it is stopped for them, and with the policy's."""
        proposed = with_follow_up_changes(
            ProposedChanges(),
            lambda changes: worst_first(
                self._judged_server.findings_after(self._with_changes(changes))
            ),
            self._planned_change,
            _key,
        )
        proposed = self._with_new(proposed, self._startable(proposed))
        tuning = server_tuning(self.request.options.policy, self._with_changes(proposed.changes))
        return self._with_new(proposed, tuning.changes, POLICY)._replace(notes=tuning.notes)

    def _planned_change(self, finding: Finding) -> Change | None:
        """The finding's change, if it sets a property to a new value and is not left to the policy
        or held back as unsafe."""
        change = finding.change
        if (
            change is None
            or not self.request.may(change)
            or _new_property(finding, self._server) is None
        ):
            return None
        # a rule's reason is about one NIC's definition, whose address stays
        model = change.safe and change.field == "model"
        return replace(change, reason=_KEEPS) if model else change

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """Changes that are proposed and not planned, because they may hurt the guest or because
        Nova has no property for them; and NICs that are not virtio and for which nothing is
        planned."""
        if any(
            needs_model(rule, self._judged_server.catalogue) for rule in self._judged_server.skipped
        ):
            yield Reason("not-known", gates.properties_unknown(self._server) or _NO_MODEL), ""
        for finding in self._judged_server.findings:
            if finding.change is not None:
                reason = self._not_made(finding, finding.change)
            else:
                reason = self._without_change(finding, proposed)
            if reason is not None:
                yield reason, finding.rule

    def step(self, proposed: ProposedChanges) -> UnitStep[ServerUnit]:
        """The step, with the properties as Nova names them and the procedure for the server's
        owner."""
        server, properties = self._server, properties_of(proposed.changes)
        after = self._with_changes(proposed.changes)
        changed = changed_nics(server, after)
        unit = changed_server(server, changed, properties)
        hurts = risk(server, *changed[0]) if changed else ""
        safe, reason = safety(proposed.changes, hurts)
        view = guest_view(server, *changed[0], len(changed)) if changed else GuestView()
        rules = dict.fromkeys((*proposed.rules, *self._judged_server.resolved_rules(after)))
        procedure: tuple[str, ...] = ()  # an operator applies the plan
        if not gates.may_operate(server.cloud):
            procedure = tuple(tenant_procedure(server.config, server.cloud, properties))
        proposed = proposed._replace(
            rules=tuple(rules),
            blocked=(*gates.blocks(server), *self._against(after)),
            procedure=procedure,
            notes=(
                *proposed.notes,
                *gates.notes(server, properties),
                *_rebuild(server, properties),
            ),
        )
        step = unit_step(
            self, proposed, unit,
            readiness=server.declared.readiness, safe=safe, reason=reason,
            modes=gates.modes(server), running=gates.is_on(server),
        )  # fmt: skip
        return replace(step, guest=view, risk=hurts)

    def _with_changes(self, changes: Iterable[Change]) -> Server:
        return with_properties(self._server, properties_of(changes))

    def _with_new(
        self, proposed: ProposedChanges, more: Iterable[Change], *rules: str
    ) -> ProposedChanges:
        done = set(map(_key, proposed.changes))
        return proposed.and_((one for one in more if one.field not in done), *rules)

    def _startable(self, proposed: ProposedChanges) -> Iterator[Change]:
        """Changes of flags that contradict the flavor to the flavor's value, if a finding asks for
        them or the server is stopped anyway."""
        flags, config = dict(clashes(self._server)), self._server.config
        if proposed.changes or self._judged_server.resolved_rules(
            with_properties(self._server, flags)
        ):
            for name, value in flags.items():
                yield Change(name, config.property(name), value, safe=True, reason=_STARTABLE)

    def _not_made(self, finding: Finding, change: Change) -> Reason | None:
        if not is_decided(finding):
            return None
        if property_of(change) is None:
            return Reason("no-property", finding.fix) if finding.fix else None
        if self.request.may(change) or _new_property(finding, self._server) is None:
            return None
        return unsafe(change)

    def _without_change(self, finding: Finding, proposed: ProposedChanges) -> Reason | None:
        """Why a finding that proposes no change is left; None if the step resolves it."""
        if comes_unasked(finding.rule, self._judged_server.catalogue):
            resolved = self._judged_server.resolved_rules(self._with_changes(proposed.changes))
            text = f"{finding.message}. {finding.fix}"
            return None if finding.rule in resolved else Reason("comes-by-itself", text)
        stays = finding.fix and not proposed.changes and _is_emulated(finding, self._server)
        return Reason("no-proposal", guests.no_change(self._server)) if stays else None

    def _against(self, after: Server) -> Iterator[Blocked]:
        """The reasons not to apply the step: because of settings that are unknown, of the server's
        new ones, and of this user's rights."""
        if against := gates.properties_unknown(self._server):
            yield Blocked("not-known", against)
        refused = tuple(Blocked("does-not-start", one) for one in does_not_start(after))
        yield from refused or self._judged_server.new_errors(after)
        if not gates.may_operate(self._server.cloud):
            yield Blocked("operator-only", TENANT)


def _rebuild(server: Server, properties: dict[str, str]) -> Iterator[str]:
    """A note that the image still names an emulated model."""
    image = server.config.image
    if MODEL in properties and image is not None and image.vif_model not in (None, *VIRTIO):
        yield _REBUILD.format(model=image.vif_model)


def _key(change: Change) -> str:
    """The property that the change sets."""
    return PROPERTY_OF.get(change.field, change.field)


def judged_server(request: PlanRequest, server: Server, target: str) -> JudgedItem[Server]:
    """A judged server, without a host: the server record has the facts about its compute node.
    Raises RefusedError if a rule crashes."""
    return JudgedItem(server, request, lambda work, one: work.domain(one, HostConfig(), target))


def needs_model(rule: str, catalogue: Catalogue) -> bool:
    """True if a rule was skipped on a server because a NIC's model is unknown: other facts that
    such a rule needs are known for every server."""
    return rule != EVERY_RULE and facts.SERVER_MODEL in catalogue.main_judge(rule).needs


def comes_unasked(rule: str, catalogue: Catalogue) -> bool:
    """True if the problem that a rule finds resolves itself, whatever is planned."""
    return rule in catalogue.ids and catalogue.rule(rule).unasked


def _new_property(finding: Finding, server: Server) -> tuple[str, str] | None:
    """The property that a finding's change sets, if findings decide it and the server does not have
    that value yet."""
    if finding.change is None or not is_decided(finding):
        return None
    found = property_of(finding.change)
    return None if found is None or has_value(server.config, *found) else found


def _is_emulated(finding: Finding, server: Server) -> bool:
    """True if the NIC of the finding is emulated; for a finding on the whole server, if any of its
    NICs is."""
    index = finding.about.index
    about = (nic for nic in server.nics if index in (None, nic.index))
    return any(nic.declared.model not in (None, *VIRTIO) for nic in about)
