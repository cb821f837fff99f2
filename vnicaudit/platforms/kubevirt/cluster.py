"""The objects of a cluster -> :class:`~vnicaudit.model.cluster.ClusterFacts`, and its VMs as
domains with what these objects say of each.

The objects come from the lists of a live cluster, or from files that hold them. They are taken
first, in any order, and only small records are kept of them. Then each VM becomes a domain: joined
with its instance by UID, and with the revision of its preference that it recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from vnicaudit.model.cluster import (
    Attachment,
    ClusterFacts,
    ClusterGuest,
    ClusterNode,
    ClusterPod,
    KubeVirtSettings,
    OwnedObject,
    RecordedReference,
    UserNetwork,
)
from vnicaudit.model.domain import ClusterDomain, Domain
from vnicaudit.model.finding import Location
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.kubevirt import cluster_guests as guests
from vnicaudit.platforms.kubevirt import cluster_objects as read
from vnicaudit.platforms.kubevirt.cluster_guests import Instance
from vnicaudit.platforms.kubevirt.cluster_objects import Launcher
from vnicaudit.platforms.kubevirt.interfaces import ATTACHMENT, INSTANCETYPES, Key, Referred, key_of
from vnicaudit.platforms.kubevirt.objects import (
    GROUP,
    KINDS,
    VMI_SPEC,
    Object,
    integer_at,
    preference_of,
    text_at,
)
from vnicaudit.platforms.kubevirt.read import domain_of
from vnicaudit.text.yaml_nodes import YamlPlace

T = TypeVar("T")

NEEDED_LISTS = (
    "virtualmachines", "virtualmachineinstances", "kubevirts", "nodes",
    "network-attachment-definitions", "userdefinednetworks", "clusteruserdefinednetworks",
    "virtualmachinepreferences", "virtualmachineclusterpreferences", "controllerrevisions",
    "plugins",
)  # fmt: skip
"""Lists without which something is unknown."""

MACHINE, INSTANCE = "VirtualMachine", "VirtualMachineInstance"
_ALLOW_BRIDGE = "kubevirt.io/allow-pod-bridge-network-live-migration"
_HOOKS = "hooks.kubevirt.io/hookSidecars"


def is_of_cluster(found: Object) -> bool:
    """True for an object that comes from a cluster, which gave it a UID."""
    return text_at(found.place, "metadata", "uid") is not None


class ClusterReading:
    """The objects of one cluster, as they are read."""

    def __init__(
        self, target: str, name: str, now: datetime | None = None, server: str = ""
    ) -> None:
        """``name``: the cluster's context, or the file. For a live cluster: ``now``: the time of
        the reading, with its zone; ``server``: the URL of its API server."""
        self._target, self._name, self._now, self._server = target, name, now, server
        self._complete: set[tuple[str, str]] = set()
        self._settings: KubeVirtSettings | None = None
        # by UID or name: after a list expired, objects that changed since come again
        self._nodes: dict[str, ClusterNode] = {}
        self._attachments: dict[str, Attachment] = {}
        self._networks: dict[str, UserNetwork] = {}
        self._plugins: dict[str, bool] = {}
        self._referred = Referred({}, {}, {})
        self._preferred: dict[Key, dict[str, str]] = {}
        self._preferences: dict[str, OwnedObject] = {}
        self._revisions: dict[tuple[str, str], _Revision] = {}
        self._instances: dict[str, Instance] = {}
        self._machines: set[str] = set()
        self._migrations: dict[str, bool] = {}
        self._pods: dict[str, ClusterPod] = {}
        self._launchers: dict[tuple[str, str], Launcher] = {}
        """UID of an instance and node -> the pod."""

    def listed(self, resource: str, namespace: str = "") -> None:
        """Note that all objects of a resource (plural: ``nodes``) are among those taken; of one
        namespace, if only that was asked for. Not for pods, where only launchers were."""
        self._complete.add((resource, namespace))

    def take(self, found: Object) -> None:
        """Take one object. Of a VM only that it is there is kept."""
        self._referred.add(found, self._target)
        kind, name = found.kind, found.display_name
        if kind == "Node":
            self._nodes[name] = read.node_of(found, self._target)
        elif kind == "KubeVirt":
            self._settings = read.settings_of(found, self._target)
        elif kind == ATTACHMENT:
            self._attachments[name] = read.attachment_of(found, self._target)
        elif kind in ("UserDefinedNetwork", "ClusterUserDefinedNetwork"):
            self._networks[f"{kind} {name}"] = read.user_network_of(found)
        elif kind in KINDS and found.name:
            key = key_of(kind, found.name, found.space)
            self._preferred[key] = read.preferred_of(found.place.child("spec"))
            self._preferences[f"{kind} {name}"] = OwnedObject(**read.ownership_of(found.place))
        elif kind == "Pod":
            self._take_pod(found)
        else:
            self._take_of_guests(found)

    def _take_of_guests(self, found: Object) -> None:
        """A virtual machine, its instance, and what is on its way to it."""
        kind, uid = found.kind, text_at(found.place, "metadata", "uid") or ""
        if kind == MACHINE:
            self._machines.add(uid)
        elif kind == INSTANCE:
            instance = guests.instance_of(found, self._now)
            self._instances[instance.owner or uid] = instance
        elif kind == "ControllerRevision":
            if (revision := _revision_of(found, self._target)) is not None:
                self._revisions[found.namespace or "", found.name or ""] = revision
        elif kind == "Plugin" and found.group == "plugin.kubevirt.io":
            if (conditional := read.is_conditional(found)) is not None:
                self._plugins[found.name or ""] = conditional
        elif kind == "Migration" and found.group == "forklift.konveyor.io":
            self._migrations[uid] = read.migration_runs(found)

    def _take_pod(self, found: Object) -> None:
        pod, key = read.pod_of(found), f"{found.namespace}/{found.name}"
        self._pods.pop(key, None)
        if pod is None:
            return
        if pod.networks or pod.unread:
            self._pods[key] = pod
        if (launcher := read.launcher_of(found)) is not None:
            self._launchers[launcher.uid, launcher.node] = launcher

    @property
    def left_out(self) -> Iterator[NotJudged]:
        """Objects that were taken, and say too little to be judged."""
        for each in self._attachments.values():
            if not each.is_certain:
                why = "network {}: its configuration is made by a template, or too long: not judged"
                yield _not_judged(why.format(each.path), each.location)
        for node in self._nodes.values():
            if node.schedulable and not node.cordoned and node.allocatable is None:
                why = f"node {node.name} does not say what it offers (status.allocatable)"
                yield _not_judged(f"{why}: not judged", node.location)
        for pod in self._pods.values():
            if pod.unread:
                told = f"pod {pod.namespace}/{pod.name}: its annotation {pod.unread} is longer than"
                yield NotJudged(f"{told} 64 KiB: not judged", self._target, 0)
        all_machines = self._looked("virtualmachines")
        for owner, one in self._instances.items():
            stays = one.phase not in read.ENDED and not one.deleting
            if all_machines and one.owner and owner not in self._machines and stays:
                why = f"instance {one.name}: the virtual machine that owns it is not there"
                yield NotJudged(f"{why}: not judged", self._target, 0)

    @cached_property
    def facts(self) -> ClusterFacts:
        """The cluster, when all of its objects were taken."""
        known = {each.path: each.resource for each in self._attachments.values()}
        requests: Counter[str] = Counter()
        for instance in self._instances.values():
            for spec in () if instance.phase in read.ENDED else instance.specs.values():
                if spec.binding == "sriov" and (resource := known.get(spec.network or "")):
                    requests[resource] += 1
        settings = self._settings
        return ClusterFacts(
            target=self._target,
            name=self._name,
            server=self._server,
            location=Location(self._target) if settings is None else settings.location,
            kubevirt=settings,
            nodes=self._known(self._nodes, "nodes"),
            attachments=self._known(self._attachments, "network-attachment-definitions"),
            user_networks=tuple(self._networks.values())
            if self._looked("userdefinednetworks") and self._looked("clusteruserdefinednetworks")
            else None,
            plugins=self._plugins if self._plugins or self._looked("plugins") else None,
            preferences=self._preferences,
            migrations=self._migrations,
            pods=tuple(self._pods.values()) if self._looked("pods") else None,
            requests=dict(requests),
            complete=frozenset(self._complete),
            places={
                **{f"node/{each.name}": each.location for each in self._nodes.values()},
                **{f"network/{each.path}": each.location for each in self._attachments.values()},
            },
        )

    @property
    def preferences(self) -> dict[Key, Preference | None]:
        """The preferences as they are today; None: two of one name differ."""
        return self._referred.preferences

    def _known(self, found: dict[str, T], resource: str) -> tuple[T, ...] | None:
        """The objects that were found; None if it may be that nobody looked."""
        return tuple(found.values()) if found or self._looked(resource) else None

    def _looked(self, resource: str) -> bool:
        return any(resource == each for each, _namespace in self._complete)

    def stands_alone(self, found: Object) -> bool:
        """True for an instance that belongs to none of the VMs that were taken."""
        return guests.owner_uid(found) not in self._machines

    def domain(self, found: Object, *others: Referred) -> Domain | None:
        """The domain of a VM, or of an instance that stands alone; None for any other object, and
        for one without ``spec.domain``. ``others``: objects beside those that were taken."""
        if found.kind not in VMI_SPEC or (found.kind == INSTANCE and not self.stands_alone(found)):
            return None
        preference = self._reference(found, "preference")
        instancetype = self._reference(found, "instancetype")
        recorded, known = Referred({}, {}, {}), [self._referred, *others]
        for each in (preference, instancetype):
            if each is not None and each.revision:
                key = key_of(each.kind, each.name, found.space)
                known = [one.without(key) for one in known]
                if (kept := self._recorded_revision(found, each)) is not None:
                    recorded.preferences[key] = kept.preference
                    recorded.vcpus[key] = kept.vcpus
        domain = domain_of(found, [recorded, *known], self._target)
        if domain is None:
            return None
        guest = self._guest(found, preference, instancetype)
        fields = {name: getattr(domain, name) for name in Domain.__struct_fields__}
        fields |= {
            "declared": guests.declared_in_cluster(
                domain.declared, guest, self._instance(found).readiness
            ),
            "uuid": text_at(found.place, "metadata", "uid"),
            "unjudged": _leaving(found) or domain.unjudged,
        }
        if guest.runs and guest.has is not None:
            fields["nics"] = tuple(
                guests.as_it_runs(nic, guest, guest.has, known) for nic in domain.nics
            )
        return ClusterDomain(**fields, guest=guest)

    def _reference(self, found: Object, key: str) -> RecordedReference | None:
        """The preference or instance type of a VM; its fields are filled in later."""
        place = found.place.at("spec", key) if found.kind == MACHINE else None
        status = found.place.at("status", f"{key}Ref")
        name = text_at(status, "name") or text_at(place, "name")
        if place is None or name is None:
            return None
        cluster, own = _KINDS[key]
        kind = (text_at(status, "kind") or text_at(place, "kind") or cluster).lower()
        revision = (
            text_at(status, "controllerRevisionRef", "name") or text_at(place, "revisionName") or ""
        )
        kind = own if kind == own.lower() else cluster
        return RecordedReference(kind=kind, name=name, revision=revision)

    def _recorded_revision(self, found: Object, reference: RecordedReference) -> _Revision | None:
        """The revision that a VM recorded; None: none, or it was not read."""
        return self._revisions.get((found.namespace or "", reference.revision))

    def _instance(self, found: Object) -> Instance:
        """That of a VM, or the one that stands alone; an empty one if there is none."""
        uid = text_at(found.place, "metadata", "uid") or ""
        owner = "" if found.kind == MACHINE else guests.owner_uid(found)
        return self._instances.get(owner or uid, Instance())

    def _guest(
        self,
        found: Object,
        preference: RecordedReference | None,
        instancetype: RecordedReference | None,
    ) -> ClusterGuest:
        """Facts of the cluster about a VM, or of an instance that stands alone."""
        place, has_vm = found.place, found.kind == MACHINE
        namespace, instance = found.namespace or "", self._instance(found)
        launcher = self._launchers.get((instance.uid, instance.node or ""), Launcher())
        spec = place.at("spec", "template", "spec") if has_vm else None
        prefers = self._prefers(found, preference)
        annotations = {*read.texts_of(place.at("spec", "template", "metadata", "annotations"))}
        annotations |= instance.annotations
        return ClusterGuest(
            cluster=self.facts,
            name=found.name or "",
            namespace=namespace,
            has_vm=has_vm,
            run_strategy=guests.run_strategy_of(place) if has_vm else "",
            runs=instance.phase == "Running",
            deleting=place.at("metadata", "deletionTimestamp") is not None or instance.deleting,
            migrating=instance.migrating,
            node=instance.node,
            age=read.seconds_between(instance.created, self._now),
            template=guests.template_settings(spec, prefers) if has_vm else None,
            has=instance.settings,
            current=instance.current,
            nics=guests.joined_nics(
                guests.template_specs(spec, namespace, prefers), instance, launcher.mtus
            ),
            conditions=(*(read.conditions_of(place) if has_vm else ()), *instance.conditions),
            preference=self._recorded(found, spec, preference),
            instancetype=self._recorded_type(found, instancetype),
            launcher=launcher.name,
            vhost=launcher.vhost,
            hooks=_HOOKS in annotations,
            bridge_may_migrate=_ALLOW_BRIDGE in annotations,
            busy=guests.busy_of(place),
            unsettled=guests.unsettled_state_of(place),
            imported_by=guests.import_of(place),
            groups=guests.anti_affinity_of(spec),
            **read.ownership_of(found.place),
        )

    def _prefers(
        self, found: Object, preference: RecordedReference | None
    ) -> dict[str, str] | None:
        """The NIC fields that the VM's next start gets from its preference; None: unknown."""
        if preference is None:
            return None if found.place.at("spec", "preference") is not None else {}
        if preference.revision:
            return (self._recorded_revision(found, preference) or _Revision()).preferred
        return self._present(found, preference)

    def _present(self, found: Object, preference: RecordedReference) -> dict[str, str] | None:
        """The NIC fields of a preference as it is today."""
        return self._preferred.get(key_of(preference.kind, preference.name, found.space))

    def _recorded_type(
        self, found: Object, instancetype: RecordedReference | None
    ) -> RecordedReference | None:
        """The instance type of a VM, with its vCPUs as recorded, and as they are today."""
        if instancetype is None:
            return None
        kept = self._recorded_revision(found, instancetype) or _Revision()
        now = self._referred.vcpus.get(key_of(instancetype.kind, instancetype.name, found.space))
        return replace(instancetype, then=_vcpus(kept.vcpus), now=_vcpus(now))

    def _recorded(
        self, found: Object, spec: YamlPlace | None, preference: RecordedReference | None
    ) -> RecordedReference | None:
        """The preference of a VM, with the fields that the VM leaves to it."""
        if preference is None or spec is None:
            return None
        left = guests.left_to_preference(spec)
        then = (self._recorded_revision(found, preference) or _Revision()).preferred
        now = self._present(found, preference)
        return replace(
            preference,
            then=None if then is None else {key: then[key] for key in left if key in then},
            now=None if now is None else {key: now[key] for key in left if key in now},
        )


