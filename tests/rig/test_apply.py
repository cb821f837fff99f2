"""Real guests are turned into virtio by each mode, and back."""

import json

import pytest

from tests.rig.domain_xml import MAC, Manners, Nic, Pieces
from tests.rig.guests import GuestFactory
from tests.rig.remedy import Remedy, checks, definition, remedy

pytestmark = pytest.mark.rig

__all__ = ["remedy"]


def nic_in(text: str) -> str:
    """The first interface of a definition."""
    return text.partition("<interface")[2].partition("</interface")[0]


@pytest.mark.parametrize(
    ("model", "machine", "back_by"),
    [
        ("rtl8139", "pc", "restart"),
        ("e1000", "q35", "next-boot"),
        pytest.param("e1000", "q35", "restart", marks=pytest.mark.long),
    ],
)
def test_next_boot_then_restart_and_back(
    x86_guest: GuestFactory, remedy: Remedy, model: str, machine: str, back_by: str
) -> None:
    with x86_guest(Nic(model, mac=MAC), machine=machine) as guest:
        guest.wait_for_dns()
        before, pid = definition(guest), guest.pid
        plan = remedy.plan(guest)

        remedy.apply(plan)
        assert remedy.last()["outcome"] == "applied"
        assert "<model type='virtio'/>" in definition(guest)
        assert guest.pid == pid
        guest.wait_for_dns()

        remedy.apply(plan, "--mode", "restart")
        unit = remedy.last()
        assert unit["outcome"] == "applied", unit
        assert checks(unit)["device"] == checks(unit)["qemu"] == checks(unit)["guest"] == "ok"
        assert guest.pid != pid
        assert guest.driver(MAC) == "virtio_net"
        guest.wait_for_dns()

        remedy.rollback(unit["run"], "--mode", back_by)
        back = remedy.last()
        assert back["outcome"] == "applied", back
        assert definition(guest) == before
        guest.wait_for_dns()
        assert (guest.driver(MAC) == "virtio_net") == (back_by == "next-boot")


def test_s390x_gets_ccw_and_runs(s390x_guest: GuestFactory, remedy: Remedy) -> None:
    extra = "<rom enabled='no'/>"
    with s390x_guest(Nic("e1000", mac=MAC, extra=extra), boot=False) as guest:
        before = definition(guest)
        assert "<address type='pci'" in nic_in(before)
        plan = remedy.plan(guest)
        remedy.apply(plan)
        assert remedy.last()["outcome"] == "applied", remedy.last()
        nic = nic_in(definition(guest))
        assert "<address type='ccw'" in nic
        assert "<rom" not in nic
        guest.boot()
        guest.wait_for_dns()
        assert guest.driver(MAC) == "virtio_net"

        guest.domain.destroy()
        remedy.rollback(remedy.last()["run"])
        back = definition(guest)
        assert remedy.last()["outcome"] == "applied", remedy.last()
        assert back == before


def test_everything_else_stays(x86_guest: GuestFactory, remedy: Remedy) -> None:
    pieces = Pieces(
        metadata="<foreign:x xmlns:foreign='urn:x'><!-- kept --><foreign:y z='1'/></foreign:x>",
        domain="<description>a mail server</description>",
        devices="<graphics type='vnc' port='-1' autoport='yes' passwd='s3cret'/>",
    )
    extra = "<bandwidth><inbound average='1000'/></bandwidth><link state='up'/><boot order='1'/>"
    with x86_guest(Nic("e1000", mac=MAC, extra=extra), boot=False, pieces=pieces) as guest:
        before = definition(guest)
        plan = remedy.plan(guest)
        assert "s3cret" not in plan.read_text()
        remedy.apply(plan)
        wanted = before.replace("<model type='e1000'/>", "<model type='virtio'/>")
        assert definition(guest) == wanted
        assert "passwd='s3cret'" in definition(guest)
        kept = [path for path in remedy.state.rglob("*") if path.is_file()]
        assert kept
        assert {path.stat().st_mode & 0o077 for path in remedy.state.rglob("*")} == {0}
        remedy.rollback(remedy.last()["run"])
        assert definition(guest) == before


def test_without_an_agent(x86_guest: GuestFactory, remedy: Remedy) -> None:
    mac = "52:54:00:ab:0a:77"  # nobody else's, in any table
    with x86_guest(Nic("rtl8139", mac=mac), manners=Manners(agent=False)) as guest:
        guest.wait_for_dns()
        assert not guest.agent.answers()
        plan = remedy.plan(guest)
        (step,) = json.loads(plan.read_text())["steps"]
        assert {one["mode"]: one["code"] for one in step["modes"]}["hotswap"] == "no-agent"
        remedy.apply(plan, "--mode", "hotswap", code=5)

        remedy.apply(plan, "--mode", "restart")
        unit = remedy.last()
        assert unit["outcome"] == "applied", unit
        seen = {check["name"]: check for check in unit["checks"]}
        assert seen["traffic"]["verdict"] == "ok", unit
        guest.wait_for_dns()
