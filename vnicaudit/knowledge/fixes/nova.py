"""Fixes for Nova: the source of a definition is an image, a flavor, nova.conf, or Nova's record of
the server.

Sources: Nova 34.0.0, ``cmd/manage.py`` (``image_property set`` takes one server that is stopped or
shelved, since 25.0; it can set a property but not remove one, so off is ``false``),
``virt/libvirt/vif.py`` (SUPPORTED_VIF_MODELS), ``conf/libvirt.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vnicaudit.base.wording import uuid_word, word
from vnicaudit.knowledge.fixes.wording import (
    OwnedNic,
    Wording,
    command_text,
    grows,
    options,
    own_words,
)
from vnicaudit.knowledge.nova_releases import IMAGE_PROPERTY, properties_of, property_of
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import (
    Advice,
    HardReboot,
    NoSetting,
    OpenStack,
    OwnersFix,
    SetOption,
    SetProperty,
    StopSetStart,
)
from vnicaudit.model.names import FixNames
from vnicaudit.model.openstack import PROPERTY_OF, CloudServer, ServerConfig
from vnicaudit.text.targets import client

# Procedure for the operator of an OpenStack cloud, for a server that was read from its compute
# node.
#
# Sources: Nova's doc/source/cli/nova-manage.rst (image_property set, since 25.0) and its bug
# 2078999.

_FROM = (
    "This needs Nova 25.0 (Yoga) or later; without the fix of Launchpad bug 2078999 (28.3.1, "
    "29.2.1, 30.0) a resize or cold migration reverts it until a hard reboot."
)
_ALL = (
    "It affects all NICs of the server. Nova gives them new PCI addresses: if the guest does not "
    "name interfaces by MAC address, they may be renamed."
)
_CLOUD = (
    "Or plan its cloud (vnicaudit plan openstack:CLOUD): such a plan can be applied and rolled "
    "back."
)

BACKENDS = {
    "vdpa": (
        "Nova puts a server's NIC on vDPA if its Neutron port was created with --vnic-type vdpa "
        "(23.0 or later): create such a port to replace this one. `vnicaudit plan "
        "openstack:CLOUD --to vdpa --nic MAC` shows what it takes, port by port."
    ),
    "vhostuser": (
        "Nova puts NICs on vhost-user where Open vSwitch on the compute node uses its userspace "
        "datapath: move the server to such a node."
    ),
}


def procedure(owned: OwnedNic) -> Iterator[str]:
    """Stop, set, start: Nova then rewrites the definition. The image is the source for new
    servers."""
    changes = [(finding, finding.change) for finding in owned.findings if finding.change]
    if properties := properties_of(change for _finding, change in changes):
        yield from _stop_set_start(owned.domain, options(properties))
    yield from own_words(finding for finding, change in changes if property_of(change) is None)


def _stop_set_start(domain: Domain, wanted: str) -> Iterator[str]:
    server = uuid_word(domain.uuid)
    openstack = client(domain.cloud.target if domain.cloud else "")
    yield f"{openstack} server stop {server}"
    yield f"Wait until `{openstack} server show -c status {server}` says SHUTOFF."
    yield f"nova-manage image_property set {server} {wanted}"
    yield f"{openstack} server start {server}"
    yield (
        f"{openstack} image set {wanted} IMAGE, for new servers, and for this one once it is "
        "rebuilt"
    )
    yield from (_FROM, _ALL, _CLOUD)


_MODELS = frozenset({
    "virtio", "ne2k_pci", "pcnet", "rtl8139", "e1000", "e1000e", "spapr-vlan", "vmxnet3", "igb",
})  # fmt: skip
"""Values of ``hw_vif_model`` for KVM."""

_OPTIONS = ("rx_queue_size", "tx_queue_size")
_RINGS = ("256", "512", "1024")
"""Valid values of both options: nova-compute fails with any other."""

_HARD_REBOOT = OpenStack("server reboot --hard")


def _edit(change: Change) -> OwnersFix:
    if change.field in _OPTIONS:
        taken = change.new is not None and change.old in (None, *_RINGS)
        # otherwise Nova cannot have written the old size (an invalid one, or a transmit ring on a
        # tap)
        return SetOption(change.field, change.new) if taken else HardReboot(change.field)
    if change.field == "queues" and not grows(change):
        return SetOption("max_queues", None)
    name = PROPERTY_OF.get(change.field)
    if name is None or (change.field == "model" and change.new not in _MODELS):
        return NoSetting()
    return StopSetStart(name, _value(change))


def _value(change: Change) -> str:
    if change.field == "model":
        return change.new or ""
    return "true" if change.field == "queues" or change.new == "on" else "false"


def _sentence(fix: OwnersFix, named: FixNames) -> str:
    if isinstance(fix, StopSetStart):
        return _in_general(fix) if named.server is None else _commands(fix, named, named.server)
    if isinstance(fix, HardReboot):
        what = f"this {fix.undoes}: it" if fix.undoes else "QEMU arguments: this NIC"
        return (
            f"Nova never writes {what} was put there behind Nova's back. The next hard reboot "
            f"({command_text(_HARD_REBOOT, named)}) rewrites the definition."
        )
    reboot = "hard-reboot the server"
    if named.server is not None:
        reboot = command_text(OpenStack("server reboot --hard", "server"), named)
    return f"The definition is Nova's{_where_to_set(fix)}, then {reboot}."


def _where_to_set(fix: OwnersFix) -> str:
    if not isinstance(fix, SetOption):
        return (
            ", and it has no setting for this: change the image, flavor or nova.conf it comes from"
        )
    if fix.value is None:
        return f": lower [libvirt] {fix.name} in nova.conf of the compute node"
    return f": set [libvirt] {fix.name} = {fix.value} in nova.conf of the compute nodes"


def _in_general(fix: StopSetStart) -> str:
    return (
        f"openstack image set --property {fix.name}={fix.value} IMAGE for new servers; for this "
        f"one: stop it, nova-manage image_property set UUID --property {fix.name}={fix.value}, "
        "start it."
    )


def _commands(fix: StopSetStart, named: FixNames, server: ServerConfig) -> str:
    """The commands for a server whose cloud was read."""
    new = _for_new_servers(fix, named, server)
    nova = server.nova
    oldest, newest = (None, None) if nova is None else (nova.oldest, nova.newest)
    if newest is not None and newest < IMAGE_PROPERTY:
        return (
            f"This Nova ({newest}.0 or older) cannot change it for an existing server: only new "
            f"servers get what their image says.{new}"
        )
    surely = oldest is not None and oldest >= IMAGE_PROPERTY
    since = "" if surely else f" (Nova {IMAGE_PROPERTY}.0 or later)"
    stop, start = (OpenStack(f"server {verb}", "server") for verb in ("stop", "start"))
    kept = SetProperty(fix.name, fix.value, "server")
    return (
        f"{command_text(stop, named)}; on a controller{since} {command_text(kept, named)}; "
        f"{command_text(start, named)}. Or vnicaudit plan "
        f"{word(named.target or 'openstack:CLOUD')}.{new}"
    )


def _for_new_servers(fix: StopSetStart, named: FixNames, server: ServerConfig) -> str:
    """The sentence on new servers; empty if there is no image, or it is correct already."""
    if server.image_state in ("gone", "volume"):
        return ""
    if server.image is not None and server.image.certain_value(fix.name) == fix.value:
        return ""
    setting = SetProperty(fix.name, fix.value, "server-image")
    return f" For new servers: {command_text(setting, named)}."


NOVA = Wording(
    _edit,
    _sentence,
    {
        "connect-network": Advice((
            "Connect the server through a Neutron port: no port of Neutron's is of this type, so "
            "it was put there behind Nova's back. The next hard reboot (",
            _HARD_REBOOT,
            ") rewrites the definition.",
        )),
        "one-model": Advice((
            "Set one model on the image with hw_vif_model, virtio if the guest has the driver "
            "(this server: stop it, ",
            SetProperty("hw_vif_model", "virtio", "server"),
            ", start it), and tie interface names to MAC addresses in the guest.",
        )),
        "own-address": Advice((
            "Replace the port of the copy: create a new one in Neutron, then ",
            OpenStack("server remove port"),
            " and add port.",
        )),
        "serve-vhostuser": Advice((
            "Give the compute node an Open vSwitch that offers dpdkvhostuserclient: Neutron then "
            "chooses that port type, with QEMU as the server, by itself. Then hard-reboot the "
            "server.",
        )),
        "share-memory": Advice((
            "Share the guest's memory with huge pages: hw:mem_page_size in the flavor (",
            OpenStack("server resize"),
            " for this server) or hw_mem_page_size in the image; or set [libvirt] "
            "file_backed_memory in nova.conf of the compute node.",
        )),
        "use-kvm": Advice((
            "Run it with KVM: [libvirt] virt_type = kvm in nova.conf of the compute node, then "
            "hard-reboot the server. The guest sees a different CPU: power it off and on, and "
            "check "
            "it.",
        )),
    },
    HardReboot(),
    procedure,
    BACKENDS,
    lambda field: HardReboot(field or "setting"),
)  # fmt: skip


# Commands that bring a server of a cloud from its current status to running or off; and the limit
# of ``nova-manage image_property set`` in an older Nova: the request specification.
#
# Source: Nova 34.0.0, ``compute/api.py``: the states in which each command is accepted (a hard
# reboot in ERROR as well).
#
# Before 30.0 ``image_property set`` changed only the server's own copy of the properties (Launchpad
# bug 2078999; fixed by 2a1fad4145, also in 29.2.1 and 28.3.1: nova/cmd/manage.py of all releases
# from 25.3.0). A resize and a cold migration use ``request_spec.image``
# (nova/conductor/tasks/migrate.py, Nova 34.0.0); an evacuation uses the server's own copy
# (``instance.image_meta`` in nova/compute/manager.py). So does a hard reboot, as seen on a real
# Nova 29.0.2: it restores the value that was set, which ``image_property show`` prints all the
# time.


COMES_BACK = (
    "unless this Nova has the fix of Launchpad bug 2078999 (28.3.1, 29.2.1, 30.0), a resize or "
    "cold migration brings the old value back until the next hard reboot: hard-reboot the server "
    "after one"
)

_COMMANDS = {
    "PAUSED": "{openstack} server unpause {id}",
    "SUSPENDED": "{openstack} server resume {id}",
    "RESCUE": "{openstack} server unrescue {id}",
    "SHELVED": "{openstack} server unshelve {id}",
    "SHELVED_OFFLOADED": "{openstack} server unshelve {id}",
    "VERIFY_RESIZE": "{openstack} server resize confirm {id} (or revert)",
    "ERROR": (
        "{openstack} server show -c fault {id} shows why; correct that, then {openstack} server "
        "reboot --hard {id}"
    ),
    "SOFT_DELETED": "{openstack} server restore {id}",
}
_STATES = {
    "PAUSED": "PAUSED",
    "SUSPENDED": "SUSPENDED",
    "RESCUED": "RESCUE",
    "RESIZED": "VERIFY_RESIZE",
}
"""Nova's internal name of a state -> the status that users see."""


