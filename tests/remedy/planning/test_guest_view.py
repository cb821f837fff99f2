"""What a guest will see of a change: ids, slots, name, drivers, notes and snippets together."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.remedy.planning.guests import MAC, PC, S390X, ccw, domain_in, guest, nic_in, pci
from tests.rows import rows, rows_of_tuples
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import GuestView, Naming
from vnicaudit.remedy.planning.guest_view import guest_view

E1000, VIRTIO = pci("e1000"), pci("virtio")

RESTART = (
    "The guest keeps the old device until it is powered off and started again; a reboot inside the "
    "guest is not enough."
)
HOTSWAP = (
    "With --mode hotswap the running guest gets a new interface: the guest agent reads its "
    "addresses and routes before the change and restores them afterwards; any that cannot be "
    "restored are listed."
)
NETKVM = "Windows does not include NetKVM: install it from virtio-win before the change."


def seen(
    domain: Domain, after: Nic, before: Nic | None = None, today: str | None = None
) -> GuestView:
    old = domain.nics[0] if before is None else before
    return guest_view(domain, old, after, {} if today is None else {MAC: today})


def test_all_of_it() -> None:
    view = seen(guest(PC, E1000, os="debian 12", active=True), VIRTIO, today="ens3")
    (snippet,) = view.snippets
    assert snippet.path == "/etc/systemd/network/10-vnicaudit-ens3.link"
    assert "predicted" not in snippet.text
    assert msgspec.structs.replace(view, snippets=()) == GuestView(
        id_before="8086:100e",
        id_after="1af4:1000",
        slot_before="0000:00:03.0",
        slot_after="0000:00:03.0",
        name=Naming(
            "ens3",
            "ens3",
            "the guest agent reports the current name; systemd derives it from the address, which "
            "stays the same",
        ),
        drivers=("virtio_net",),
        notes=(RESTART, HOTSWAP),
    )


@rows
def test_notes(case: dict[str, Any]) -> None:
    nics = (nic_in(**one) for one in case["nics"])
    domain = guest(
        domain_in(**case.get("domain", {})), *nics, os=case.get("os"), active=case.get("active")
    )
    view = seen(domain, nic_in(**case["after"]), today=case.get("today"))
    assert view.notes == tuple(case["notes"])


@rows_of_tuples
def test_drivers(os: str | None, today: str | None, drivers: tuple[str, ...]) -> None:
    assert seen(guest(PC, E1000, os=os), VIRTIO, today=today).drivers == drivers


def test_the_way_back_needs_no_virtio_driver() -> None:
    view = seen(guest(PC, VIRTIO, os="mswindows 10", active=False), E1000)
    assert (view.id_before, view.id_after, view.drivers) == ("1af4:1000", "8086:100e", ())
    assert NETKVM not in view.notes


def test_a_predicted_name_is_said_to_be_so_in_the_snippet() -> None:
    view = seen(guest(PC, E1000, os="debian 12"), VIRTIO)
    assert view.name.before == "ens3"
    assert view.snippets[0].text.startswith("# ens3 is predicted: ")


def test_a_device_that_stays_needs_nothing_to_keep_its_name() -> None:
    view = seen(guest(PC, VIRTIO, os="debian 12"), pci("virtio", queues=4), today="ens3")
    assert view.snippets == ()


def test_on_s390x_there_is_no_pci() -> None:
    before = pci("e1000", "0000:00:01.0")
    view = seen(guest(S390X, before, os="rhel 9.4", active=False), ccw("virtio"))
    assert (view.id_before, view.id_after) == ("8086:100e", None)
    assert (view.slot_before, view.slot_after) == ("0000:00:01.0", "0.0.0001")
    assert view.name.after == "enc1"


@rows
def test_what_the_agent_calls_it(names: dict[str, str], before: str) -> None:
    domain = guest(PC, E1000, os="debian 12")
    assert guest_view(domain, E1000, VIRTIO, names).name.before == before


def test_a_mac_that_two_nics_have_tells_nothing() -> None:
    twin = msgspec.structs.replace(pci("e1000", "0000:00:04.0", 1), mac=MAC)
    view = seen(guest(PC, E1000, twin, os="debian 12"), VIRTIO, today="ens9")
    assert view.name.before == "ens3"


NICS = st.builds(
    lambda model, address, acpi: pci(model, address, acpi=acpi),
    st.sampled_from(["e1000", "virtio", "rtl8139", "virtio-transitional", "made-up", None]),
    st.sampled_from([None, "0000:00:03.0", "0000:02:01.0", "0001:00:1f.7"]),
    st.none() | st.text(max_size=6),
)


@given(
    before=NICS,
    after=NICS,
    machine=st.none() | st.sampled_from(["pc", "q35", "virt", "s390-ccw-virtio"]) | st.text(),
    arch=st.sampled_from([None, "x86_64", "s390x", "aarch64"]),
    os=st.none() | st.sampled_from(["debian 12", "rhel 7.9", "mswindows 10"]) | st.text(),
    name=st.none() | st.text(max_size=20),
)
def test_whatever_there_is_nothing_fails_and_nothing_is_silent(
    before: Nic, after: Nic, machine: str | None, arch: str | None, os: str | None, name: str | None
) -> None:
    declared = DomainConfig(type="kvm", arch=arch, machine=machine, nics=1)
    domain = guest(declared, before, os=os)
    view = seen(domain, after, today=name)
    assert view.name.reason
    assert view == seen(domain, after, today=name)
    assert all(note.endswith(".") for note in view.notes)
