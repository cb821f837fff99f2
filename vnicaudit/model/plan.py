"""Plans: changes proposed for each NIC, written to a file for review before anything is done.

The records are the file (``vnicaudit.plan/1``, :mod:`vnicaudit.reports.plan`). It is edited by
hand, so an unknown field in it is an error.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Generic, Literal, NamedTuple, TypeVar

import msgspec

from vnicaudit.model.finding import Change, Owner, Readiness, Ref

# Reasons why something is not planned, cannot be applied, is refused or is not possible, as codes
# for machines.
#
# ``docs/reference/reasons.md`` lists them all, ``refusals.md`` those of a unit of a run. A code
# never changes; the sentence beside it may be reworded.


NotPlannedCode = Literal[
    "already", "cannot-be-changed", "comes-by-itself", "live-only", "no-definition", "no-domain",
    "no-interface", "no-property", "no-proposal", "not-known", "owner-decides", "rule-crashed",
    "template", "too-many-nics", "unsafe",
]  # fmt: skip


BlockedCode = Literal[
    "behind-libvirt", "brings-up-error", "busy", "by-hand", "device-driver", "device-in-use",
    "device-missing", "device-not-given", "device-not-seen", "does-not-start", "in-a-file",
    "locked", "mac-missing", "mac-not-unique", "managed-save", "memory-snapshot", "nic-type",
    "no-definition", "not-known", "not-supported", "nova-too-old", "operator-only", "other-project",
    "owner-changes-it", "prerequisite", "server-state", "shared-memory", "teamed",
    "version-not-known", "version-too-old",
]  # fmt: skip

ModeCode = Literal[
    "definition-only", "in-a-file", "needs-stop", "new-servers", "no-agent", "not-foreseen", "off",
    "root-bus", "server-state", "shares-slot", "shelved", "virtio-only", "waits-for-socket",
    "windows",
]  # fmt: skip


NotAppliedCode = Literal["loss", "unsafe"]
"""Reason why a step that is not blocked is not applied."""


class Reason(NamedTuple):
    """A code, and the sentence for people."""

    code: NotPlannedCode
    text: str


class Blocked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reason why a step cannot be applied as it is: a code, and the sentence for people."""

    code: BlockedCode
    text: str


RefusalCode = Literal[
    "agent", "backend", "busy", "cluster", "drift", "edited", "group", "held", "in-use",
    "kept-original", "locked", "measuring", "mode", "moved", "node-down", "not-begun",
    "nova-manage", "nova-release", "other", "owner", "plan", "power", "saved-memory", "shelved",
    "state", "transient", "unreachable", "unreadable", "whole-only",
]  # fmt: skip
"""Reason why a unit of a run was refused. The sentence beside it says more."""


Mode = Literal["next-boot", "restart", "hotswap"]
MODES: tuple[Mode, ...] = ("next-boot", "restart", "hotswap")
"""``next-boot``: redefine, and leave the running guest alone. ``restart``: also shut the guest down
and start it. ``hotswap``: also replace the device in the running guest."""

Goal = Literal["virtio", "vdpa", "vhostuser"]

CloudObject = Literal["server", "image", "flavor"]
"""An object of a cloud that can be changed."""

ClusterKind = Literal["kube-vm", "kube-preference", "kube-nad", "kube-config"]
"""An object of a cluster that can be changed: a virtual machine, a preference (of one namespace or
of all), a network attachment definition, the KubeVirt object."""

UnitKind = Literal["domain", "file", "server", "image", "flavor", "setting"] | ClusterKind

PLAN_SCHEMA: Literal["vnicaudit.plan/1"] = "vnicaudit.plan/1"


class FindingKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rule and the fingerprint of a finding, which identify it across audits."""

    rule: str
    fingerprint: str


class ModeOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a step can take effect, or cannot; ``reason`` says why not, or when."""

    mode: Mode
    possible: bool
    reason: str = ""
    code: ModeCode | Literal[""] = ""
    """``reason`` for machines; empty: there is none."""