def way_on(status: str, server_id: str, target: str) -> str:
    """The command for a server with that status in that cloud; empty if there is nothing to do but
    wait."""
    name = _STATES.get(status, status)
    return _COMMANDS.get(name, "").format(openstack=client(target), id=word(server_id))


# Procedure for a user of a cloud who does not operate it.
#
# Sources: Nova 34.0.0, ``compute/api.py`` (``rebuild`` discards the stored properties of the image
# and stores those of the new image; ``_initialize_instance_snapshot_metadata``),
# ``compute/manager.py`` (a server that was stopped is stopped again after a rebuild),
# ``rest_api_version_history.rst`` (2.93: a rebuild of a server with a volume overwrites that
# volume); for the states ``compute/api.py`` again (``check_instance_state``: ``stop`` accepts
# ACTIVE and ERROR, ``rebuild`` those and STOPPED; any other state is answered with 409).


TENANT = (
    "only an operator of the cloud can change what Nova keeps for a server: the procedure lists "
    "what to ask for, and what you can do yourself"
)

_WITHOUT = (
    "Or without the operator: rebuild it from a snapshot of itself. Its root disk will be that "
    "of the snapshot; an ephemeral or swap disk of its flavor is created empty:"
)
_ROOT_LOST = (
    "A rebuild from its original image would lose all data on its root disk; id, ports and "
    "addresses stay."
)
_VOLUME = (
    "Or without the operator: a new server created from the volume takes the volume's "
    "properties: {openstack} volume set {image_options} VOLUME"
)
_ANEW = (
    "Then delete the server, and create it with --volume VOLUME and --port for each of its "
    "ports. First make sure that these are not deleted with the server: the volume "
    "(delete_on_termination), and ports that Nova created."
)
_OVERWRITTEN = (
    "A rebuild (--reimage-boot-volume, microversion 2.93) would overwrite the volume: all data on "
    "it would be lost."
)
_FIRST = {
    "VERIFY_RESIZE": "Its resize or migration waits for confirmation: {way}",
    "ERROR": "It is in error: {way}",
    "SOFT_DELETED": "It is deleted: {way} brings it back",
}
"""Status -> the sentence around the command, if it needs more than the command."""
_LATER = "It is {status}: Nova can neither stop nor rebuild it; wait until it is ACTIVE"
_OFF = "SHUTOFF"


