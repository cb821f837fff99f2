"""Real guests are turned into virtio by each mode, and back."""

import pytest

from tests.rig.domain_xml import Nic
from tests.rig.guests import GuestFactory
from tests.rig.remedy import MAC, Remedy, checks, definition, remedy

pytestmark = pytest.mark.rig

__all__ = ["remedy"]


@pytest.mark.parametrize(("model", "machine"), [("rtl8139", "pc"), ("e1000", "q35")])
def test_next_boot_then_restart_and_back(
    x86_guest: GuestFactory, remedy: Remedy, model: str, machine: str
) -> None:
    with x86_guest(Nic(model, mac=MAC), machine=machine) as guest:
        guest.wait_for_dns()
        before, pid = definition(guest), guest.pid
        plan = remedy.plan(guest)

        remedy.apply(plan)
        assert remedy.last()["outcome"] == "applied"
        assert "<model type='virtio'/>" in definition(guest)
        assert guest.pid == pid
        assert guest.answers_dns()

        remedy.apply(plan, "--mode", "restart")
        unit = remedy.last()
        assert unit["outcome"] == "applied", unit
        assert checks(unit)["device"] == checks(unit)["qemu"] == checks(unit)["guest"] == "ok"
        assert guest.pid != pid
        assert guest.driver(MAC) == "virtio_net"
        guest.wait_for_dns()

        remedy.rollback(unit["run"])
        back = remedy.last()
        assert back["outcome"] == "applied", back
        assert definition(guest) == before
        guest.wait_for_dns()
        assert guest.driver(MAC) != "virtio_net"
