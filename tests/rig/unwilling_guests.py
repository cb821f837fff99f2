"""Guests that do not come back, and guests that do not go, and what becomes of them.

Most of the time the product waits for them, in vain: they are waited for side by side, and while
other tests wait (fixtures.py).
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock

from tests.rig.domain_xml import Manners, Nic
from tests.rig.guests import Guest, GuestFactory
from tests.rig.remedy import Remedy, checks, definition

VIRTIO = "<model type='virtio'/>"
NO_DRIVER, DEAF = Manners(without=("virtio_net",)), Manners(deaf=True)

Cases = Mapping[str, "Future[None]"]


class Booting:
    """Boots one guest at a time: how long that takes says how long it is waited for."""

    def __init__(self, factory: GuestFactory) -> None:
        self._factory = factory
        self._lock = Lock()

    def __call__(self, mac: str, manners: Manners) -> Guest:
        """An e1000 of that MAC, which is nobody else's: the guests are on one bridge."""
        with self._lock:
            return self._factory(Nic("e1000", mac=mac), manners=manners, once=True)

    def stays_off(self, mac: str) -> Guest:
        """An e1000 that is not started."""
        return self._factory(Nic("e1000", mac=mac), boot=False)


@contextmanager
def under_way(factory: GuestFactory, remedy: Callable[[], Remedy]) -> Iterator[Cases]:
    """All of them, by the names of the functions below."""
    boot = Booting(factory)
    works = (does_not_come_back, does_not_shut_down, does_not_take_the_new_device)
    with ThreadPoolExecutor(len(works)) as pool:
        yield {work.__name__: pool.submit(work, boot, remedy()) for work in works}


def patience(guest: Guest) -> tuple[str]:
    """How long the product is to wait for a guest that comes back, or goes: in vain all of it."""
    return (f"VNICAUDIT_GUEST_DEADLINE={round(max(60, 6 * guest.booted_in))}",)


def does_not_come_back(boot: Booting, remedy: Remedy) -> None:
    mac = "52:54:00:ab:0d:01"
    with boot(mac, NO_DRIVER) as guest:
        guest.wait_for_dns()
        before, pid = definition(guest), guest.pid
        plan = remedy.plan(guest)

        said = remedy.apply(plan, "--mode", "restart", *patience(guest), code=6)
        assert "undoing the change" in said
        assert said.count("the guest has no interface with") == 1
        unit = remedy.last()
        assert unit["outcome"] == "rolled-back"
        assert unit["message"].startswith(
            f"the guest has no interface with {mac}: does it have the driver?"
        )
        assert unit["message"].endswith("; it was put back")
        assert definition(guest) == before
        assert guest.pid != pid
        guest.wait_for_dns()
        assert guest.driver(mac) == "e1000"


def does_not_take_the_new_device(boot: Booting, remedy: Remedy) -> None:
    mac = "52:54:00:ab:0d:02"
    with boot(mac, NO_DRIVER) as guest:
        guest.wait_for_dns()
        before, pid, addresses = definition(guest), guest.pid, guest.addresses(mac)
        plan = remedy.plan(guest)

        remedy.apply(plan, "--mode", "hotswap", *patience(guest), code=6)
        unit = remedy.last()
        assert unit["outcome"] == "rolled-back"
        # a device that is plugged is waited for no longer, whatever the guest's deadline
        assert unit["message"] == (
            f"the guest has no interface with {mac} after 30 s: does it have the driver?; "
            "it was put back"
        )
        assert (definition(guest), guest.pid) == (before, pid)
        guest.wait_for_dns()
        assert guest.driver(mac) == "e1000"
        assert guest.addresses(mac) == addresses


def does_not_shut_down(boot: Booting, remedy: Remedy) -> None:
    """libvirt waits a minute for an agent that was asked to; the run does not. A rollback goes on
    with the other one, and names the command that rolls this one back."""
    mac = "52:54:00:ab:0d:03"
    with boot(mac, DEAF) as guest, boot.stays_off("52:54:00:ab:0d:04") as other:
        guest.wait_for_dns()
        before, pid, other_before = definition(guest), guest.pid, definition(other)
        plan = remedy.plan(guest)
        words = ("--mode", "restart", "VNICAUDIT_GUEST_DEADLINE=8", "VNICAUDIT_DEADLINE=30")

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
        guest.wait_for_dns()

        plan = remedy.plan(other, "--domain", guest.name)
        said = remedy.apply(plan, *words[:2], *patience(guest), "--force-off")
        assert "powering off" in said
        run = remedy.runs()[0]
        (unit,) = (one for one in run["steps"] if one["name"] == guest.name)
        assert unit["outcome"] == "applied"
        assert checks(unit)["device"] == checks(unit)["qemu"] == "ok"
        assert VIRTIO in definition(guest)
        guest.wait_for_dns()
        assert guest.driver(mac) == "virtio_net"

        goal, last = definition(guest), run["steps"][-1]["name"]
        assert {guest.name, other.name} == {one["name"] for one in run["steps"]}
        remedy.rollback(run["id"], *words, code=5)
        back = remedy.runs()[0]
        assert back["steps"][0]["name"] == last
        units = {one["name"]: one for one in back["steps"]}
        assert units[other.name]["outcome"] == "applied"
        assert definition(other) == other_before
        assert (units[guest.name]["outcome"], definition(guest)) == ("failed", goal)
        command = f"rollback {run['id']} --domain {guest.name} --mode restart --force-off"
        assert (
            f"the change is back in it (to try again: vnicaudit {command} --state "
            in (units[guest.name]["message"])
        )
        guest.wait_for_dns()

        remedy.rollback(*command.split()[1:], *patience(guest))
        assert remedy.last()["outcome"] == "applied"
        assert definition(guest) == before
        guest.wait_for_dns()
        assert guest.driver(mac) == "e1000"
