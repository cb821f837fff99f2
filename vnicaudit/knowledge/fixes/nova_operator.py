"""Procedure for the operator of an OpenStack cloud, for a server that was read from its compute
node.

Sources: Nova's doc/source/cli/nova-manage.rst (image_property set, since 25.0) and its bug 2078999.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.shell import uuid_word
from vnicaudit.knowledge.fixes.wording import OwnedNic, options, own_words
from vnicaudit.knowledge.image_properties import properties_of, property_of
from vnicaudit.model.domain import Domain
from vnicaudit.text.cloud_names import client

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
