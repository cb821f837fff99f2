"""What networks are made of, as Nova 34.0.0 reads it (``_get_physnet_tunneled_info``), and that
Neutron 29.0.0 tells it to admins alone."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.openstack.cloud import FakeCloud, Item
from tests.platforms.openstack.entering import read
from vnicaudit.model.domain import Server
from vnicaudit.model.fleet import CloudItem as ReadItem
from vnicaudit.model.openstack import ProviderNetwork
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.network import RawNetwork, provider_network

ADMINS = {
    "id": "98bf1b1b-7853-4e92-8681-6a338cc6c75f", "mtu": 1500, "provider:network_type": "vlan",
    "provider:physical_network": "physnet1",
}  # fmt: skip
TENANTS = {"id": "98bf1b1b-7853-4e92-8681-6a338cc6c75f", "mtu": 1500}
"""One network, as Neutron 29.0.0 answered each of both who asked for the same fields."""
SHARED = "de35b652-3e61-40eb-8a7b-2df8b1c454cd"


def network(physical: str | None = None, kind: str = "vlan") -> Item:
    return {"id": "n1", "provider:network_type": kind, "provider:physical_network": physical}


def segments(*physical: str | None) -> Item:
    """One with several segments: it has no other field of them (``plugins/ml2/managers.py``)."""
    return {"id": "n1", "segments": [network(one) for one in physical]}


@pytest.mark.parametrize(
    ("said", "made"),
    [
        (ADMINS, ProviderNetwork("physnet1", "vlan")),
        (TENANTS, None),
        (network(None, "vxlan"), ProviderNetwork("", "vxlan")),
        (network(None, "geneve"), ProviderNetwork("", "geneve")),
        (segments(None, "physnet2", "physnet3"), ProviderNetwork("physnet2", segmented=True)),
        (segments("physnet1"), ProviderNetwork("physnet1", segmented=True)),
        (segments(None, None), ProviderNetwork("", segmented=True)),
        ({**network("physnet1"), "segments": []}, ProviderNetwork("physnet1", "vlan")),
        ({**network("physnet1"), "segments": None}, ProviderNetwork("physnet1", "vlan")),
    ],
)
def test_what_a_network_is_made_of(said: Item, made: ProviderNetwork | None) -> None:
    assert provider_network(msgspec.json.decode(json.dumps(said), type=RawNetwork)) == made


_ANY: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.text() | st.lists(
    st.none() | st.dictionaries(st.just("provider:physical_network"), st.none() | st.text())
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([*ADMINS, "segments"]), _ANY))
def test_any_network_is_one_or_is_none(said: dict[str, Any]) -> None:
    try:
        raw = msgspec.json.decode(json.dumps(said), type=RawNetwork)
    except msgspec.ValidationError:
        return
    provider_network(raw)


def networks_of(items: list[ReadItem], name: str) -> list[ProviderNetwork | None]:
    """Those of a server's ports."""
    [server] = [one for one in items if isinstance(one, Server) and one.name == name]
    assert server.declared.server is not None
    return [binding.network for binding in server.declared.server.bindings]


def make_of(items: list[Item], said: Item) -> None:
    """Put that into every network."""
    for one in items:
        one.update({name: value for name, value in said.items() if name != "id"})


def test_an_admin_is_told_what_the_network_of_a_port_is_made_of(cloud: FakeCloud) -> None:
    make_of(cloud.admin.networks, ADMINS)
    assert networks_of(list(read("admin").items), "old") == [ProviderNetwork("physnet1", "vlan")]


def test_a_tenant_is_not(cloud: FakeCloud) -> None:
    items = list(read("demo").items)
    named = [one.name for one in items if isinstance(one, Server) and one.nics]
    assert named
    assert all(networks_of(items, name) == [None] for name in named)
    assert [asked for asked in cloud.asked if asked.path.endswith("/networks")]


def test_a_network_that_cannot_be_understood_is_an_error_and_the_server_is_read(
    cloud: FakeCloud,
) -> None:
    make_of(cloud.admin.networks, {"provider:physical_network": 7})
    items = list(read("admin").items)
    errors = [one.message for one in items if isinstance(one, ReadError)]
    assert len(errors) == len(cloud.admin.networks)
    said = f"networks: {SHARED} cannot be understood: Expected `str | null`"
    assert any(message.startswith(said) for message in errors)
    assert networks_of(items, "old") == [None]
