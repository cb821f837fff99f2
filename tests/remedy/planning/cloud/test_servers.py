"""A server of a cloud -> one step for all its NICs, and what of it is left."""

import pytest
from msgspec.structs import replace

from tests.remedy.planning.blocked import codes, why
from tests.remedy.planning.cloud.clouds import (
    CLOUD,
    ID,
    IMAGE,
    MAC,
    NOVA_24,
    PROJECT,
    SECOND,
    WINDOWS,
    flavor,
    image,
    left,
    plan,
    port,
    server,
    step,
    steps,
)
from tests.remedy.planning.planned import selected
from tests.remedy.planning.units import cloud_of, server_of
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change, Crashed, Ref
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import MULTIQUEUE, PACKED
from vnicaudit.model.plan import GuestView, NotPlanned, ServerUnit, UnitStep
from vnicaudit.model.report import Audited
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.replacing import kept_digest

UNSAFE = PlanOptions(unsafe=True)
KEEPS = "the guest is known to support virtio; MAC addresses stay the same"


def test_one_step_for_all_nics_of_a_server() -> None:
    found = step(server(port("rtl8139"), port("rtl8139", SECOND, 1), ref={"groups": ("g",)}))
    assert (found.unit.kind, found.target, found.owner, found.to) == (
        "server", CLOUD, "nova", "virtio",
    )  # fmt: skip
    assert found.about == Ref("server", "web-01", ID)
    assert found.rules == ("VNIC001",)
    assert found.changes == (Change("model", "rtl8139", "virtio", safe=True, reason=KEEPS),)
    assert (found.safe, found.reason, found.readiness) == (True, KEEPS, "ready")
    assert (found.running, found.refused, found.procedure) == (True, (), ())
    assert found.unit == ServerUnit(
        properties={"hw_vif_model": "virtio"},
        old={"hw_vif_model": "rtl8139"},
        project=PROJECT,
        host="cmp1",
        zone="nova",
        groups=("g",),
        macs=(MAC, SECOND),
        image=IMAGE,
        image_name="legacy",
        flavor="m1.small",
    )
    assert found.diff == (
        "--- web-01\n+++ web-01\n@@ properties @@\n-hw_vif_model=rtl8139\n+hw_vif_model=virtio\n"
    )
    assert found.mode("restart").possible
    assert not found.mode("next-boot").possible


def test_the_digest_is_of_what_was_kept_and_not_of_the_state() -> None:
    """Whoever applies it makes it again of what nova-manage says."""
    runs, off = step(server()), step(server(status="SHUTOFF", ref={"task_state": None}))
    assert runs.digest == off.digest == kept_digest("server", ID, {"hw_vif_model": "rtl8139"})
    assert runs.digest != step(server(port("e1000"))).digest
    other = "1" + ID[1:]
    assert runs.digest != step(server(id=other)).digest


def test_nics_that_nova_gives_no_model_are_not_among_them() -> None:
    assigned = port(None, SECOND, 1, kind="hostdev")
    found = step(server(port("rtl8139"), assigned))
    assert server_of(found).macs == (MAC,)


def test_a_server_that_is_as_it_should_be_has_no_step() -> None:
    assert plan(server(port("virtio"))) == []


def test_one_whose_driver_is_not_known_is_left() -> None:
    found = left(server(readiness="unknown", os_id=None))
    assert found == NotPlanned(
        Ref("server", "web-01", ID),
        CLOUD,
        ("VNIC001",),
        "unsafe: the guest may have no virtio driver; without one it loses its network",
        PROJECT,
        code="unsafe",
    )
    asked = step(server(readiness="unknown", os_id=None), options=UNSAFE)
    assert not asked.safe


def test_windows_needs_its_driver_first() -> None:
    windows = server(readiness="needs-driver", os_id=WINDOWS)
    assert left(windows).reason.startswith("unsafe: Windows does not include a virtio driver")
    asked = step(windows, options=UNSAFE)
    assert asked.reason == (
        "Windows does not include a virtio driver: install NetKVM from virtio-win first; Windows "
        "creates a new adapter for the new device: a static address stays with the old one"
    )
    assert asked.guest.drivers == ("NetKVM",)


def test_a_guest_that_cannot_is_left() -> None:
    found = left(server(readiness="not-supported"), options=UNSAFE)
    assert found.code == "no-proposal"


