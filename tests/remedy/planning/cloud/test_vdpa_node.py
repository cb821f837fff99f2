"""What the compute node must have for a server's port on vDPA."""

import pytest
from msgspec.structs import replace

from tests.remedy.planning.cloud.clouds import OVS, SECOND, port, server
from tests.rows import rows
from vnicaudit.model.domain import Server
from vnicaudit.model.host import Version
from vnicaudit.model.openstack import NodeFacts, ProviderNetwork
from vnicaudit.remedy.planning.cloud.ports import Prerequisite, node_prerequisites

FILE = "cmp1/nova.conf"


def on(node: NodeFacts | None, network: ProviderNetwork | None = None) -> Server:
    """A server on that node, its port on that network."""
    bindings = (replace(OVS, network=network),)
    return server(port("virtio"), config={"node": node, "bindings": bindings})


def checked(domain: Server, word: str) -> Prerequisite:
    """The prerequisite whose text has that word."""
    found = [one for one in node_prerequisites(domain, domain.nics[0]) if word in one.text]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("network", "says"),
    [
        (
            None,
            "the port's physical network (openstack network show -c provider:physical_network)",
        ),
        (ProviderNetwork("physnet1", "vlan"), "physnet1"),
        (ProviderNetwork("", "geneve"), "networks without a physical one"),
    ],
)
def test_a_device_for_the_ports_network(network: ProviderNetwork | None, says: str) -> None:
    assert checked(on(None, network), "device_spec") == (
        "unknown",
        f"whether a vDPA device for {says} is free on cmp1, made on a virtual function of a card "
        "(Nova makes none) that [pci] device_spec of its nova.conf lists: vdpa dev show there",
    )


def test_segments_without_a_physical_network() -> None:
    found = checked(on(None, ProviderNetwork("", "", segmented=True)), "physical network")
    assert found.verdict == "missing"


@rows
def test_the_accelerator(kind: str, verdict: str, says: str) -> None:
    node = NodeFacts(FILE, (("virt_type", kind),))
    assert (verdict, says) in list(node_prerequisites(on(node), port("virtio")))


def test_an_accelerator_that_is_not_known() -> None:
    assert checked(on(None), "KVM") == (
        "unknown", "whether cmp1 runs servers with KVM: virt_type in its nova.conf",
    )  # fmt: skip


def test_the_memory_that_is_locked() -> None:
    assert checked(on(None), "Huge pages") == (
        "unknown",
        (
            "whether cmp1 has memory for it: all of the server's memory is locked while it "
            "runs, plus up to 1 GiB; overcommitted memory is not enough. Huge pages are not "
            "needed: free -m there"
        ),
    )


def test_a_libvirt_that_does_not_let_it_be_locked() -> None:
    old = replace(on(None), libvirt_version=Version(7, 1))
    assert checked(old, "lock") == (
        "missing",
        "libvirt 7.2.0, which lets QEMU lock the memory for a vDPA device: cmp1 has 7.1.0",
    )
    second = replace(server(port("virtio"), port(None, SECOND, 1, kind="vdpa")),
                     libvirt_version=Version(8, 6))  # fmt: skip
    assert checked(second, "lock") == (
        "missing",
        "libvirt 8.7.0, which lets QEMU lock the memory for each of several vDPA devices: cmp1 has "
        "8.6.0",
    )
    one = replace(on(None), libvirt_version=Version(8, 6))
    assert checked(one, "lock").verdict == "unknown"
