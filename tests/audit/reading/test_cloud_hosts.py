"""What is said of the host of a server in its cloud."""

from msgspec.structs import replace

from tests.audit.clouds import server
from vnicaudit.audit.explain_layers import layers
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import Aggregate
from vnicaudit.model.report import Layer, LayerFact


def host_of(domain: Domain, host: HostConfig) -> Layer:
    """The last layer of its first NIC."""
    nic = domain.nics[0]
    effective = every_platform().resolver(domain.declared)(
        nic.declared, domain.declared, host, nic.running
    )
    *_others, found = layers(domain, nic, host, effective, every_platform().title(domain.declared))
    assert found.name == "Host"
    return found


def placed(zone: str, *aggregates: Aggregate) -> Domain:
    """A server on a host there."""
    domain = server()
    assert domain.cloud is not None
    return replace(domain, cloud=replace(domain.cloud, zone=zone, aggregates=aggregates))


def test_its_zone_and_aggregates_are_of_the_host() -> None:
    fast = Aggregate("fast", "az1", (("cpu", "new"), ("ssd", "true")))
    found = host_of(placed("az1", fast, Aggregate("rack-7")), HostConfig())
    assert found.facts == (
        LayerFact("availability_zone", "az1"),
        LayerFact("aggregate", "fast", note="cpu=new, ssd=true"),
        LayerFact("aggregate", "rack-7"),
    )
    assert not found.missing


def test_what_the_host_itself_says_comes_after() -> None:
    found = host_of(placed("az1"), HostConfig(vhost_net=True))
    assert [fact.fact for fact in found.facts][:2] == ["availability_zone", "vhost_net"]


def test_where_nothing_is_shown_something_would_tell() -> None:
    found = host_of(placed(""), HostConfig())
    assert (found.facts, found.missing) == (
        (),
        "needs a live connection on the hypervisor itself",
    )