class Loss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function of the NIC that the change removes. It blocks the step unless ``accepted``.

    ``function`` is the name by which it is accepted: ``filterref``, ``isolation``, ``bandwidth``…
    """

    function: str
    detail: str
    accepted: bool = False


class Naming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The interface's name in the guest before and after; None if unknown. ``reason`` says how it
    was determined or predicted."""

    before: str | None = None
    after: str | None = None
    reason: str = ""
    same_device: bool = False
    """The guest finds the same device, so the name stays, even if it is unknown."""

    @property
    def changes(self) -> bool | None:
        """True if the interface gets a different name; None if that is unknown."""
        if self.same_device:
            return False
        if self.before is None or self.after is None:
            return None
        return self.before != self.after


class Snippet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of the guest's configuration that keeps the interface's name (or its address).

    ``kind``: systemd-link, udev, netsh or powershell; ``path``: the file in the guest, empty for
    commands to be run there; ``text``: the content.
    """

    kind: str
    path: str
    text: str


class GuestView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The NIC as the guest will see it: PCI ids as ``8086:100e``; slots as ``0000:00:03.0``, on
    s390x as ``0.0.0001`` (the ccw device number); None if unknown or missing."""

    id_before: str | None = None
    id_after: str | None = None
    slot_before: str | None = None
    slot_after: str | None = None
    name: Naming = Naming()
    drivers: tuple[str, ...] = ()
    """Drivers that the guest needs, by their names in that system: ``virtio_net``, ``NetKVM``."""
    notes: tuple[str, ...] = ()
    """Further effects in the guest, one sentence each."""
    snippets: tuple[Snippet, ...] = ()


class OwnerFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object for the owner to review and to apply there, in that owner's own form.

    ``name``: of its file, below the folder of the step's target; a slash makes folders. ``text``:
    its lines, with the last one's line break.
    """

    name: str
    text: str


class _Unit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """An object that one step changes."""


class DomainUnit(_Unit, frozen=True, tag="domain"):
    """A domain of a live host: its persistent definition, and the running guest."""

    kind: ClassVar[UnitKind] = "domain"


class FileUnit(_Unit, frozen=True, tag="file"):
    """A definition in a file. ``path``: of the file; ``place``: XPath of the NIC in it; ``line``:
    where the definition begins (None: not known)."""

    kind: ClassVar[UnitKind] = "file"
    path: Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*$")]
    place: str | None = None
    line: int | None = None

    @property
    def definition(self) -> str:
        """XPath of the definition, which distinguishes it from others of that name in the file."""
        return (self.place or "").partition("/devices/")[0]


class CloudUnit(_Unit, frozen=True):
    """An object of an OpenStack cloud that is changed.

    ``properties`` are the values to set, under the names of Nova and Glance; None: to be removed.
    ``old`` are their values when the step was made; None: not set. ``project`` is the id of the
    project it belongs to; ``project_name`` its name (empty: unknown).
    """

    kind: ClassVar[CloudObject]
    properties: dict[str, str | None]
    old: dict[str, str | None]
    project: str = ""
    project_name: str = ""


class ServerUnit(CloudUnit, frozen=True, tag="server"):
    """A server: its properties in Nova, and the facts that decide when it may be changed.

    ``groups``: ids of the server groups it is a member of, whose members are changed one at a time.
    ``macs``: the MAC addresses of the NICs that the change affects. ``image``: the id of the image
    that it was created from (empty: unknown, or it boots from a volume); ``image_name`` and
    ``flavor``: the names of that image and of its flavor (empty: unknown).
    """

    kind: ClassVar[CloudObject] = "server"
    host: str | None = None
    zone: str = ""
    groups: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    image: str = ""
    image_name: str = ""
    flavor: str = ""


class ImageUnit(CloudUnit, frozen=True, tag="image"):
    """An image: its properties."""

    kind: ClassVar[CloudObject] = "image"


class FlavorUnit(CloudUnit, frozen=True, tag="flavor"):
    """A flavor. ``new_name``: name of the copy that is created; the old flavor stays."""

    kind: ClassVar[CloudObject] = "flavor"
    new_name: str = ""


class SettingUnit(_Unit, frozen=True, tag="setting"):
    """Settings of one device of a host, or of the host itself (``device`` empty), each by the field
    of its change (:func:`vnicaudit.knowledge.host_settings.field_of`): the ``values`` to set, and
    the ``old`` ones when the step was made. ``mac``: of the device; empty: it has none that
    identifies it. ``machine``: as in :class:`~vnicaudit.model.host_facts.HostFacts`; empty:
    unknown. ``over``: names of the owners of these settings over whose heads they are set, as the
    user asked for (``--over-owner``)."""

    kind: ClassVar[UnitKind] = "setting"
    device: str
    mac: str
    values: dict[str, str]
    old: dict[str, str]
    machine: str = ""
    over: tuple[str, ...] = ()


JsonValue = str | bool | int | dict[str, str]
"""The value of a field of an object of a cluster, as far as one is changed."""


class PatchLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One field of an object of a cluster. ``path``: JSON pointer to it; ``before`` and ``after``:
    its values, None if it is not there; ``name``: of the interface or the network in whose entry of
    a list it is, which tells that entry from others (empty: it is in none)."""

    path: str
    name: str = ""
    before: JsonValue | None = None
    after: JsonValue | None = None


