"""What each owner is told on a topic, word for word."""

import pytest

from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.knowledge.fixes.owners import SHIPPED
from vnicaudit.model.finding import owner_named
from vnicaudit.model.fix import OwnerAdvice, Topic

worded = every_platform().wordings.worded

SENTENCES: dict[Topic, dict[str, str]] = {
    "connect-network": {
        "libvirt": (
            "Connect it to a libvirt network or a bridge; if only user-mode networking is "
            "possible, use <backend type='passt'/> (libvirt 9.0)."
        ),
        "nova": (
            "Connect the server through a Neutron port: no port of Neutron's is of this type, so "
            "it was put there behind Nova's back. The next hard reboot (openstack server reboot "
            "--hard) rewrites the definition."
        ),
        "ovirt": (
            "The definition is oVirt's: give the NIC a vNIC profile of a network in the "
            "engine, with the VM down."
        ),
        "qemu": (
            "Connect it to a bridge: -netdev tap with vhost=on in place of -netdev user on QEMU's "
            "command line; if it has to run without privileges, use passt with -netdev stream."
        ),
    },
    "one-model": {
        "kubevirt": (
            "Give all spec.template.spec.domain.devices.interfaces[] one model, virtio if the "
            "guest has the driver, run virtctl restart, and tie interface names to MAC addresses "
            "in the guest."
        ),
        "libvirt": (
            "Use one model for all NICs, virtio if the guest has the driver, and tie interface "
            "names to MAC addresses in the guest."
        ),
        "nova": (
            "Set one model on the image with hw_vif_model, virtio if the guest has the driver "
            "(this server: stop it, nova-manage image_property set UUID --property "
            "hw_vif_model=virtio, start it), and tie interface names to MAC addresses in the guest."
        ),
        "ovirt": (
            "Use one type for all NICs in the engine, virtio if the guest has the driver, with the "
            "VM down, and tie interface names to MAC addresses in the guest."
        ),
    },
    "own-address": {
        "kubevirt": (
            "Change or remove macAddress in the manifest of the copy, and restart the virtual "
            "machine."
        ),
        "libvirt": (
            "Remove <mac> from the copy, so that it gets a new address; then update DHCP and the "
            "guest's own configuration."
        ),
        "nova": (
            "Replace the port of the copy: create a new one in Neutron, then openstack server "
            "remove port and add port."
        ),
        "ovirt": (
            "Give the vNIC of the copy a different address in the engine, while the virtual "
            "machine is "
            "down."
        ),
    },
    "serve-vhostuser": {
        "kubevirt": (
            "Use a dpdkvhostuserclient port in Open vSwitch, with QEMU as the server: the "
            "definition is KubeVirt's, change the network binding plugin or hook sidecar "
            "(onDefineDomain) that makes this NIC, and run virtctl restart."
        ),
        "libvirt": (
            "Use a dpdkvhostuserclient port in Open vSwitch and mode='server' on QEMU's side."
        ),
        "nova": (
            "Give the compute node an Open vSwitch that offers dpdkvhostuserclient: Neutron "
            "then chooses that port type, with QEMU as the server, by itself. Then hard-"
            "reboot the server."
        ),
        "ovirt": (
            "Use a dpdkvhostuserclient port in Open vSwitch, with QEMU as the server: the "
            "definition is oVirt's, change the network in the engine with the VM down."
        ),
        "qemu": (
            "Use a dpdkvhostuserclient port in Open vSwitch and server=on in QEMU's -chardev."
        ),
    },
    "share-memory": {
        "kubevirt": (
            "The definition is KubeVirt's: what makes this NIC vhost-user (a network binding "
            "plugin, or a hook sidecar with onDefineDomain) must make the guest's memory "
            "shared too; change that and run virtctl restart."
        ),
        "libvirt": (
            "Share the guest's memory: <memoryBacking> with <source type='memfd'/> (or huge "
            "pages) and <access mode='shared'/>."
        ),
        "nova": (
            "Share the guest's memory with huge pages: hw:mem_page_size in the flavor "
            "(openstack server resize for this server) or hw_mem_page_size in the image; or "
            "set [libvirt] file_backed_memory in nova.conf of the compute node."
        ),
        "ovirt": (
            "The definition is oVirt's: with the VM down, give it shared memory in the "
            "engine, or the NIC a vNIC profile of another kind of network."
        ),
        "qemu": (
            "Share the guest's memory on QEMU's command line (share=on of its memory backend), "
            "then restart it."
        ),
    },
    "use-kvm": {
        "kubevirt": (
            "Run it with KVM: no useEmulation in the KubeVirt resource. The guest sees "
            "a different CPU: power it off and on, and check it."
        ),
        "libvirt": (
            "Run it with KVM: <domain type='kvm'>. The guest sees a different CPU: power it off "
            "and on, and check it."
        ),
        "nova": (
            "Run it with KVM: [libvirt] virt_type = kvm in nova.conf of the compute node, "
            "then hard-reboot the server. The guest sees a different CPU: power it off and on, "
            "and check it."
        ),
        "ovirt": (
            "Run it with KVM: the definition is oVirt's, change it in the engine. The guest "
            "sees a different CPU: power it off and on, and check it."
        ),
        "qemu": (
            "Run it with KVM: -accel kvm on QEMU's command line. The guest sees a different CPU: "
            "power it off and on, and check it."
        ),
    },
}
"""Topic -> owner -> sentence; libvirt's is for owners that have none of their own."""

CASES = [
    pytest.param(topic, owner, sentences.get(owner, sentences["libvirt"]), id=f"{owner}-{topic}")
    for topic, sentences in SENTENCES.items()
    for owner in [*SHIPPED, "puppet"]
]


@pytest.mark.parametrize(("topic", "owner", "sentence"), CASES)
def test_sentence(topic: Topic, owner: str, sentence: str) -> None:
    assert worded(None, OwnerAdvice(topic), owner_named(owner)).text == sentence


def test_a_nic_in_qemu_arguments_is_spoken_of_in_words_of_qemu() -> None:
    advice = OwnerAdvice("serve-vhostuser")
    for owner in ("libvirt", "terraform", "puppet"):
        fix = worded(None, advice, owner_named(owner), in_arguments=True)
        assert fix.text == SENTENCES["serve-vhostuser"]["qemu"]
    fix = worded(None, advice, "nova", in_arguments=True)
    assert fix.text == SENTENCES["serve-vhostuser"]["nova"]
