"""Guests of L1 that are off: what is refused with vDPA and vhost-user, and what is defined."""

from collections.abc import Iterator

import pytest

from tests.rig.domain_xml import SHARED_MEMORY, Nic
from tests.rig.l1 import L1
from tests.rig.remedy_l1 import SECRET, GuestsInL1, RemedyInL1, definition, interface, to_vdpa
from tests.rig.vdpa import vdpa_device

pytestmark = pytest.mark.rig

SOCKET = "/run/vhu-1"
VHOST_USER = ("--to", "vhostuser", "--vhostuser-socket", SOCKET, "--vhostuser-mode", "client")
NEEDS_SHARED = (
    "needs the guest's memory shared: without <memoryBacking><source type='memfd'/>"
    "<access mode='shared'/></memoryBacking> the guest starts but passes no packets"
)


@pytest.fixture(scope="module")
def guests(l1: L1) -> GuestsInL1:
    return GuestsInL1(l1)


@pytest.fixture(scope="module")
def device(l1: L1) -> Iterator[str]:
    with vdpa_device(l1) as path:
        yield path


def test_vhostuser_is_defined_and_taken_back(guests: GuestsInL1, l1_with_product: L1) -> None:
    remedy = RemedyInL1(l1_with_product, "vhostuser")
    mac = "52:54:00:ab:0c:07"
    with guests("vhostuser", Nic("e1000", mac), machine="q35", memory=SHARED_MEMORY) as guest:
        before = definition(guest)
        ran = remedy.apply(remedy.plan("vhostuser", "--nic", mac, *VHOST_USER))
        assert ran.exit_code == 0, ran.stdout + ran.stderr
        after, unit = definition(guest), remedy.last()
        assert unit["outcome"] == "applied"
        mine = interface(after, mac)
        assert mine.startswith("<interface type='vhostuser'>")
        assert f"<source type='unix' path='{SOCKET}' mode='client'/>" in mine
        assert "<model type='virtio'/>" in mine
        assert f"passwd='{SECRET}'" in after

        back = remedy.rollback(unit["run"])
        assert back.exit_code == 0, back.stdout + back.stderr
        assert definition(guest) == before


def test_vhostuser_without_shared_memory_is_refused(
    guests: GuestsInL1, l1_with_product: L1
) -> None:
    mac = "52:54:00:ab:0c:08"
    with guests("vhostuser-alone", Nic("virtio", mac)):
        plan = RemedyInL1(l1_with_product, "vhostuser").plan("refused", "--nic", mac, *VHOST_USER)
    says = plan.step["blocked"][0]["text"]
    assert says.startswith("vhost-user needs the guest's memory shared: <memoryBacking>")


@pytest.fixture(scope="module")
def blocked(l1_with_product: L1) -> RemedyInL1:
    return RemedyInL1(l1_with_product, "blocked")


def test_vdpa_without_shared_memory_is_refused(
    guests: GuestsInL1, blocked: RemedyInL1, device: str
) -> None:
    mac = "52:54:00:ab:0c:03"
    with guests("alone", Nic("virtio", mac)) as guest:
        before = definition(guest)
        plan = blocked.plan("alone", "--nic", mac, *to_vdpa(device))
        says = f"{device} is served by a program (VDUSE), which {NEEDS_SHARED}"
        assert [one["text"] for one in plan.step["blocked"]] == [says]

        ran = blocked.apply(plan)
        assert ran.exit_code == 5
        refusal, nothing = ran.stderr.splitlines()
        assert refusal == f"Not applied: step 1, {guest.name} {mac}: {says}"
        assert nothing == "Nothing was changed."
        assert definition(guest) == before


@pytest.mark.long
def test_a_device_that_is_not_there_is_refused(
    guests: GuestsInL1, blocked: RemedyInL1, device: str
) -> None:
    other = device.replace("-0", "-7")
    mac = "52:54:00:ab:0c:04"
    with guests("misled", Nic("virtio", mac), memory=SHARED_MEMORY):
        plan = blocked.plan("misled", "--nic", mac, *to_vdpa(other))
    assert [one["code"] for one in plan.step["blocked"]] == ["device-missing"]


def test_a_device_that_another_domain_has_is_refused(
    guests: GuestsInL1, blocked: RemedyInL1, device: str
) -> None:
    has_it = Nic(kind="vdpa", source=f"<source dev='{device}'/>")
    mac = "52:54:00:ab:0c:05"
    with (
        guests("has-it", has_it, memory=SHARED_MEMORY),
        guests("late", Nic("virtio", mac), memory=SHARED_MEMORY),
    ):
        plan = blocked.plan("late", "--nic", mac, *to_vdpa(device))
    assert [one["text"] for one in plan.step["blocked"]] == [
        f"{device} is used by domain remedy-has-it"
    ]


@pytest.mark.long
def test_a_device_that_another_nic_has_is_refused(
    guests: GuestsInL1, blocked: RemedyInL1, device: str
) -> None:
    has_it = Nic(kind="vdpa", source=f"<source dev='{device}'/>")
    mac = "52:54:00:ab:0c:06"
    with guests("both", has_it, Nic("virtio", mac), memory=SHARED_MEMORY):
        plan = blocked.plan("both", "--nic", mac, *to_vdpa(device))
    assert [one["code"] for one in plan.step["blocked"]] == ["device-in-use"]
