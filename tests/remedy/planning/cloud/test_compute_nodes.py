"""What the definitions on compute nodes tell of servers, where Nova says nothing."""

from tests.remedy.planning.cloud.clouds import ID, MAC, SECOND, port, server
from tests.remedy.planning.planned import NOVA, definition, interface, live
from tests.remedy.works import work
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.openstack import MODEL
from vnicaudit.remedy.planning.cloud.run import ComputeNodes

INFERRED = {"properties_source": "image"}
UNSEEN = {"properties_source": "unseen", "image_state": "volume", "image": None}


def nova(*interfaces: str, uuid: str = ID) -> Domain:
    """A domain that Nova made, as libvirt of its compute node has it."""
    return live(definition(*interfaces, uuid=uuid, metadata=NOVA)).running


def told(server_: Server, *domains: Domain) -> Server:
    nodes = ComputeNodes(work())
    for domain in domains:
        nodes.add(domain)
    return nodes.joined(server_)


def bare() -> Server:
    """A server of which Nova says nothing, as of those that boot from a volume."""
    return server(port(None), port(None, SECOND, 1), kept={}, config=UNSEEN)


def test_the_model_of_the_definition_is_the_one_that_is_kept() -> None:
    found = told(bare(), nova(interface("rtl8139", mac=MAC), interface("rtl8139", mac=SECOND)))
    assert found.declared.server is not None
    assert found.declared.server.stored_properties == (("hw_vif_model", "rtl8139"),)
    assert found.declared.server.properties_source == "unseen"
    assert [nic.declared.model for nic in found.nics] == ["rtl8139", "rtl8139"]


def test_a_nic_that_the_definition_has_not_stays_unknown() -> None:
    found = told(bare(), nova(interface("rtl8139", mac=MAC)))
    assert [nic.declared.model for nic in found.nics] == ["rtl8139", None]


def test_an_image_does_not_tell_what_nova_manage_has_set() -> None:
    one = server(port("rtl8139"), kept={MODEL: "rtl8139", "os_type": "linux"}, config=INFERRED)
    found = told(one, nova(interface("virtio", mac=MAC)))
    assert found.declared.server is not None
    assert dict(found.declared.server.stored_properties) == {MODEL: "virtio", "os_type": "linux"}
    assert found.declared.server.properties_source == "image"
    assert [nic.declared.model for nic in found.nics] == ["virtio"]
    assert told(one, nova(interface("rtl8139", mac=MAC))) == one


def test_an_image_that_names_no_model() -> None:
    """Nova keeps the one that it chose, since 25.0, and its API says it since 31.0."""
    one = server(port(None), kept={"os_type": "linux"}, config=INFERRED)
    found = told(one, nova(interface("virtio", mac=MAC)))
    assert found.declared.server is not None
    assert dict(found.declared.server.stored_properties) == {MODEL: "virtio", "os_type": "linux"}
    assert [nic.declared.model for nic in found.nics] == ["virtio"]


def test_what_nova_says_counts() -> None:
    said = server(port("e1000"))
    assert told(said, nova(interface("rtl8139", mac=MAC))) == said


def test_where_there_is_no_definition_or_two_models_nothing_is_told() -> None:
    other = nova(interface("rtl8139", mac=MAC), uuid="1" + ID[1:])
    mixed = nova(interface("rtl8139", mac=MAC), interface("e1000", mac=SECOND))
    own = live(definition(interface("rtl8139", mac=MAC), uuid=ID)).running  # not Nova's
    for domains in ((), (other,), (mixed,), (own,)):
        assert told(bare(), *domains) == bare()