class ClusterUnit(_Unit, frozen=True):
    """An object of a cluster that is patched. ``namespace`` empty: it is in none. ``marks``: those
    of owners that it had when the step was made; ``gitops``: those of objects that a repository
    keeps; ``server``: the URL of the API server then."""

    kind: ClassVar[ClusterKind]
    uid: str
    namespace: str
    name: str
    patch: tuple[PatchLine, ...]
    marks: tuple[str, ...] = ()
    gitops: tuple[str, ...] = ()
    server: str = ""

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class VmUnit(ClusterUnit, frozen=True, tag="kube-vm"):
    """A virtual machine. ``groups``: pools and groups with anti-affinity that it is a member of,
    whose members are changed one at a time."""

    kind: ClassVar[ClusterKind] = "kube-vm"
    groups: tuple[str, ...] = ()


class PreferenceUnit(ClusterUnit, frozen=True, tag="kube-preference"):
    """A preference of one namespace, or of all of them."""

    kind: ClassVar[ClusterKind] = "kube-preference"


class NetworkUnit(ClusterUnit, frozen=True, tag="kube-nad"):
    """A network attachment definition."""

    kind: ClassVar[ClusterKind] = "kube-nad"


class ConfigUnit(ClusterUnit, frozen=True, tag="kube-config"):
    """The KubeVirt object."""

    kind: ClassVar[ClusterKind] = "kube-config"


Unit = (
    DomainUnit | FileUnit | ServerUnit | ImageUnit | FlavorUnit | SettingUnit
    | VmUnit | PreferenceUnit | NetworkUnit | ConfigUnit
)  # fmt: skip
"""The object that one step changes."""

UnitT = TypeVar("UnitT", bound=Unit)
UnitT_co = TypeVar("UnitT_co", bound=Unit, covariant=True)

UnitInCloud = ServerUnit | ImageUnit | FlavorUnit
CloudUnitT = TypeVar("CloudUnitT", bound=UnitInCloud)


