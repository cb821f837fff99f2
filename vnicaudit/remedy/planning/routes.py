"""What to do where an owner keeps the definition: commands and sentences, in order.

Sources: Nova's doc/source/cli/nova-manage.rst (image_property set, since 25.0) and its bug 2078999;
KubeVirt's docs on virtctl; oVirt's *Virtual Machine Management Guide*, "Edit Network Interface".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vnicaudit.model.domain import REWRITTEN_BY, Domain
from vnicaudit.model.finding import Finding
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Goal
from vnicaudit.remedy.planning.cloud.properties import property_of
from vnicaudit.text.cloud_names import client
from vnicaudit.text.shell import kubernetes_word, path_word, uuid_word, word

_NOVA_FROM = (
    "It takes Nova 25.0 (Yoga) or later; without the fix of Launchpad bug 2078999 (28.3.1, "
    "29.2.1, 30.0) a resize or cold migration takes it back, until a hard reboot."
)
_NOVA_ALL = (
    "It is for all NICs of the server. Nova gives them new PCI addresses: in a guest that does not "
    "name interfaces by MAC address they may have other names then."
)
_NOVA_CLOUD = (
    "Or plan its cloud (vnicaudit plan openstack:CLOUD): that can be applied, and taken back."
)
_OTHER_BACKEND = {
    "nova": {
        "vdpa": (
            "Nova has a server's NIC on vDPA where its Neutron port is made with --vnic-type vdpa "
            "(23.0 or later): make such a port, and put it in this one's place. `vnicaudit plan "
            "openstack:CLOUD --to vdpa --nic MAC` says what it takes, port by port."
        ),
        "vhostuser": (
            "Nova has NICs on vhost-user where Open vSwitch on the compute node has its userspace "
            "datapath: move the server to such a node."
        ),
    },
}
"""Owner -> goal -> how it comes to that."""


def route(
    domain: Domain, nic: Nic, findings: Sequence[Finding], goal: Goal, file: str | None
) -> tuple[str, ...]:
    """How the owner of a domain is made to change what these findings of a NIC are about; for
    another goal than virtio, how it comes to that."""
    owner = domain.declared.owner
    if goal != "virtio":
        return (other_backend(owner, goal),)
    if domain.declared.manifest is not None and file is not None:
        return tuple(_manifest(domain, findings, file))
    if owner == "nova":
        return tuple(_nova(domain, findings))
    if owner == "kubevirt":
        return tuple(_kubevirt(domain, findings))
    return tuple(_ovirt(domain, nic, findings))


def other_backend(owner: str, goal: Goal) -> str:
    """How a NIC of an owner's guest comes to another backend."""
    other = f"{REWRITTEN_BY[owner]} decides what its NICs are connected to: change it there."
    return _OTHER_BACKEND.get(owner, {}).get(goal, other)


def _nova(domain: Domain, findings: Iterable[Finding]) -> Iterator[str]:
    """Stop, set, start: Nova writes the definition anew then. The image is where it comes from."""
    found = dict.fromkeys(
        pair for finding in findings
        if finding.change is not None and (pair := property_of(finding.change)) is not None
    )  # fmt: skip
    server = uuid_word(domain.uuid)
    openstack = client(domain.cloud.target if domain.cloud else "")
    if found:
        options = " ".join(f"--property {word(f'{name}={value}')}" for name, value in found)
        yield f"{openstack} server stop {server}"
        yield f"Wait until `{openstack} server show -c status {server}` says SHUTOFF."
        yield f"nova-manage image_property set {server} {options}"
        yield f"{openstack} server start {server}"
        yield (
            f"{openstack} image set {options} IMAGE, for new servers, and for this one once it is "
            "rebuilt"
        )
        yield _NOVA_FROM
        yield _NOVA_ALL
        yield _NOVA_CLOUD
    yield from _worded(one for one in findings if one.change and property_of(one.change) is None)


def _kubevirt(domain: Domain, findings: Iterable[Finding]) -> Iterator[str]:
    """A domain is called ``namespace_name`` (KubeVirt, pkg/virt-launcher/virtwrap/util)."""
    namespace, mark, name = domain.name.partition("_")
    machine = _machine(name, namespace) if mark else "NAME -n NAMESPACE"
    yield f"kubectl edit virtualmachine {machine}"
    yield from _worded(findings)
    yield f"virtctl restart {machine}"
    yield "Where the manifest is kept elsewhere, in Git for example, make the same change there."


def _machine(name: str, namespace: str) -> str:
    return f"{kubernetes_word(name, 'NAME')} -n {kubernetes_word(namespace, 'NAMESPACE')}"


def _manifest(domain: Domain, findings: Sequence[Finding], file: str) -> Iterator[str]:
    """The owner's own description: there it can be changed in place."""
    unsafe = any(finding.change is not None and not finding.change.safe for finding in findings)
    options = " --include-unsafe" if unsafe else ""
    path = path_word(file)
    yield f"vnicaudit audit --fix{options} {path}"
    yield f"kubectl apply -f {path}"
    if domain.declared.manifest is not None and domain.declared.manifest.kind == "VirtualMachine":
        namespace, mark, name = domain.name.partition("/")
        alone = kubernetes_word(domain.name, "NAME")
        yield f"virtctl restart {_machine(name, namespace) if mark else alone}"
    else:
        yield from _worded(findings)  # how it takes effect differs


def _ovirt(domain: Domain, nic: Nic, findings: Sequence[Finding]) -> Iterator[str]:
    if any(one.change and one.change.field == "model" for one in findings):
        yield f"In the engine, shut the virtual machine {domain.name} down."
        where = f" with the MAC address {nic.mac}" if nic.mac else ""
        yield f"Network Interfaces: edit the one{where}, Type: VirtIO."
        yield "Start it in the engine."
    yield from _worded(one for one in findings if one.change and one.change.field != "model")


def _worded(findings: Iterable[Finding]) -> Iterator[str]:
    """Each fix as its rule words it for the owner, once."""
    yield from dict.fromkeys(finding.fix for finding in findings if finding.fix)
