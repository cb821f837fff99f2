"""The layers of a server's NIC: who says what, who wins, and what would show it where nobody
says."""

import pytest
from msgspec.structs import replace

from tests.audit.clouds import (
    MAC,
    TARGET,
    UUID,
    audit_work,
    config,
    flavor,
    image,
    port,
    server,
)
from vnicaudit.audit.explain import ExplainWork
from vnicaudit.audit.explain_layers import layers
from vnicaudit.audit.reading.servers import NodesByHost, with_node, with_server
from vnicaudit.audit.work import Assumptions
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain, DomainConfig, Server
from vnicaudit.model.finding import Location
from vnicaudit.model.host import HostConfig, NodeValue, SiteNode
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import NodeFacts, NovaVersions, PortBinding, ServerConfig
from vnicaudit.model.report import Layer, LayerFact, ServerName

NODE = NodeFacts(
    "nodes/cmp1/nova.conf",
    (
        ("use_virtio_for_bridges", "true"), ("rx_queue_size", "1024"), ("tx_queue_size", ""),
        ("max_queues", "2"), ("virt_type", "kvm"),
    ),
)  # fmt: skip
KEPT = replace(
    config(hw_vif_model="virtio", hw_vif_multiqueue_enabled="true", os_type="linux"),
    image=image(hw_vif_model="rtl8139", hw_disk_bus="virtio"),
    flavor=flavor("m1.big", 4, hw_mem_page_size="large", aggregate="fast"),
)


def told(domain: Domain, index: int = 0) -> dict[str, Layer]:
    """The layers of a NIC by name, in their order."""
    nic = domain.nics[index]
    effective = every_platform().resolver(domain.declared)(
        nic.declared, domain.declared, HostConfig(), nic.running
    )
    return {
        layer.name: layer
        for layer in layers(
            domain, nic, HostConfig(), effective, every_platform().title(domain.declared)
        )
    }


def alone(kept: ServerConfig = KEPT, nic: NicConfig | None = None, **more: object) -> Server:
    return server(1, nic or port(queues=4), kept=kept, **more)  # type: ignore[arg-type]