def tenant_procedure(
    config: ServerConfig, ref: CloudServer, properties: Mapping[str, str]
) -> Iterator[str]:
    """Commands and sentences: the request to the cloud's operator, and steps that need no
    operator."""
    id, wanted = word(ref.id), options(properties)
    openstack = client(ref.target)
    stop = [] if _is_off(config) else [f"{openstack} server stop {id}"]
    yield from _way_to_stoppable(config, ref)
    yield from stop
    yield (
        "Ask the operator of the cloud to run this on a controller, while the server is off: "
        f"nova-manage image_property set {id} {wanted}"
    )
    yield f"{openstack} server start {id}"
    if config.image_state == "volume":
        of_image = options(properties, "--image-property")
        yield _VOLUME.format(openstack=openstack, image_options=of_image)
        yield _ANEW
        yield _OVERWRITTEN
    else:
        yield from _snapshot(ref, wanted, stop)
    yield from _new_servers(config, ref, wanted)


def _is_off(config: ServerConfig) -> bool:
    """True if the server is off, or shelved without an image: unshelving recreates it from its
    volume, with the properties that Nova keeps for it."""
    shelved = config.status.startswith("SHELVED") and config.image_state == "volume"
    return config.status == _OFF or shelved


def _way_to_stoppable(config: ServerConfig, ref: CloudServer) -> Iterator[str]:
    """Sentences on how to bring the server into a state in which Nova can stop it."""
    status = config.status
    if status == "ACTIVE" or _is_off(config):
        return
    if way := way_on(status, ref.id, ref.target):
        yield _FIRST.get(status, "{way}").format(way=way)
    else:
        yield _LATER.format(status=status or "in an unknown state")


def _snapshot(ref: CloudServer, wanted: str, stop: Iterable[str]) -> Iterator[str]:
    id, image = word(ref.id), word(f"{ref.name.lstrip('-')}-vnic")
    openstack = client(ref.target)
    yield _WITHOUT
    yield from stop
    yield f"{openstack} server image create --wait --name {image} {id}"
    yield f"{openstack} image set {wanted} {image}"
    yield f"{openstack} server rebuild --wait --image {image} {id}"
    yield f"{openstack} server start {id}"
    yield _ROOT_LOST


def _new_servers(config: ServerConfig, ref: CloudServer, wanted: str) -> Iterator[str]:
    """Sentence on new servers: users correct their own image; any other is corrected by its
    owner."""
    image = config.image
    if image is None or image.id is None:
        return
    if image.owner == ref.project:
        yield f"For new servers: {client(ref.target)} image set {wanted} {word(image.id)}"
    else:
        yield (
            f"For new servers: ask the owner of the image {image.id} to set {wanted}, or make an "
            "image of your own that has it."
        )
