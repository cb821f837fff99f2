"""What a guest will see when Nova writes its server's NICs anew."""

from tests.remedy.planning.cloud.clouds import SECOND, WINDOWS, port, server, step
from vnicaudit.model.domain import Server
from vnicaudit.model.plan import GuestView
from vnicaudit.remedy.planning.run import PlanOptions


def seen(domain: Server) -> GuestView:
    return step(domain, options=PlanOptions(unsafe=True)).guest


def test_a_linux_guest() -> None:
    view = seen(server())
    assert (view.id_before, view.id_after) == ("10ec:8139", "1af4:1000")
    assert (view.slot_before, view.slot_after) == (None, None)
    assert (view.name.before, view.name.after) == (None, None)
    assert view.name.reason == (
        "Nova does not keep PCI addresses: a name derived from the address may change, one "
        "that the guest assigns by MAC address stays"
    )
    assert view.drivers == ("virtio_net",)
    assert view.notes == (
        "cloud-init names interfaces by MAC address where it writes their configuration (netplan, "
        "sysconfig): such guests keep their names.",
    )
    assert view.snippets == ()


def test_several_nics_change_together() -> None:
    view = seen(server(port("rtl8139"), port("rtl8139", SECOND, 1)))
    assert view.notes[-1] == "All NICs of the server change at once (2)."


def test_on_q35_a_conventional_device_moves() -> None:
    says = (
        "On q35 the NIC is no longer behind the bridge for conventional PCI devices: a "
        "name derived from its address changes."
    )
    q35 = seen(server(machine="pc-q35-7.2"))
    assert says in q35.notes
    assert q35.id_after == "1af4:1041"
    assert says not in seen(server(port("e1000e"), machine="pc-q35-7.2")).notes


def test_windows_gets_another_adapter() -> None:
    view = seen(server(readiness="needs-driver", os_id=WINDOWS))
    assert view.name.reason == (
        "Windows creates a new adapter for the new device, with another name"
    )
    assert view.notes == (
        "Windows does not include NetKVM: install it from virtio-win before the change.",
        "Windows creates a new adapter for the new device: a static address stays with the old "
        "one, which is then hidden.",
    )


def test_a_system_that_is_not_known() -> None:
    view = seen(server(readiness="unknown", os_id=None))
    assert view.drivers == ()
    assert view.notes[0].startswith("The guest's operating system is unknown. Linux needs")