class TestAlone:
    def test_the_order_is_that_of_who_comes_first(self) -> None:
        assert list(told(alone())) == [
            "Flavor m1.big",
            "Image jammy",
            "nova.conf of cmp1",
            "What Nova keeps",
            "Port port-1-0",
            "libvirt definition",
            "QEMU",
            "Host",
        ]

    def test_what_nova_keeps_wins_over_the_image(self) -> None:
        found = told(alone())
        assert found["What Nova keeps"].facts == (
            LayerFact("hw_vif_model", "virtio", wins=True),
            LayerFact("hw_vif_multiqueue_enabled", "true", wins=True),
            LayerFact("os_type", "linux"),
        )
        assert found["Image jammy"].facts == (
            LayerFact(
                "hw_vif_model", "rtl8139", note="for new servers; Nova keeps virtio for this one"
            ),
        )
        assert found["Image jammy"].place == TARGET
        assert found["Flavor m1.big"].facts == (
            LayerFact("vcpus", "4"),
            LayerFact("hw:mem_page_size", "large"),
        )

    def test_an_image_that_was_not_changed_is_what_nova_keeps(self) -> None:
        kept = replace(config("image", hw_vif_model="rtl8139"), image=image(hw_vif_model="rtl8139"))
        found = told(alone(kept, port("rtl8139")))
        assert found["Image jammy"].facts == (LayerFact("hw_vif_model", "rtl8139"),)
        name = "What Nova keeps, taken from its image, which has not changed since"
        assert found[name].facts == (LayerFact("hw_vif_model", "rtl8139", wins=True),)

    def test_a_flavor_that_switches_multiqueue_on(self) -> None:
        kept = replace(
            config(hw_vif_model="virtio"),
            flavor=flavor("m1.big", 4, hw_vif_multiqueue_enabled="True"),
            node=NODE,
        )
        found = told(alone(kept))["Flavor m1.big"]
        assert found.facts[1] == LayerFact("hw:vif_multiqueue_enabled", "True", wins=True)
        kept = replace(kept, flavor=flavor("m1.big", 4, hw_vif_multiqueue_enabled="False"))
        assert not told(alone(kept, port()))["Flavor m1.big"].facts[1].wins

    def test_nova_conf_decides_rings_and_how_many_queues(self) -> None:
        found = told(alone(replace(KEPT, node=NODE)))["nova.conf of cmp1"]
        assert found.place == "nodes/cmp1/nova.conf"
        assert found.facts == (
            LayerFact("use_virtio_for_bridges", "true"),
            LayerFact("rx_queue_size", "1024", wins=True),
            LayerFact("tx_queue_size", "not set"),
            LayerFact("max_queues", "2", wins=True),
            LayerFact("virt_type", "kvm"),
        )

    def test_nova_conf_decides_the_model_where_none_is_kept(self) -> None:
        kept = replace(config(), node=NODE)
        (first, *_rest) = told(alone(kept, port(None)))["nova.conf of cmp1"].facts
        assert first == LayerFact("use_virtio_for_bridges", "true", wins=True)

    def test_what_would_tell_names_its_host(self) -> None:
        found = told(alone())
        assert (
            found["libvirt definition"].missing
            == "add its host as a target: qemu+ssh://cmp1/system"
        )
        assert found["nova.conf of cmp1"].missing == (
            "add nova.conf of cmp1 as a target, with [DEFAULT] host in it, or in a folder "
            "named after the host"
        )

    def test_why_its_nova_conf_is_not_joined(self) -> None:
        place = Location("nodes", "nodes/a.conf", 3)
        node = SiteNode(
            "nodes", ("nodes/a.conf",), (), "cmp1.example", (NodeValue("x", "1", place),)
        )
        nodes = NodesByHost([node])
        found = told(with_node(alone(), nodes))["nova.conf of cmp1"]
        assert found.missing.startswith("nova.conf of cmp1.example is not for this host (cmp1): ")
        hidden = told(with_node(alone(host=None), nodes))["nova.conf of its host"]
        assert hidden.missing == "Nova shows only admins which host that is"

    def test_a_tenant_is_not_told_the_host(self) -> None:
        found = told(alone(host=None))
        assert found["libvirt definition"].missing == (
            "add its host as a target, qemu+ssh://HOST/system; Nova shows only admins "
            "which host that is"
        )
        assert found["nova.conf of its host"].missing == "Nova shows only admins which host that is"

    def test_nor_how_its_ports_are_bound(self) -> None:
        domain = alone(nic=port(type="network", actual_type=None))
        assert domain.declared.server is not None
        unbound = replace(domain.declared.server, bindings=(PortBinding(),))
        domain = replace(domain, declared=domain.declared.with_server(unbound))
        found = told(domain)
        assert found["Port port-1-0"].missing == "Neutron shows only admins how it is bound"
        assert not [name for name in found if name.startswith("Network")], "it is not libvirt's"

    def test_a_shelved_server_has_no_definition(self) -> None:
        found = told(alone(replace(KEPT, status="SHELVED_OFFLOADED"), host=None))
        assert found["libvirt definition"].missing == (
            "it is shelved: Nova makes a definition when it is unshelved"
        )

    def test_what_an_older_nova_does_not_say(self) -> None:
        found = told(alone(config("unseen"), port(None)))["What Nova keeps"]
        assert found.missing == (
            "Nova reports it since 2025.1 (microversion 2.98); nova-manage image_property "
            f"show {UUID.format(1)} hw_vif_model would show it"
        )

    def test_where_its_image_is(self) -> None:
        for state, words in (
            ("gone", "it was deleted"),
            ("volume", "the server boots from a volume"),
            ("unseen", "this user may not see it"),
        ):
            kept = replace(KEPT, image=None, image_state=state)
            assert told(alone(kept))["Image"].missing.startswith(words)

    def test_the_port_says_how_it_is_connected(self) -> None:
        assert told(alone())["Port port-1-0"].facts == (
            LayerFact("vnic_type", "normal"),
            LayerFact("vif_type", "ovs"),
            LayerFact("datapath_type", "system"),
            LayerFact("ovs_hybrid_plug", "no"),
        )


