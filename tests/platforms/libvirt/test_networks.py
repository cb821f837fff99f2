"""What a network makes of an interface; forward modes of libvirt 11.3 virNetworkForward."""

import pytest

from tests.rows import rows
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Network
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.libvirt.workers import actual_type, network_of, resolve_networks


@rows
def test_actual_type(forward: str | None, has_bridge: bool, expected: str) -> None:
    assert actual_type(forward, has_bridge=has_bridge) == expected


def test_a_network_is_read_from_its_xml() -> None:
    # written by libvirt 9.0 for the network that Debian ships, addresses left out
    text = """<network>
      <name>default</name>
      <uuid>21b07738-3521-4d9d-9380-eeef78704674</uuid>
      <forward mode='nat'/>
      <bridge name='virbr0' stp='on' delay='0'/>
    </network>"""
    assert network_of(text) == Network("default", "bridge")


def test_forward_without_a_mode_is_nat() -> None:
    text = "<network><name>n</name><forward/></network>"
    assert network_of(text) == Network("n", "bridge")


def test_a_network_that_is_no_xml_is_a_target_error() -> None:
    with pytest.raises(TargetError, match="not well-formed XML"):
        network_of("<network")


def domain(interfaces: str) -> Domain:
    text = f"<domain type='kvm'><name>d</name><devices>{interfaces}</devices></domain>"
    (found,) = read_bytes(text.encode(), target="t", file=None)
    return found


def test_only_nics_on_known_networks_are_resolved() -> None:
    found = resolve_networks(
        domain(
            "<interface type='network'><source network='a'/></interface>"
            "<interface type='network'><source network='b'/></interface>"
            "<interface type='user'/>"
        ),
        {"a": Network("a", "direct")},
    )
    assert [nic.declared.actual_type for nic in found.nics] == ["direct", None, "user"]


def test_a_running_nic_tells_its_bridge_itself() -> None:
    # the form libvirt 9.0 gives a running NIC on an isolated network
    found = domain(
        "<interface type='network'><source network='lan' "
        "portid='5ae8dd12-54a0-4b0f-8e7c-4b4a26f3b5f9' bridge='virbr1'/></interface>"
    )
    assert (found.nics[0].source, found.nics[0].declared.actual_type) == ("lan", "bridge")


@pytest.mark.parametrize(("kind", "expected"), [("network", "bridge"), ("direct", "direct")])
def test_a_live_status_tells_the_actual_type(kind: str, expected: str) -> None:
    found = domain(
        f"<interface type='network'><source network='n'/><actual type='{kind}'/></interface>"
    )
    assert found.nics[0].declared.actual_type == expected
