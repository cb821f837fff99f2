"""What stands in the way of changing a server, how a change of it can take effect, and what else
to know before.

Sources: Nova 34.0.0, ``cmd/manage.py`` (a property is set on servers whose vm_state is stopped,
shelved or shelved_offloaded), ``api/openstack/common.py`` (which status comes of which state),
``conductor/manager.py`` and ``compute/manager.py`` (unshelve), ``compute/api.py``
(``check_instance_lock`` lets an administrator pass); release notes of 25.0 (``nova-manage
image_property``).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.domain import Domain
from vnicaudit.model.nova_releases import IMAGE_PROPERTY, LASTING
from vnicaudit.model.plan import ModeOption
from vnicaudit.model.server import NovaVersions, ServerConfig, ServerRef
from vnicaudit.remedy.request_spec import COMES_BACK
from vnicaudit.remedy.server_states import way_on
from vnicaudit.text.cloud_names import client
from vnicaudit.text.shell import word

_LONGEST = 100
"""Characters of what somebody said; who wants all of it asks Nova."""

_OLD = (
    "this is Nova {newest} or older, which has no way to change what it keeps for a server "
    "(nova-manage image_property came with 25.0, Yoga): upgrade it, or rebuild the server of an "
    "image that is corrected, which empties its root disk"
)
_MAYBE_OLD = "it takes Nova 25.0 (Yoga) or later; which one this is was not told"
_LOCKED = "it is locked{reason}: ask who did that, then {openstack} server unlock {id}"
_BUSY = "Nova is at work on it ({task}): plan again when that is done"
_STATES = {
    "PAUSED": "it is paused: {way}, then plan again",
    "SUSPENDED": "it is suspended: {way}, then plan again",
    "RESCUE": "it is in rescue mode: {way}, then plan again",
    "VERIFY_RESIZE": "a resize or migration of it waits for a word: {way}, then plan again",
    "ERROR": "it is in error: {way}, then plan again",
    "BUILD": "it is being built: plan again when it is ACTIVE",
    "SOFT_DELETED": "it is deleted: {way} brings it back",
    "UNKNOWN": "Nova cannot say how it is (its cell does not answer): plan again when it can",
}
_OTHER = "it is {status}: plan again when it is ACTIVE or SHUTOFF"
_SNAPSHOT = (
    "it is shelved, and unshelving it makes it anew of its snapshot, with the properties which "
    "that image has: {way}, then plan again"
)

_RUNS = (
    "Nova sets a property only of a server that is stopped or shelved: this one runs, so it has to "
    "be stopped for it"
)
_OFF = "the server is off: it takes effect when it is started"
_SHELVED = "the server is shelved: it takes effect when it is unshelved"
_NEVER = (
    "Nova gives a NIC that it plugs in the model it keeps for the server, and sets that only while "
    "the server is stopped"
)

_UNSEEN = (
    "what Nova keeps for it is not known: Nova 31 and later say it (microversion 2.98), and so "
    "does nova-manage image_property show {id} hw_vif_model on a controller"
)
_UNSEEN_VOLUME = (
    "what Nova keeps for it is not known: it says it of no server that boots from a volume, but "
    "nova-manage image_property show {id} hw_vif_model does on a controller"
)
_ON = frozenset({
    "ACTIVE", "REBOOT", "HARD_REBOOT", "PASSWORD", "MIGRATING", "PAUSED", "RESCUE", "VERIFY_RESIZE",
})  # fmt: skip
"""In which a guest runs, or would if it were not paused."""

_INFERRED = (
    "what Nova keeps for it is told by its image, which did not change since the server was made: "
    "nova-manage image_property show {id} NAME says it for certain"
)
_DEFINED = (
    "what Nova keeps for it is told by its definition on the compute node: nova-manage "
    "image_property show {id} NAME says it for certain"
)
_VOLUME = (
    "it boots from a volume: what is made of that volume later has the properties of the volume "
    "({openstack} volume set {options} VOLUME)"
)
_VOLUMES = (
    "it has {count} attached: whether one of them is attached to other servers too is looked at "
    "before it is stopped"
)
_GROUPS = "it is in server group {groups}: one member at a time is changed"
_FLAVOR = "its flavor's extra specs are not seen: one that says the opposite keeps it from starting"


def blocks(domain: Domain) -> Iterator[str]:
    """Why the server is not changed as it is now; each says what to do."""
    server, ref = config_of(domain), ref_of(domain)
    if server.nova is not None and _too_old(server.nova):
        yield _OLD.format(newest=server.nova.newest)
    if ref.locked:
        reason = f" ({ref.locked_reason[:_LONGEST]})" if ref.locked_reason else ""
        yield _LOCKED.format(reason=reason, openstack=client(ref.target), id=word(ref.id))
    if ref.task_state is not None:
        yield _BUSY.format(task=ref.task_state)
    elif against := _state(server, ref):
        yield against


def unseen(domain: Domain) -> str:
    """What would tell what Nova keeps for the server; empty where it is known."""
    server = config_of(domain)
    if server.kept_by != "unseen" or server.kept:
        return ""
    words = _UNSEEN_VOLUME if server.image_state == "volume" else _UNSEEN
    return words.format(id=word(ref_of(domain).id))


def is_on(domain: Domain) -> bool:
    """Whether a guest runs there."""
    return config_of(domain).status in _ON


def _state(server: ServerConfig, ref: ServerRef) -> str:
    status = server.status
    way = way_on(status, ref.id, ref.target)
    if status in ("ACTIVE", "SHUTOFF"):
        return ""
    if status in ("SHELVED", "SHELVED_OFFLOADED"):  # Nova offloads the one when it comes to it
        # without an image it comes back with what Nova keeps for it
        known = server.image_state == "volume"
        return "" if known else _SNAPSHOT.format(way=way)
    words = _STATES.get(status, _OTHER)
    return words.format(way=way, status=status or "in an unknown state")


def modes(domain: Domain) -> tuple[ModeOption, ...]:
    """How a change of the server can take effect."""
    status = config_of(domain).status
    never = ModeOption("hotswap", possible=False, reason=_NEVER)
    if status.startswith("SHELVED") or status == "SHUTOFF":
        why = _OFF if status == "SHUTOFF" else _SHELVED
        return (
            ModeOption("next-boot", possible=True, reason=why),
            ModeOption("restart", possible=True, reason=why),
            never,
        )
    return (
        ModeOption("next-boot", possible=False, reason=_RUNS),
        ModeOption("restart", possible=status == "ACTIVE", reason=_why_not(status)),
        never,
    )


def _why_not(status: str) -> str:
    return "" if status == "ACTIVE" else f"it is {status or 'in an unknown state'}"


def notes(domain: Domain, options: str) -> Iterator[str]:
    """What else to know before the server is changed; ``options``: what is set, as for a
    command."""
    server, ref = config_of(domain), ref_of(domain)
    oldest, newest = _range(server.nova)
    if oldest is None and newest is None:
        yield _MAYBE_OLD
    if oldest is None or oldest < LASTING:
        yield COMES_BACK
    if server.kept_by == "image" and _is_the_images(server):
        yield _INFERRED.format(id=word(ref.id))
    elif server.kept_by != "api" and server.kept:
        yield _DEFINED.format(id=word(ref.id))
    if server.flavor is None or not server.flavor.complete:
        yield _FLAVOR
    if server.image_state == "volume":
        of_image = options.replace("--property", "--image-property")
        yield _VOLUME.format(openstack=client(ref.target), options=of_image)
    if ref.volumes:
        yield _VOLUMES.format(count=f"{ref.volumes} volume{'s' * (ref.volumes > 1)}")
    if ref.groups:
        yield _GROUPS.format(groups=", ".join(ref.groups))


def _is_the_images(server: ServerConfig) -> bool:
    """Whether the model that is kept is what the image says (see :class:`~.Definitions`)."""
    return server.image is None or server.vif_model == server.image.vif_model


def may_operate(ref: ServerRef) -> bool:
    """Whether who read the cloud is an operator of it: Nova tells nobody else what a server is
    called on its compute node."""
    return ref.instance_name is not None or ref.host is not None


def config_of(domain: Domain) -> ServerConfig:
    """What Nova keeps of a server."""
    return domain.declared.server or ServerConfig()


def ref_of(domain: Domain) -> ServerRef:
    """Who the server is."""
    return domain.cloud or ServerRef(domain.uuid or "", domain.name)


def _too_old(nova: NovaVersions) -> bool:
    return nova.newest is not None and nova.newest < IMAGE_PROPERTY


def _range(nova: NovaVersions | None) -> tuple[int | None, int | None]:
    return (None, None) if nova is None else (nova.oldest, nova.newest)