class TestJoined:
    def domain(self, model: str, kept: ServerConfig = KEPT) -> Domain:
        """The domain of the server, libvirt's."""
        here = Location("qemu+ssh://cmp1/system")
        declared = DomainConfig(type="kvm", arch="x86_64", vcpus=4, described_by="live", nics=1)
        nic = NicConfig(type="bridge", actual_type="bridge", model=model)
        one = Domain("instance-00000001", declared, here, (Nic(0, nic, here, MAC.format(16)),))
        return with_server(one, alone(kept))

    def test_the_definition_is_what_runs_and_decides(self) -> None:
        found = told(self.domain("virtio", replace(KEPT, node=NODE)))
        assert list(found) == [
            "Flavor m1.big",
            "Image jammy",
            "nova.conf of cmp1",
            "What Nova keeps",
            "Port",
            "Live definition",
            "QEMU",
            "Host",
        ]
        winners = [
            (name, fact.fact) for name, layer in found.items() for fact in layer.facts if fact.wins
        ]
        assert winners == [("Live definition", "model")]
        assert found["Port"].facts[0] == LayerFact("vnic_type", "normal")
        assert found["What Nova keeps"].place == found["Port"].place == TARGET

    def test_its_cloud_is_named_where_its_flavor_is_hidden(self) -> None:
        found = told(self.domain("virtio", replace(KEPT, flavor=None)))
        assert (found["What Nova keeps"].place, found["Port"].place) == (TARGET, TARGET)

    def test_where_nova_will_write_another_model(self) -> None:
        found = told(self.domain("rtl8139"))["What Nova keeps"]
        assert found.facts[0] == LayerFact(
            "hw_vif_model",
            "virtio",
            note="libvirt has rtl8139: the next hard reboot writes virtio",
        )

    @pytest.mark.parametrize(
        ("nova", "note"),
        [
            (
                NovaVersions("2.96", 29, 30),
                (
                    "libvirt has virtio: nova-manage image_property set may have changed it "
                    "(image_property show would show it)"
                ),
            ),
            (
                NovaVersions("2.88", 23, 23),
                "libvirt has virtio: the next hard reboot writes rtl8139",
            ),
        ],
    )
    def test_what_nova_manage_sets_is_not_seen_in_an_image(
        self, nova: NovaVersions, note: str
    ) -> None:
        """As on a real Nova 29.0.2: another hard reboot wrote virtio again."""
        kept = replace(config("image", hw_vif_model="rtl8139"), nova=nova)
        found = told(self.domain("virtio", kept))
        (layer,) = [found[name] for name in found if name.startswith("What Nova keeps")]
        assert layer.facts == (LayerFact("hw_vif_model", "rtl8139", note=note),)

    def test_where_nova_will_write_another_ring(self) -> None:
        kept = replace(KEPT, node=NODE)

        def notes(domain: Domain, **more: object) -> list[str]:
            (nic,) = domain.nics
            changed = replace(nic, declared=replace(nic.declared, **more))
            found = told(replace(domain, nics=(changed,)))["nova.conf of cmp1"]
            return [fact.note for fact in found.facts if fact.note]

        ring = "libvirt has none: the next hard reboot writes 1024"
        assert notes(self.domain("virtio", kept)) == [ring]
        assert notes(self.domain("virtio", kept), rx_queue_size=1024) == []
        assert notes(self.domain("virtio", kept), tx_queue_size=512) == [ring], "not on a tap"
        assert notes(self.domain("rtl8139", kept)) == []
        socket = {"type": "vhostuser", "actual_type": "vhostuser", "tx_queue_size": 512}
        assert notes(self.domain("virtio", kept), **socket) == [
            ring, "libvirt has 512: the next hard reboot writes none",
        ]  # fmt: skip

    def test_a_domain_without_a_cloud_has_none_of_these_layers(self) -> None:
        domain = self.domain("virtio")
        plain = replace(domain, declared=replace(domain.declared, joined_server=None))
        assert list(told(plain)) == ["Live definition", "QEMU", "Host"]


def test_the_server_that_a_domain_is_is_named() -> None:
    work = ExplainWork(audit_work(), Assumptions(), "0", None)
    joined = TestJoined().domain("virtio")
    for domain in (joined, replace(joined, cloud=None), server(2, host=None)):
        work.take(work.domain(domain, HostConfig(), TARGET))
    first, second, third = (explanation.server for explanation in work.found)
    assert first == ServerName(UUID.format(1), "web-1", TARGET, "project-1", host="cmp1")
    assert second is None
    assert third == ServerName(UUID.format(2), "web-2", TARGET, "project-1")


def test_one_without_nics_is_noted_where_it_was_asked_for() -> None:
    def bare(domain: str | None, *read: Domain) -> list[str]:
        work = ExplainWork(audit_work(), Assumptions(), "0", domain)
        for each in read:
            work.take(work.domain(each, HostConfig(), TARGET))
        return work.bare

    none = replace(server(1), nics=())
    assert bare("web-1", none, server(2)) == [
        f"the server 'web-1' ({UUID.format(1)}) has no NIC: no port is attached to it"
    ]
    defined = Domain(none.name, DomainConfig(), none.location, uuid=none.uuid)
    assert bare(UUID.format(1), defined) == ["the domain 'web-1' has no NIC"]
    assert bare("web-2", none, server(2)) == []
    assert bare(None, none) == []


def test_a_server_is_found_by_any_of_its_names() -> None:
    def found(wanted: str, domain: str | None) -> int:
        work = ExplainWork(audit_work(), Assumptions(), wanted, domain)
        work.take(work.domain(server(1), HostConfig(), TARGET))
        work.take(work.domain(server(2), HostConfig(), TARGET))
        return len(work.found)

    assert found("0", None) == 2
    for name in ("web-1", "instance-00000001", UUID.format(1)):
        assert found("0", name) == 1
    assert found("0", "web-3") == 0
    assert found(MAC.format(16).upper().replace(":", "-"), None) == 1