class UnitStep(msgspec.Struct, Generic[UnitT_co], frozen=True, forbid_unknown_fields=True):
    """One change to one NIC, to a server (all its NICs), an image or a flavor, or to the settings
    of a host or one of its links.

    ``target`` is the target it was found in; ``unit`` is the object to change; ``about`` identifies
    the NIC, server, image or flavor. ``digest`` is the digest of the step's source
    (:mod:`vnicaudit.remedy.replacing`): the step is refused if the source has changed since.
    """

    id: str
    target: str
    about: Ref
    owner: Owner | Literal["host"]
    to: Goal
    rules: tuple[str, ...]
    changes: tuple[Change, ...]
    readiness: Readiness
    safe: bool
    reason: str
    """Why it is safe or unsafe."""
    running: bool
    """The guest is running: the step needs a restart or a hot swap to take effect."""
    modes: tuple[ModeOption, ...]
    digest: str
    diff: str
    unit: UnitT_co
    guest: GuestView = GuestView()
    losses: tuple[Loss, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    """Why it cannot be applied as it is; empty: it can."""
    procedure: tuple[str, ...] = ()
    """Instructions for the owner's system: commands and sentences, in order."""
    files: tuple[OwnerFile, ...] = ()
    """What the owner is given, as files that ``plan --patches`` writes."""
    notes: tuple[str, ...] = ()
    """Further remarks, such as a managed save or a host that could not be checked."""
    risk: str = ""
    """The end of ``reason`` that does not belong to a change: further risks."""
    findings: tuple[FindingKey, ...] = ()
    """The findings for which it is planned; none for a unit of a cloud."""

    @property
    def reason_of_changes(self) -> str:
        """The beginning of ``reason``: why the changes are safe or unsafe, as the step is."""
        reasons = (change.reason for change in self.changes if change.safe == self.safe)
        return "; ".join(dict.fromkeys(filter(None, reasons)))

    @property
    def refused(self) -> tuple[str, ...]:
        """All reasons why it is not applied; empty: it can be applied."""
        lost = tuple(
            f"{loss.detail} (accept it by name: {loss.function})"
            for loss in self.losses if not loss.accepted
        )  # fmt: skip
        return (*(one.text for one in self.blocked), *lost)

    def mode(self, name: Mode) -> ModeOption:
        """The option for that mode; an impossible one if the step does not list it."""
        for option in self.modes:
            if option.mode == name:
                return option
        return ModeOption(name, possible=False, reason="not foreseen", code="not-foreseen")


Step = UnitStep[Unit]
"""A step on a unit of any kind."""


class NotPlanned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A NIC, or a server, image or flavor of a cloud, that has findings but is not planned, and
    why."""

    about: Ref
    target: str
    rules: tuple[str, ...]
    reason: str
    project: str = ""
    """The id of its project, in a cloud."""
    project_name: str = ""
    """The project's name; empty: unknown."""
    code: NotPlannedCode | Literal[""] = ""
    """``reason`` for machines."""
    file: str | None = None
    """The file of its definition, if that is in a file."""
    line: int | None = None
    """Line of the file on which the definition begins."""

    @property
    def text(self) -> str:
        """The reason, worded for the person who makes the plan and may choose a different
        option."""
        more = " (--include-unsafe plans it)" if self.code == "unsafe" else ""
        return f"{self.reason}{more}"


Planned = Step | NotPlanned
"""A result of planning."""


class PlanHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A host of an inventory on which a step is planned: its name, the target of its steps, its
    site and its groups there."""

    name: str
    uri: str
    site: str = ""
    groups: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan for review, and its file."""

    schema: Literal["vnicaudit.plan/1"] = PLAN_SCHEMA
    tool: str
    version: str
    created: str
    to: Goal
    targets: tuple[str, ...]
    steps: tuple[Step, ...]
    not_planned: tuple[NotPlanned, ...] = ()
    errors: tuple[str, ...] = ()
    """Targets and files that could not be read."""
    notes: tuple[str, ...] = ()
    """Further remarks on the targets, such as objects of a cloud hidden from this user."""
    unread_targets: int = 0
    """Number of targets that could not be read at all."""
    hosts: tuple[PlanHost, ...] = ()
    """For a plan of an inventory: its hosts with a step."""
