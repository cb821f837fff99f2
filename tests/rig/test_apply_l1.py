"""Guests of L1, whose vhost-net and vDPA are real: rtl8139 -> virtio -> vDPA, and all the way
back.

One guest goes the whole way; what was seen at each station is asked about afterwards. Behind the
first station that takes a quarter of an hour: it is left for ``--long``.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.rig.domain_xml import SHARED_MEMORY, Nic
from tests.rig.l1 import L1
from tests.rig.l2 import L2
from tests.rig.remedy import checks
from tests.rig.remedy_l1 import (
    NO_ROM,
    SECRET,
    GuestsInL1,
    PlanInL1,
    RemedyInL1,
    Seen,
    interface,
    look,
    to_vdpa,
)
from tests.rig.vdpa import DEVICE, vdpa_device

pytestmark = pytest.mark.rig

FIRST, SECOND = "52:54:00:ab:0c:01", "52:54:00:ab:0c:02"
# A tap that was there before libvirt, and stays: what is set on it would stay as well.
TAP = "rigtap"


class Station(NamedTuple):
    """The guest where it is now, and what apply or rollback said of the way there."""

    seen: Seen
    unit: dict[str, Any]


@pytest.fixture(scope="module")
def remedy(l1_with_product: L1) -> RemedyInL1:
    return RemedyInL1(l1_with_product, "road")


@pytest.fixture(scope="module")
def guests(l1: L1) -> GuestsInL1:
    return GuestsInL1(l1)


@pytest.fixture(scope="module")
def device(l1: L1) -> Iterator[str]:
    with vdpa_device(l1) as path:
        yield path


@pytest.fixture(scope="module")
def guest(l1: L1, guests: GuestsInL1) -> Iterator[L2]:
    """It runs, with a NIC on the bridge and another on the tap that stays. Not of model e1000: its
    driver reads its EEPROM bit by bit, which takes a guest in an emulated hypervisor a minute."""
    l1.run(["ip", "tuntap", "add", TAP, "mode", "tap"]).output()
    try:
        l1.run(["ip", "link", "set", TAP, "up"]).output()
        on_tap = f"<target dev='{TAP}' managed='no'/>"
        nics = (
            Nic("rtl8139", FIRST, NO_ROM),
            Nic("rtl8139", SECOND, NO_ROM, kind="ethernet", source=on_tap),
        )
        with guests("road", *nics, memory=SHARED_MEMORY) as made:
            made.boot()
            yield made
    finally:
        l1.run(["ip", "link", "delete", TAP])


@pytest.fixture(scope="module")
def as_rtl8139(guest: L2) -> Station:
    return Station(look(guest, FIRST, SECOND, TAP), {})


@pytest.fixture(scope="module")
def as_virtio(guest: L2, remedy: RemedyInL1, as_rtl8139: Station) -> Station:
    assert as_rtl8139.seen.dns
    plan = remedy.plan("virtio", "--domain", guest.name)
    return _applied(guest, remedy, plan)


@pytest.fixture(scope="module")
def on_vdpa(guest: L2, remedy: RemedyInL1, as_virtio: Station, device: str) -> Station:
    assert as_virtio.unit["outcome"] == "applied"
    return _applied(guest, remedy, remedy.plan("vdpa", "--nic", FIRST, *to_vdpa(device)))


@pytest.fixture(scope="module")
def as_virtio_again(guest: L2, remedy: RemedyInL1, on_vdpa: Station) -> Station:
    return _taken_back(guest, remedy, on_vdpa)


@pytest.fixture(scope="module")
def as_rtl8139_again(
    guest: L2, remedy: RemedyInL1, as_virtio: Station, as_virtio_again: Station
) -> Station:
    assert as_virtio_again.unit["outcome"] == "applied"
    return _taken_back(guest, remedy, as_virtio)


def _applied(guest: L2, remedy: RemedyInL1, plan: PlanInL1) -> Station:
    ran = remedy.apply(plan, "--mode", "restart")
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    return Station(look(guest, FIRST, SECOND, TAP), remedy.last())


def _taken_back(guest: L2, remedy: RemedyInL1, station: Station) -> Station:
    ran = remedy.rollback(station.unit["run"])
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    return Station(look(guest, FIRST, SECOND, TAP), remedy.last())


def _details(station: Station, name: str) -> list[str]:
    return [check["detail"] for check in station.unit["checks"] if check["name"] == name]


def test_at_first_there_is_no_vhost(as_rtl8139: Station) -> None:
    seen = as_rtl8139.seen
    assert (seen.vhost.vhost_files, seen.vhost.vhost_threads) == (0, ())
    assert seen.drivers == {FIRST: "8139cp", SECOND: "8139cp"}
    assert seen.headers == {FIRST: False, SECOND: False}
    assert (seen.dns, seen.pinged) == (True, True)


def test_virtio_has_vhost(as_virtio: Station) -> None:
    seen = as_virtio.seen
    assert seen.drivers == {FIRST: "virtio_net", SECOND: "virtio_net"}
    assert seen.vhost.netdev["vhost"] is True
    assert seen.vhost.vhost_files == 2
    assert seen.vhost.vhost_threads == (f"vhost-{seen.vhost.pid}",) * 2
    assert seen.headers == {FIRST: True, SECOND: True}
    assert (seen.dns, seen.pinged) == (True, True)


def test_what_apply_says_of_vhost(as_virtio: Station) -> None:
    assert as_virtio.unit["outcome"] == "applied"
    assert set(checks(as_virtio.unit).values()) == {"ok"}
    assert set(_details(as_virtio, "vhost")) == {"QEMU holds 2 descriptors of /dev/vhost-net"}
    assert _details(as_virtio, "qemu") == [
        f"QEMU runs virtio-net-pci on tap for {mac}" for mac in (FIRST, SECOND)
    ]


@pytest.mark.long
def test_vdpa_carries_the_packets(on_vdpa: Station) -> None:
    seen = on_vdpa.seen
    assert seen.vhost.netdev["type"] == "vhost-vdpa"
    assert seen.vhost.vdpa_files > 0
    assert seen.drivers[FIRST] == "virtio_net"
    assert FIRST not in seen.headers
    assert seen.dns
    assert f"<source dev='{DEVICE}'/>" in interface(seen.definition, FIRST)


@pytest.mark.long
def test_what_apply_says_of_vdpa(on_vdpa: Station) -> None:
    assert on_vdpa.unit["outcome"] == "applied"
    assert _details(on_vdpa, "qemu") == [f"QEMU runs virtio-net-pci on vhost-vdpa for {FIRST}"]
    verdicts = checks(on_vdpa.unit)
    assert verdicts.pop("traffic") == "unknown"
    assert "vhost" not in verdicts
    assert set(verdicts.values()) == {"ok"}


@pytest.mark.long
def test_the_other_nic_is_as_it_was(on_vdpa: Station, as_virtio: Station) -> None:
    assert interface(on_vdpa.seen.definition, SECOND) == interface(
        as_virtio.seen.definition, SECOND
    )
    assert (on_vdpa.seen.headers, on_vdpa.seen.pinged) == ({SECOND: True}, True)
    assert on_vdpa.seen.vhost.vhost_files == 1


@pytest.mark.long
def test_from_vdpa_back_to_virtio(as_virtio_again: Station, as_virtio: Station) -> None:
    assert as_virtio_again.unit["outcome"] == "applied"
    seen, before = as_virtio_again.seen, as_virtio.seen
    assert seen.definition == before.definition
    assert (seen.vhost.vdpa_files, seen.vhost.vhost_files) == (0, 2)
    assert (seen.drivers, seen.headers) == (before.drivers, before.headers)
    assert (seen.dns, seen.pinged) == (True, True)


@pytest.mark.long
def test_from_virtio_back_to_rtl8139(as_rtl8139_again: Station, as_rtl8139: Station) -> None:
    assert as_rtl8139_again.unit["outcome"] == "applied"
    seen, before = as_rtl8139_again.seen, as_rtl8139.seen
    assert seen.definition == before.definition
    assert seen.drivers == before.drivers
    assert (seen.vhost.vhost_files, seen.vhost.vhost_threads) == (0, ())
    assert seen.dns


@pytest.mark.long
def test_no_tap_has_a_stuck_header(as_rtl8139_again: Station) -> None:
    assert as_rtl8139_again.seen.headers == {FIRST: False, SECOND: False}
    assert as_rtl8139_again.seen.pinged


@pytest.mark.long
def test_the_password_is_kept(as_virtio: Station, on_vdpa: Station) -> None:
    for station in (as_virtio, on_vdpa):
        assert f"passwd='{SECRET}'" in station.seen.definition


@pytest.mark.long
def test_the_password_is_in_the_kept_definitions_alone(
    remedy: RemedyInL1, as_rtl8139_again: Station
) -> None:
    assert as_rtl8139_again.unit["outcome"] == "applied"
    files = remedy.files()
    kept = {f"state/{path}" for path in files if path.endswith(".xml")}
    assert len(kept) == 4 * 3
    assert set(remedy.with_word(SECRET)) == kept


@pytest.mark.long
def test_nobody_else_can_look_into_the_state_folder(
    remedy: RemedyInL1, as_rtl8139_again: Station
) -> None:
    assert as_rtl8139_again.unit["outcome"] == "applied"
    assert set(remedy.files().values()) == {"drwx------", "-rw-------"}