def test_a_name_that_is_lost_is_unsafe_as_of_a_guest_of_libvirt() -> None:
    """CentOS 7 names virtio NICs ethN, whatever it called the old one."""
    found = step(server(os_id="http://centos.org/centos/7.0"))
    assert not found.safe
    assert found.reason == (
        "in this system the kernel names virtio NICs (ethN) and systemd names the others: "
        "configuration for the old name does not apply to the new one"
    )


def test_what_keeps_it_from_starting_again_blocks_it() -> None:
    """As it is stopped for the change, it has to come back."""
    specs = {"hw:virtio_packed_ring": "true"}
    mixed = server(
        port("virtio"), port("e1000", SECOND, 1), kept={"hw_vif_model": "virtio"}, vcpus=4,
        config={"flavor": flavor(specs, vcpus=4)},
    )  # fmt: skip
    policy = PlanOptions(policy=PolicyTable(queues="auto"))
    found = [one for one in plan(mixed, options=policy) if isinstance(one, UnitStep)]
    assert [codes(one) for one in found] == [("does-not-start",)]


def test_what_the_change_puts_right_as_well_is_named() -> None:
    """The packed ring, which libvirt refuses on rtl8139 and takes on virtio."""
    packed = step(server(kept={"hw_vif_model": "rtl8139", PACKED: "true"}))
    assert packed.rules == ("VNIC001", "VNIC067")
    assert packed.blocked == ()
    by_image = step(server(config={"image": image({"hw_vif_model": "virtio"})}))
    assert by_image.rules == ("VNIC001", "VNIC064")


def test_what_the_flavor_says_is_not_the_policys() -> None:
    policy = PlanOptions(policy=PolicyTable(queues=1))
    specs = {"hw:vif_multiqueue_enabled": "true"}
    found = step(server(config={"flavor": flavor(specs)}), options=policy)
    said, of_its_image = found.notes
    assert said == "its flavor decides on multiqueue (hw:vif_multiqueue_enabled=true)"
    assert of_its_image.startswith("its image has hw_vif_model=rtl8139: unless")


def test_a_server_that_could_not_be_started_again_is_put_right() -> None:
    """Its flavor was resized since, or the property set: FlavorImageConflict at the next start."""
    specs = {"hw:vif_multiqueue_enabled": "false"}
    clash = server(
        port("virtio"), kept={"hw_vif_model": "virtio", MULTIQUEUE: "true"},
        config={"flavor": flavor(specs)},
    )  # fmt: skip
    found = step(clash)
    assert found.rules == ("VNIC066",)
    assert cloud_of(found).properties == {MULTIQUEUE: "false"}
    assert found.changes == (
        Change(
            MULTIQUEUE,
            "true",
            "false",
            safe=True,
            reason="its flavor requires it; Nova cannot start it as it is (FlavorImageConflict)",
        ),
    )
    assert (found.blocked, found.guest) == ((), GuestView())
    with_model = server(
        port("rtl8139"), kept={"hw_vif_model": "rtl8139", MULTIQUEUE: "true"},
        config={"flavor": flavor(specs)},
    )  # fmt: skip
    both = step(with_model, rules=("VNIC001",))  # though nobody asked for VNIC066
    assert cloud_of(both).properties == {"hw_vif_model": "virtio", MULTIQUEUE: "false"}
    assert both.rules == ("VNIC001",)


def test_everything_that_speaks_against_it_is_said() -> None:
    found = step(server(status="PAUSED", config={"nova": NOVA_24}, ref={"locked": True}))
    assert codes(found) == ("nova-too-old", "locked", "server-state")


def test_what_nova_keeps_unseen_is_left_and_says_what_would_tell() -> None:
    unseen = {"properties_source": "unseen", "image_state": "there"}
    found = left(server(port(None), kept={}, config=unseen))
    assert found.reason == (
        "it is unknown what Nova keeps for it: Nova 31 and later report it (microversion "
        f"2.98), and so does nova-manage image_property show {ID} hw_vif_model on a "
        "controller"
    )
    volume = {"properties_source": "unseen", "image_state": "volume", "image": None}
    found = left(server(port(None), kept={}, config=volume))
    assert found.reason.startswith(
        "it is unknown what Nova keeps for it: Nova does not report it for servers that boot from"
    )