def _not_judged(message: str, place: Location) -> NotJudged:
    return NotJudged(message, place.file or place.target, place.line or 0)


def _vcpus(count: int | None) -> dict[str, str] | None:
    return None if count is None else {"vCPUs": str(count)}


def _leaving(found: Object) -> str:
    """Why a virtual machine that goes away is not judged; empty: it stays."""
    if found.place.at("metadata", "deletionTimestamp") is not None:
        return "a virtual machine that stays: this one is being deleted"
    ended = found.kind == INSTANCE and text_at(found.place, "status", "phase") in read.ENDED
    return "an instance that runs: this one has ended" if ended else ""


class _Revision(NamedTuple):
    """A ControllerRevision of a preference or an instance type."""

    preferred: dict[str, str] | None = None
    preference: Preference | None = None
    vcpus: int | None = None


_KINDS = {
    "preference": ("VirtualMachineClusterPreference", "VirtualMachinePreference"),
    "instancetype": INSTANCETYPES,
}
"""Key of a VM -> the kinds that it may refer to; the first is the default."""


def _revision_of(found: Object, target: str) -> _Revision | None:
    """A ControllerRevision as it is kept; None if it is of something else."""
    data = found.place.child("data")
    kind = text_at(data, "kind") or ""
    if data is None:
        return None
    if kind in INSTANCETYPES:
        return _Revision(vcpus=integer_at(data, "spec", "cpu", "guest"))
    if kind not in KINDS:
        return None
    preference = preference_of(Object(kind, GROUP, data), target)
    # without a file, as a change there would not reach the VM
    here = replace(preference, location=Location(target))
    return _Revision(read.preferred_of(data.child("spec")), here)
