"""Fixes for Nova: the source of a definition is an image, a flavor, nova.conf, or Nova's record of
the server.

Sources: Nova 34.0.0, ``cmd/manage.py`` (``image_property set`` takes one server that is stopped or
shelved, since 25.0; it can set a property but not remove one, so off is ``false``),
``virt/libvirt/vif.py`` (SUPPORTED_VIF_MODELS), ``conf/libvirt.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.shell import uuid_word, word
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
from vnicaudit.model.server import PROPERTY_OF, ServerConfig
from vnicaudit.text.cloud_names import client

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


def _behind(field: str) -> HardReboot:
    return HardReboot(field or "setting")


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
    return f"The definition is Nova's{_where_to_set(fix)}, {_reboot(named)}"


def _where_to_set(fix: OwnersFix) -> str:
    if not isinstance(fix, SetOption):
        return (
            ", and it has no setting for this: change the image, flavor or nova.conf it comes from"
        )
    if fix.value is None:
        return f": lower [libvirt] {fix.name} in nova.conf of the compute node"
    return f": set [libvirt] {fix.name} = {fix.value} in nova.conf of the compute nodes"


def _reboot(named: FixNames) -> str:
    if named.server is None:
        return "then hard-reboot the server."
    return f"then {command_text(OpenStack('server reboot --hard', 'server'), named)}."


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
    _behind,
)  # fmt: skip
