"""Obstacles to changing a server, the ways in which a change can take effect, and notes on it.

Sources: Nova 34.0.0, ``cmd/manage.py`` (a property is set on servers whose vm_state is stopped,
shelved or shelved_offloaded), ``api/openstack/common.py`` (status by vm_state),
``conductor/manager.py`` and ``compute/manager.py`` (unshelve), ``compute/api.py``
(``check_instance_lock`` lets an administrator pass); release notes of 25.0 (``nova-manage
image_property``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from vnicaudit.base.shell import word
from vnicaudit.base.wording import count
from vnicaudit.knowledge.fixes.nova_states import COMES_BACK, way_on
from vnicaudit.knowledge.fixes.wording import options
from vnicaudit.knowledge.nova_releases import IMAGE_PROPERTY, LASTING
from vnicaudit.model.domain import Server
from vnicaudit.model.plan import ModeOption
from vnicaudit.model.reasons import Blocked
from vnicaudit.model.server import CloudServer, NovaVersions, ServerConfig
from vnicaudit.text.cloud_names import client

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
    return (
        ModeOption("next-boot", possible=False, reason=_RUNS, code="needs-stop"),
        _restart(status),
        never,
    )


def _restart(status: str) -> ModeOption:
    if status == "ACTIVE":
        return ModeOption("restart", possible=True)
    why = f"it is {status or 'in an unknown state'}"
    return ModeOption("restart", possible=False, reason=why, code="server-state")


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


def any_server(server: Server) -> Server:
    """The server with ``UUID`` as its id, for words that are the same for many servers."""
    return replace(server, uuid="UUID", cloud=replace(server.cloud, id="UUID"))


def _too_old(nova: NovaVersions) -> bool:
    return nova.newest is not None and nova.newest < IMAGE_PROPERTY


def nova_range(nova: NovaVersions | None) -> tuple[int | None, int | None]:
    """The oldest and the newest release of Nova that the cloud may run; None: unknown."""
    return (None, None) if nova is None else (nova.oldest, nova.newest)
