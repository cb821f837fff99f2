"""A server's port on vDPA: each prerequisite, and the way, which an operator goes."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.remedy.planning.blocked import why
from tests.remedy.planning.cloud.clouds import (
    CLOUD,
    ID,
    IMAGE,
    MAC,
    OVS,
    PORT,
    PROJECT,
    SECOND,
    flavor,
    image,
    plan,
    port,
    server,
    step,
)
from tests.rows import rows
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import Change, Readiness, Ref
from vnicaudit.model.openstack import NovaVersions, PortBinding, ProviderNetwork
from vnicaudit.model.plan import NotPlanned, ServerUnit
from vnicaudit.remedy.planning.cloud.ports import Prerequisite, prerequisites, vdpa_losses
from vnicaudit.remedy.planning.run import PlanOptions

VDPA = PlanOptions(to="vdpa", macs=(MAC,))
BY_HAND = "Neutron decides what a server's NIC is connected to: follow the procedure by hand"


def virtio(**given: Any) -> Server:
    return server(port("virtio"), **given)


def checked(domain: Server, word: str) -> Prerequisite:
    """The prerequisite whose text has that word."""
    (found,) = (one for one in prerequisites(domain, domain.nics[0]) if word in one.text)
    return found


def test_it_is_a_plan_for_an_operator_to_carry_out() -> None:
    found = step(virtio(), options=VDPA)
    assert (found.unit.kind, found.target, found.to) == ("server", CLOUD, "vdpa")
    assert found.about == Ref("nic", "web-01", ID, MAC, 0)
    assert found.changes == (
        Change("vnic_type", "normal", "vdpa", safe=True, reason="requested with --to"),
    )
    assert why(found) == (BY_HAND,)
    assert found.modes == ()
    assert found.unit == ServerUnit(
        {}, {}, PROJECT, host="cmp1", zone="nova", macs=(MAC,), image=IMAGE,
        image_name="legacy", flavor="m1.small",
    )  # fmt: skip
    assert found.procedure == (
        (
            "Keep the output of: openstack port show -c network_id -c fixed_ips -c "
            f"security_group_ids -c qos_policy_id -c tags {PORT}"
        ),
        f"openstack server stop {ID}",
        f"openstack server remove port {ID} {PORT}",
        f"openstack port delete {PORT}",
        "openstack port create --vnic-type vdpa --network NETWORK --fixed-ip "
        f"subnet=SUBNET,ip-address=ADDRESS --security-group GROUP --mac-address {MAC} "
        "web-01-vdpa-0",
        f"openstack server add port {ID} web-01-vdpa-0",
        f"openstack server start {ID}",
        (
            "On cmp1, virsh dumpxml instance-0000002a then has <interface type='vdpa'>. To go "
            "back, do the same with --vnic-type normal."
        ),
        "If Nova created the old port, remove port deletes it: port delete then finds none.",
        (
            "Bind the floating IP, and whatever else was bound to the old port, to the new one "
            "by hand. Continue with the next port when this one works."
        ),
    )


def test_each_prerequisite_is_ok_missing_or_unknown() -> None:
    found = [(one.verdict, one.text) for one in prerequisites(virtio(), port("virtio"))]
    assert [verdict for verdict, _text in found] == [
        "ok", "ok", "ok", "unknown", "unknown", "unknown", "unknown", "unknown", "ok",
    ]  # fmt: skip
    assert found[4] == (
        "unknown",
        "whether cmp1 has Linux 5.7, QEMU 5.1 and libvirt 7.2, with several vDPA NICs in one "
        "server 8.7: uname -r and virsh version there",
    )
    notes = step(virtio(), options=VDPA).notes
    assert notes[0] == "ok: the port is an ordinary one (vnic_type normal)"
    assert notes[3] == (
        "unknown: whether Open vSwitch of cmp1 leaves the packets to the card: ovs-vsctl get "
        "Open_vSwitch . other_config:hw-offload"
    )


def test_what_is_missing_blocks_it() -> None:
    found = step(virtio(config={"bindings": (PortBinding("normal", "bridge"),)}), options=VDPA)
    assert why(found) == (
        BY_HAND,
        "missing: the port is bound as bridge: Neutron has vDPA only with Open vSwitch and OVN",
    )
    assert not any("bound as" in note for note in found.notes)


@pytest.mark.parametrize(
    ("binding", "word", "verdict", "says"),
    [
        (PortBinding(), "the type of", "unknown", f"show -c binding_vnic_type {PORT}"),
        (replace(OVS, vnic_type="direct"), "ordinary ones", "missing", "vnic_type direct"),
        (PortBinding("normal"), "connected", "unknown", "only an administrator"),
        (replace(OVS, datapath="netdev"), "userspace", "missing", "(netdev)"),
        (PortBinding("normal", "vhostuser"), "userspace", "missing", "offloaded to a card"),
        (PortBinding("normal", "unbound"), "unbound", "unknown", "when the server has a host"),
        (PortBinding("normal", "binding_failed"), "bound", "missing", "Neutron could not bind it"),
        (PortBinding("normal", "macvtap"), "bound as", "missing", "bound as macvtap"),
        (OVS, "OVN binds", "ok", "vnic_type_prohibit_list does not name it"),
        (replace(OVS, hybrid=True), "iptables_hybrid", "missing", "which a vDPA port bypasses"),
        (OVS, "OVN binds", "ok", "both take vnic_type vdpa"),
    ],
)  # fmt: skip
def test_the_port_and_its_switch(binding: PortBinding, word: str, verdict: str, says: str) -> None:
    found = checked(virtio(config={"bindings": (binding,)}), word)
    assert found.verdict == verdict
    assert says in found.text


@rows
def test_which_nova(major: int | None, verdict: str, says: str) -> None:
    nova = None if major is None else NovaVersions("2.79", major, None if major == 34 else major)
    _port, _switch, found, *_node = prerequisites(virtio(config={"nova": nova}), port("virtio"))
    assert found == (verdict, says)


@pytest.mark.parametrize(
    ("readiness", "verdict"),
    [("ready", "ok"), ("unknown", "unknown"), ("needs-driver", "missing")],
)
def test_the_guests_driver(readiness: Readiness, verdict: str) -> None:
    domain = server(port("e1000"), readiness=readiness)
    *_others, found = prerequisites(domain, domain.nics[0])
    assert found.verdict == verdict
    assert checked(virtio(readiness=readiness), "supports virtio").verdict == "ok"


def test_what_such_a_port_does_not_have() -> None:
    limited = {"flavor": flavor({"quota:vif_outbound_average": "1000"})}
    assert step(virtio(config=limited), options=VDPA).notes[-5:] == (
        "Nova writes neither queues nor ring sizes for a vDPA port: it has one queue pair and "
        "QEMU's rings of 256.",
        "libvirt does not set its MTU: the guest gets it by DHCP, and the device has its own.",
        (
            "A live migration unplugs such a NIC and plugs in another one (Nova 26.0): "
            "meanwhile the guest is without it."
        ),
        (
            "Moving the server needs another node with such a device, which the scheduler "
            "finds only with PciPassthroughFilter: [filter_scheduler] enabled_filters does not "
            "have it by default."
        ),
        "The bandwidth limits of its flavor (quota:vif_…) do not apply to a vDPA port.",
    )


def test_the_model_that_nova_keeps_does_not_count() -> None:
    said = "hw_vif_model = e1000, which Nova keeps, does not apply to it: libvirt makes it virtio."
    assert said in tuple(vdpa_losses(server(port("e1000"))))
    assert not any("hw_vif_model" in text for text in vdpa_losses(virtio()))


def test_what_is_on_vdpa_already_is_left() -> None:
    for domain in (
        server(port(None, kind="vdpa")),
        virtio(config={"bindings": (PortBinding("vdpa", "ovs"),)}),
    ):
        (found,) = plan(domain, options=VDPA)
        assert isinstance(found, NotPlanned)
        assert (found.about.mac, found.reason) == (MAC, "it is already on vDPA")


def test_only_the_nics_that_were_named_and_no_image() -> None:
    two = server(port("virtio"), port("virtio", SECOND, 1))
    asked = PlanOptions(to="vdpa", macs=(SECOND,), domains=frozenset({ID}))
    found = step(two, server(name="db", id="1" + ID[1:]), image(), flavor(), options=asked)
    assert (found.about.mac, found.about.index) == (SECOND, 1)


def test_vhost_user_is_the_compute_nodes() -> None:
    found = step(virtio(), options=PlanOptions(to="vhostuser", macs=(MAC,)))
    assert found.procedure == (
        (
            "Nova puts NICs on vhost-user where Open vSwitch on the compute node uses its "
            "userspace datapath: move the server to such a node."
        ),
    )
    assert (found.changes, why(found), found.notes) == ((), (BY_HAND,), ())


def test_a_port_that_says_nothing() -> None:
    """Neutron could not be asked: no binding, no port id."""
    bare = replace(virtio(config={"bindings": ()}), nics=(replace(port("virtio"), source=None),))
    found = step(bare, options=VDPA)
    assert found.changes[0].old is None
    assert f"openstack server remove port {ID} PORT" in found.procedure


@rows
def test_a_device_for_the_ports_network(network: dict[str, str] | None, says: str) -> None:
    known = None if network is None else ProviderNetwork(network["physical"], network["kind"])
    domain = virtio(config={"bindings": (replace(OVS, network=known),)})
    assert checked(domain, "device_spec") == (
        "unknown",
        f"whether a vDPA device for {says} is free on cmp1, made on a virtual function of a card "
        "(Nova makes none) that [pci] device_spec of its nova.conf lists: vdpa dev show there",
    )


def test_segments_without_a_physical_network() -> None:
    network = ProviderNetwork("", "", segmented=True)
    domain = virtio(config={"bindings": (replace(OVS, network=network),)})
    assert checked(domain, "a physical network: no segment").verdict == "missing"
