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
    NOVA_24,
    NOVA_34,
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
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import Change, Readiness, Ref
from vnicaudit.model.openstack import NovaVersions, PortBinding
from vnicaudit.model.plan import NotPlanned, ServerUnit
from vnicaudit.remedy.planning.cloud.ports import Prerequisite, prerequisites, vdpa_losses
from vnicaudit.remedy.planning.run import PlanOptions

VDPA = PlanOptions(to="vdpa", macs=(MAC,))
BY_HAND = "Neutron decides what a server's NIC is connected to: follow the procedure by hand"


def virtio(**given: Any) -> Server:
    return server(port("virtio"), **given)


def checked(domain: Server, word: str) -> Prerequisite:
    """The prerequisite whose text has that word."""
    found = [one for one in prerequisites(domain, domain.nics[0]) if word in one.text]
    assert len(found) == 1, found
    return found[0]


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


@pytest.mark.parametrize(
    ("nova", "verdict", "says"),
    [
        (NOVA_34, "ok", "Nova is 34 or later (26.0 attaches such a port)"),
        (NovaVersions("2.79", 22, 22), "missing", "Nova 23.0 (Wallaby): this is 22 or older"),
        (
            NOVA_24,
            "missing",
            "Nova 26.0 (Zed), which attaches such a port: this is 24 or older, which makes new "
            "servers with one",
        ),
        (
            NovaVersions("2.95", 27, 27),
            "unknown",
            "whether every nova-compute is 26.0 or later, as the API is: while one is older, a "
            "server with such a port is refused suspend, live migration, attach and detach: "
            "nova-compute --version on the nodes",
        ),
        (NovaVersions("2.95", 28, 28), "ok", "Nova is 28 or later (26.0 attaches such a port)"),
        (
            None,
            "unknown",
            "whether Nova is 26.0 or later: nova-manage --version on a controller",
        ),
    ],
)
def test_which_nova(nova: NovaVersions | None, verdict: str, says: str) -> None:
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
