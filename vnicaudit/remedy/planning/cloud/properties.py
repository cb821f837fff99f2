"""A server as it would be with other properties, and the reasons why it might not start then.

Source: Nova 34.0.0, ``virt/hardware.py`` (``get_vif_multiqueue_constraint``,
``get_packed_virtqueue_constraint``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import count, word
from vnicaudit.knowledge.fixes.nova import COMES_BACK, way_on
from vnicaudit.knowledge.fixes.wording import options
from vnicaudit.knowledge.nova_releases import IMAGE_PROPERTY, LASTING
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import Readiness
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import (
    FLAVOR_WORDS,
    MODEL,
    MULTIQUEUE,
    MULTIQUEUE_VCPUS,
    PACKED,
    CloudServer,
    NovaVersions,
    ServerConfig,
    as_flag,
)
from vnicaudit.model.plan import MODES, Blocked, CloudUnitT, ModeOption, ServerUnit, UnitStep
from vnicaudit.remedy.planning.subject import PlanSubject, ProposedChanges
from vnicaudit.remedy.replacing import kept_digest
from vnicaudit.text.targets import client

# Obstacles to changing a server, the ways in which a change can take effect, and notes on it.
#
# Sources: Nova 34.0.0, ``cmd/manage.py`` (a property is set on servers whose vm_state is stopped,
# shelved or shelved_offloaded), ``api/openstack/common.py`` (status by vm_state),
# ``conductor/manager.py`` and ``compute/manager.py`` (unshelve), ``compute/api.py``
# (``check_instance_lock`` lets an administrator pass); release notes of 25.0 (``nova-manage
# image_property``).


_LONGEST = 100
"""Maximum number of characters quoted from text that a user entered; Nova has the whole text."""

_OLD = (
    "this is Nova {newest} or older, which cannot change what it keeps for a server (nova-manage "
    "image_property came with 25.0, Yoga): upgrade it, or rebuild the server from a corrected "
    "image, which erases its root disk"
)
_MAYBE_OLD = "this needs Nova 25.0 (Yoga) or later; the version of this cloud is unknown"
_LOCKED = "it is locked{reason}: ask who locked it, then {openstack} server unlock {id}"
_BUSY = "Nova is working on it ({task}): plan again when that is done"
_STATES = {
    "PAUSED": "it is paused: {way}, then plan again",
    "SUSPENDED": "it is suspended: {way}, then plan again",
    "RESCUE": "it is in rescue mode: {way}, then plan again",
    "VERIFY_RESIZE": "its resize or migration waits for confirmation: {way}, then plan again",
    "ERROR": "it is in error: {way}, then plan again",
    "BUILD": "it is being built: plan again when it is ACTIVE",
    "SOFT_DELETED": "it is deleted: {way} brings it back",
    "UNKNOWN": "Nova does not know its state (its cell does not answer): plan again when it does",
}
_OTHER = "it is {status}: plan again when it is ACTIVE or SHUTOFF"
_SNAPSHOT = (
    "it is shelved, and unshelving rebuilds it from its snapshot, with the snapshot's "
    "properties: {way}, then plan again"
)

_RUNS = (
    "Nova can set a property only while the server is stopped or shelved: this one is running "
    "and must be stopped first"
)
_OFF = "the server is off: the change takes effect when it is started"
_SHELVED = "the server is shelved: the change takes effect when it is unshelved"
_NEVER = (
    "Nova plugs in NICs with the model that it keeps for the server, and that can be set only "
    "while the server is stopped"
)

_UNSEEN = (
    "it is unknown what Nova keeps for it: Nova 31 and later report it (microversion 2.98), and "
    "so does nova-manage image_property show {id} hw_vif_model on a controller"
)
_UNSEEN_VOLUME = (
    "it is unknown what Nova keeps for it: Nova does not report it for servers that boot from a "
    "volume, but nova-manage image_property show {id} hw_vif_model on a controller does"
)
_ON = frozenset({
    "ACTIVE", "REBOOT", "HARD_REBOOT", "PASSWORD", "MIGRATING", "PAUSED", "RESCUE", "VERIFY_RESIZE",
})  # fmt: skip
"""Statuses in which a guest runs, or would if it were not paused."""

_INFERRED = (
    "what Nova keeps for it is inferred from its image, which has not changed since the server "
    "was created: nova-manage image_property show {id} NAME shows it for certain"
)
_DEFINED = (
    "what Nova keeps for it is inferred from its definition on the compute node: nova-manage "
    "image_property show {id} NAME shows it for certain"
)
_VOLUME = (
    "it boots from a volume: servers created from that volume later get the volume's properties "
    "({openstack} volume set {options} VOLUME)"
)
_VOLUMES = (
    "it has {count} attached: before it is stopped, apply checks whether other servers use one "
    "of them too"
)
_GROUPS = "it is in server group {groups}: its members are changed one at a time"
_FLAVOR = (
    "its flavor's extra specs are not visible: one that contradicts the change would keep it "
    "from starting"
)


def blocks(server: Server) -> Iterator[Blocked]:
    """The reasons why the server cannot be changed in its present state; each says what to do."""
    config, ref = server.config, server.cloud
    if config.nova is not None and _too_old(config.nova):
        yield Blocked("nova-too-old", _OLD.format(newest=config.nova.newest))
    if ref.locked:
        reason = f" ({ref.locked_reason[:_LONGEST]})" if ref.locked_reason else ""
        openstack, server_id = client(ref.target), word(ref.id)
        yield Blocked("locked", _LOCKED.format(reason=reason, openstack=openstack, id=server_id))
    if ref.task_state is not None:
        yield Blocked("busy", _BUSY.format(task=ref.task_state))
    elif against := _state(config, ref):
        yield Blocked("server-state", against)


def properties_unknown(server: Server) -> str:
    """How to learn the properties that Nova stores for the server; empty if they are known."""
    config = server.config
    if config.properties_source != "unseen" or config.stored_properties:
        return ""
    words = _UNSEEN_VOLUME if config.image_state == "volume" else _UNSEEN
    return words.format(id=word(server.cloud.id))


def is_on(server: Server) -> bool:
    """True if the guest runs, or would if it were not paused."""
    return server.config.status in _ON


def _state(config: ServerConfig, ref: CloudServer) -> str:
    status = config.status
    way = way_on(status, ref.id, ref.target)
    if status in ("ACTIVE", "SHUTOFF"):
        return ""
    if status in ("SHELVED", "SHELVED_OFFLOADED"):  # Nova offloads a shelved server later
        # without an image it starts with the properties Nova stores
        known = config.image_state == "volume"
        return "" if known else _SNAPSHOT.format(way=way)
    words = _STATES.get(status, _OTHER)
    return words.format(way=way, status=status or "in an unknown state")


def modes(server: Server) -> tuple[ModeOption, ...]:
    """The ways in which a change of the server can take effect."""
    status = server.config.status
    never = ModeOption("hotswap", possible=False, reason=_NEVER, code="definition-only")
    if status.startswith("SHELVED") or status == "SHUTOFF":
        at_start = ModeOption("next-boot", True, _SHELVED, "shelved")
        if status == "SHUTOFF":
            at_start = ModeOption("next-boot", True, _OFF, "off")
        return (at_start, replace(at_start, mode="restart"), never)
    restart = ModeOption("restart", possible=True)
    if status != "ACTIVE":
        why = f"it is {status or 'in an unknown state'}"
        restart = ModeOption("restart", possible=False, reason=why, code="server-state")
    return (
        ModeOption("next-boot", possible=False, reason=_RUNS, code="needs-stop"),
        restart,
        never,
    )


def notes(server: Server, properties: Mapping[str, str]) -> Iterator[str]:
    """Notes to read before the server is changed; ``properties`` are those to be set."""
    config, ref = server.config, server.cloud
    oldest, newest = nova_range(config.nova)
    if oldest is None and newest is None:
        yield _MAYBE_OLD
    if oldest is None or oldest < LASTING:
        yield COMES_BACK
    if config.properties_source == "image" and _is_the_images(config):
        yield _INFERRED.format(id=word(ref.id))
    elif config.properties_source != "api" and config.stored_properties:
        yield _DEFINED.format(id=word(ref.id))
    if config.flavor is None or not config.flavor.complete:
        yield _FLAVOR
    if config.image_state == "volume":
        of_image = options(properties, "--image-property")
        yield _VOLUME.format(openstack=client(ref.target), options=of_image)
    if ref.volumes:
        yield _VOLUMES.format(count=count(ref.volumes, "volume"))
    if ref.groups:
        yield _GROUPS.format(groups=", ".join(ref.groups))


def _is_the_images(server: ServerConfig) -> bool:
    """True if the stored model of the server is the one that its image gives, or the image is
    unknown (see :class:`~.ComputeNodes`)."""
    return server.image is None or server.vif_model == server.image.vif_model


def may_operate(ref: CloudServer) -> bool:
    """True if this user is an operator of the cloud: Nova shows nobody else the name of a server on
    its compute node."""
    return ref.instance_name is not None or ref.host is not None


def _too_old(nova: NovaVersions) -> bool:
    return nova.newest is not None and nova.newest < IMAGE_PROPERTY


def nova_range(nova: NovaVersions | None) -> tuple[int | None, int | None]:
    """The oldest and the newest release of Nova that the cloud may run; None: unknown."""
    return (None, None) if nova is None else (nova.oldest, nova.newest)


_CLASH = (
    "its flavor has {spec}={said}: with {name}={value}, Nova refuses to start it "
    "(FlavorImageConflict). Resize it to a flavor without that extra spec first"
)
_NOT_VIRTIO = f"{PACKED}=true on a NIC that is not virtio: libvirt refuses to start the server"

_NO_MODEL = frozenset({"hostdev", "vdpa"})
"""Types of NICs for which Nova writes none of these properties."""

Values = Mapping[str, "str | None"]


def has_value(server: ServerConfig, name: str, value: str) -> bool:
    """True if Nova stores that value already, in whatever spelling."""
    if name == MODEL:
        return server.vif_model == value
    return server.flag(name) == as_flag(value)


def with_properties(server: Server, properties: Mapping[str, str]) -> Server:
    """The server as it would be with these properties."""
    if not properties:
        return server
    values = tuple(sorted({**dict(server.config.stored_properties), **properties}.items()))
    config = msgspec.structs.replace(server.config, stored_properties=values)
    declared = server.declared.with_server(config)
    nics = tuple(_with_properties(nic, properties, server.declared.vcpus) for nic in server.nics)
    return msgspec.structs.replace(server, declared=declared, nics=nics)


def _with_properties(nic: Nic, properties: Mapping[str, str], vcpus: int | None) -> Nic:
    now = nic.declared
    if {now.type, now.actual_type} & _NO_MODEL:
        return nic
    model, queues, packed = properties.get(MODEL, now.model), now.queues, now.packed
    if MULTIQUEUE in properties and model == "virtio":
        enough = (vcpus or 0) >= MULTIQUEUE_VCPUS
        queues = vcpus if as_flag(properties[MULTIQUEUE]) and enough else None
    if PACKED in properties:
        packed = "on" if as_flag(properties[PACKED]) else None
    declared = msgspec.structs.replace(now, model=model, queues=queues, packed=packed)
    return msgspec.structs.replace(nic, declared=declared)


def does_not_start(after: Server) -> Iterator[str]:
    """Why Nova or libvirt would refuse to start the server with its new properties: a server that
    was stopped for a change and does not start again is worse than any NIC."""
    for name, said in clashes(after):
        spec, value = FLAVOR_WORDS[name], after.config.property(name)
        yield _CLASH.format(spec=spec, said=said, name=name, value=value)
    models = {nic.declared.model for nic in after.nics} - {None, "virtio"}
    if models and after.config.asks_for(PACKED):
        yield _NOT_VIRTIO


def clashes(server: Server) -> Iterator[tuple[str, str]]:
    """Flags for which the flavor contradicts the stored property, with the flavor's value."""
    for name in FLAVOR_WORDS:
        if server.config.clash(name, server.declared.vcpus):
            yield name, str(server.config.flavor_flag(name)).lower()