def test_a_model_that_nobody_chose_is_not_known() -> None:
    """Nova 25 to 30: its image names no model, and Nova does not say what it kept."""
    bare = server(
        port(None),
        kept={"os_distro": "debian"},
        config={"properties_source": "image", "image": image({})},
    )
    assert left(bare).reason.startswith("its NIC model is unknown: that needs the server's NIC")


def test_what_has_no_property_is_left_in_the_rules_words() -> None:
    """vhost-user with hw_vif_model=e1000: the port is what has to change, or the property."""
    foreign = server(port("netfront"), kept={"hw_vif_model": "netfront"}, readiness="not-supported")
    found = [one for one in plan(foreign) if isinstance(one, NotPlanned)]
    assert found
    assert all(one.about.kind == "server" for one in found)


def test_only_the_rules_that_are_asked_for() -> None:
    assert plan(server(), rules=("VNIC030",)) == []
    assert step(server(), rules=("VNIC001",)).rules == ("VNIC001",)


def test_what_would_come_up_is_judged_by_all_rules() -> None:
    """An error that the change brings about, by a rule nobody asked for."""
    vdpa = server(port("rtl8139"), port("rtl8139", SECOND, 1, kind="vhostuser"))
    found = step(vdpa, rules=("VNIC001",))
    assert found.blocked == ()  # virtio on vhost-user is as it should be


def test_queues_are_the_policys() -> None:
    four = server(port("virtio"), vcpus=4)
    assert plan(four) == []
    found = step(four, options=PlanOptions(policy=PolicyTable(queues="auto")))
    assert found.rules == ("policy", "VNIC030")
    assert cloud_of(found).properties == {MULTIQUEUE: "true"}
    assert cloud_of(found).old == {MULTIQUEUE: None}
    assert found.diff.endswith("@@ properties @@\n+hw_vif_multiqueue_enabled=true\n")
    assert found.safe


def test_model_and_queues_are_one_step() -> None:
    found = step(server(vcpus=4), options=PlanOptions(policy=PolicyTable(queues="auto")))
    assert found.rules == ("VNIC001", "policy")
    assert cloud_of(found).properties == {"hw_vif_model": "virtio", MULTIQUEUE: "true"}


def test_a_step_is_made_of_what_is_known_for_certain() -> None:
    """Where the kept properties are not known, what is to be changed back is not either."""
    seen = server(port("rtl8139"), kept={}, config={"properties_source": "unseen"})
    found = step(seen)
    assert why(found) == (
        (
            "it is unknown what Nova keeps for it: Nova 31 and later report it (microversion "
            f"2.98), and so does nova-manage image_property show {ID} hw_vif_model on a "
            "controller"
        ),
    )


class Crashing(AuditWork):
    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Audited:
        del host
        crashed = Crashed("VNIC001", domain.ref, "ValueError: no")
        return Audited(target, domain.name, crashed=(crashed,))


def test_a_rule_that_crashes_says_nothing() -> None:
    assert (
        left(server(), judge=selected(kind=Crashing)).reason
        == "rule VNIC001 crashes on it: ValueError: no"
    )


@pytest.mark.parametrize(
    ("status", "runs"), [("ACTIVE", True), ("SHUTOFF", False), ("PAUSED", True), ("ERROR", False)]
)
def test_whether_a_guest_runs(status: str, runs: bool) -> None:
    assert step(server(status=status)).running is runs


def test_many_servers_are_many_steps() -> None:
    found = steps(*(server(name=f"s{number}", id=f"{number:036}") for number in range(3)))
    assert [one.about.name for one in found] == ["s0", "s1", "s2"]


def test_named_alone() -> None:
    first, second = server(), server(name="db", id="1" + ID[1:])
    only = PlanOptions(domains=frozenset({"db"}))
    assert [one.about.name for one in steps(first, second, options=only)] == ["db"]
    by_id = PlanOptions(domains=frozenset({ID.upper()}))
    assert [one.about.name for one in steps(first, second, options=by_id)] == ["web-01"]
    by_mac = replace(second, nics=(replace(second.nics[0], mac=SECOND),))
    assert [
        one.about.name for one in steps(first, by_mac, options=PlanOptions(macs=(SECOND,)))
    ] == ["db"]


def test_steps_have_their_place_in_a_plan() -> None:
    """By name and id, so that apply finds them again."""
    found = step(server())
    assert isinstance(found, UnitStep)
    assert (found.about.index, found.about.mac, found.unit.kind) == (None, None, "server")
