"""What the compute node must have for a server's port on vDPA."""

import pytest
from msgspec.structs import replace

from tests.remedy.planning.cloud.clouds import OVS, port, server
from vnicaudit.model.domain import Server
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