def diff(title: str, old: Values, new: Values) -> str:
    """Changed properties, one line for each old and new value; empty if there are none. ``title``:
    the object's name, or else its id."""
    lines = []
    for name in sorted(new):
        if old.get(name) == new[name]:
            continue
        for sign, value in (("-", old.get(name)), ("+", new[name])):
            if value is not None:
                lines.append(f"{sign}{_one_line(name)}={_one_line(value)}")
    head = (f"--- {_one_line(title)}", f"+++ {_one_line(title)}", "@@ properties @@")
    return "".join(f"{line}\n" for line in (*head, *lines)) if lines else ""


def _one_line(text: str) -> str:
    """The text on one line, so that no part of a value can look like another line."""
    return text if text.isprintable() else ascii(text)[1:-1]


# A step on a server, an image or a flavor, and the unit that it changes.


_AT_ONCE = "it affects new servers at once, whatever the mode"
ANY_MODE = tuple(
    ModeOption(mode, possible=True, reason=_AT_ONCE, code="new-servers") for mode in MODES
)
"""The modes of a step on an image or flavor: any."""

Changed = tuple[tuple[Nic, Nic], ...]
"""NICs before and after."""


def unit_step(
    subject: PlanSubject[CloudUnitT], proposed: ProposedChanges, unit: CloudUnitT, *,
    readiness: Readiness, safe: bool, reason: str,
    modes: tuple[ModeOption, ...] = ANY_MODE, running: bool = False,
) -> UnitStep[CloudUnitT]:  # fmt: skip
    """The step with its digest and diff; ``reason``: why it is ``safe``, or unsafe."""
    about = subject.about
    return UnitStep(
        id="",
        target=subject.target,
        about=about,
        owner="nova",
        to="virtio",
        rules=proposed.rules,
        changes=proposed.changes,
        readiness=readiness,
        safe=safe,
        reason=reason,
        running=running,
        modes=modes,
        digest=kept_digest(unit.kind, about.id, unit.old),
        diff=diff(about.name_or_id, unit.old, unit.properties),
        blocked=proposed.blocked,
        procedure=proposed.procedure,
        notes=proposed.notes,
        unit=unit,
    )


def changed_nics(before: Server, after: Server) -> Changed:
    """The NICs that a change affects."""
    pairs = zip(before.nics, after.nics, strict=True)
    return tuple(pair for pair in pairs if pair[0].declared != pair[1].declared)


def changed_server(server: Server, changed: Changed, properties: Mapping[str, str]) -> ServerUnit:
    """The unit of a server with the properties to be set; a value None in ``old`` was not stored by
    Nova."""
    config = server.config
    return replace(
        server_unit(server),
        properties=dict(properties),
        old={name: config.property(name) or None for name in properties},
        macs=tuple(nic.mac for nic, _after in changed if nic.mac is not None),
    )


def server_unit(server: Server) -> ServerUnit:
    """The unit of a server: its project, place, image and flavor, with no properties to be set."""
    ref, image, flavor = server.cloud, server.config.image, server.config.flavor
    return ServerUnit(
        properties={},
        old={},
        project=ref.project,
        host=ref.host,
        zone=ref.zone,
        groups=ref.groups,
        image=ref.image or ("" if image is None else image.id or ""),
        image_name="" if image is None else image.name,
        flavor="" if flavor is None else flavor.name,
    )
