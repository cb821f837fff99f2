"""The device is exchanged under a running guest: its address stays, its DNS server goes on."""

import json

import pytest

from tests.rig.domain_xml import MAC, Nic
from tests.rig.guests import Guest, GuestFactory
from tests.rig.remedy import Remedy, checks, definition, remedy

pytestmark = pytest.mark.rig

__all__ = ["remedy"]


def routes(guest: Guest) -> list[dict[str, object]]:
    """The guest's IPv4 routes, without what the kernel numbers anew."""
    found: list[dict[str, object]] = json.loads(guest.run(["ip", "-j", "route"]).output())
    return found


@pytest.mark.parametrize(("model", "machine"), [("rtl8139", "pc"), ("e1000", "q35")])
def test_hotswap_and_back(
    x86_guest: GuestFactory, remedy: Remedy, model: str, machine: str
) -> None:
    with x86_guest(Nic(model, mac=MAC), machine=machine) as guest:
        guest.wait_for_dns()
        before, pid = definition(guest), guest.pid
        addresses, had, name = guest.addresses(MAC), routes(guest), guest.device(MAC)
        plan = remedy.plan(guest)

        with guest.dns_probe() as probe:
            remedy.apply(plan, "--mode", "hotswap")
            probe.wait_for_answer()
        unit = remedy.last()
        assert unit["outcome"] == "applied", unit
        assert checks(unit)["device"] == checks(unit)["address"] == "ok"
        assert guest.pid == pid
        assert guest.driver(MAC) == "virtio_net"
        assert (guest.addresses(MAC), routes(guest), guest.device(MAC)) == (addresses, had, name)

        remedy.rollback(unit["run"])
        back = remedy.last()
        assert back["outcome"] == "applied", back
        assert (definition(guest), guest.pid) == (before, pid)
        assert guest.driver(MAC) in ("8139cp", "e1000")
        guest.wait_for_dns()  # e1000 has no carrier for two seconds, which routes show
        assert (guest.addresses(MAC), routes(guest)) == (addresses, had)
