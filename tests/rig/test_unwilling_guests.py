"""Guests that do not come back, and guests that do not go: nothing is lost with either."""

import pytest

from tests.rig.domain_xml import MAC, Manners, Nic
from tests.rig.guests import Guest, GuestFactory
from tests.rig.remedy import Remedy, checks, definition, remedy

pytestmark = pytest.mark.rig

__all__ = ["remedy"]

VIRTIO = "<model type='virtio'/>"


def patience(guest: Guest) -> tuple[str, str]:
    """How long the product is to wait for a guest that comes back, or goes: in vain all of it."""
    return "--guest-deadline", str(round(max(30, 4 * guest.booted_in)))


def test_a_guest_that_does_not_come_back_from_a_restart_is_rolled_back(
    x86_guest: GuestFactory, remedy: Remedy
) -> None:
    with x86_guest(Nic("e1000", mac=MAC), manners=Manners(without=("virtio_net",))) as guest:
        guest.wait_for_dns()
        before, pid = definition(guest), guest.pid
        plan = remedy.plan(guest)

        said = remedy.apply(plan, "--mode", "restart", *patience(guest), code=6)
        assert "undoing: the guest has no interface with" in said
        unit = remedy.last()
        assert unit["outcome"] == "rolled-back"
        assert unit["message"].startswith(
            f"the guest has no interface with {MAC}: does it have the driver?"
        )
        assert unit["message"].endswith("; it was put back")
        assert definition(guest) == before
        assert guest.pid != pid
        guest.wait_for_dns()
        assert guest.driver(MAC) == "e1000"


def test_a_guest_that_does_not_take_the_new_device_gets_the_old_one(
    x86_guest: GuestFactory, remedy: Remedy
) -> None:
    with x86_guest(Nic("e1000", mac=MAC), manners=Manners(without=("virtio_net",))) as guest:
        guest.wait_for_dns()
        before, pid, addresses = definition(guest), guest.pid, guest.addresses(MAC)
        plan = remedy.plan(guest)

        remedy.apply(plan, "--mode", "hotswap", *patience(guest), code=6)
        unit = remedy.last()
        assert unit["outcome"] == "rolled-back"
        # a device that is plugged is waited for no longer, whatever the guest's deadline
        assert unit["message"] == (
            f"the guest has no interface with {MAC} after 30 s: does it have the driver?; "
            "it was put back"
        )
        assert (definition(guest), guest.pid) == (before, pid)
        guest.wait_for_dns()
        assert guest.driver(MAC) == "e1000"
        assert guest.addresses(MAC) == addresses


def test_a_guest_that_does_not_shut_down(x86_guest: GuestFactory, remedy: Remedy) -> None:
    """libvirt waits a minute for an agent that was asked to; the run does not."""
    with x86_guest(Nic("e1000", mac=MAC), manners=Manners(deaf=True)) as guest:
        guest.wait_for_dns()
        before, pid = definition(guest), guest.pid
        plan = remedy.plan(guest)
        words = ("--mode", "restart", "--guest-deadline", "8", "--deadline", "5")

        said = remedy.apply(plan, *words, code=5)
        assert "shutting down through its agent" in said
        assert "shutting down through its power button" in said
        unit = remedy.last()
        assert unit["outcome"] == "failed"
        assert unit["message"] == (
            "the guest did not shut down within 8 s (--force-off powers such a guest off); if it "
            "does so later, it stays off until it is started; it was put back"
        )
        assert (definition(guest), guest.pid) == (before, pid)
        assert guest.answers_dns()

        said = remedy.apply(plan, *words[:2], *patience(guest), "--force-off")
        assert "powering off" in said
        unit = remedy.last()
        assert unit["outcome"] == "applied"
        assert checks(unit)["device"] == checks(unit)["qemu"] == "ok"
        assert VIRTIO in definition(guest)
        guest.wait_for_dns()
        assert guest.driver(MAC) == "virtio_net"
