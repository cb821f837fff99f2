"""On a real libvirt and QEMU: a definition whose controllers libvirt sorts, and a guest that boots
from the network by a ROM for its old NIC."""

import random
import re
from pathlib import Path

import pytest

from tests.cli.command import vnicaudit
from tests.rig.domain_xml import MAC, Definition, Nic, Pieces
from tests.rig.errors import RigError
from tests.rig.guests import Guest, GuestFactory
from tests.rig.hypervisor import Hypervisor
from tests.rig.process import require, run, wait_for
from tests.rig.remedy import SYSTEM, Remedy, definition, remedy
from vnicaudit.knowledge.to_virtio import OF_VIRTIO

pytestmark = pytest.mark.rig

__all__ = ["remedy"]

Q35 = (
    "<controller type='pci' index='0' model='pcie-root'/>",
    "<controller type='pci' index='1' model='pcie-root-port'/>",
    "<controller type='pci' index='2' model='pcie-to-pci-bridge'/>",
    "<controller type='pci' index='3' model='pcie-root-port'/>",
)
MORE = (
    "<controller type='virtio-serial' index='0'/>",
    "<controller type='usb' index='0' model='qemu-xhci'/>",
    "<controller type='scsi' index='0' model='virtio-scsi'/>",
    "<controller type='sata' index='0'/>",
)
ROM = "<boot order='1'/><rom file='/usr/lib/ipxe/qemu/pxe-e1000.rom'/>"


SECURE_INACTIVE_UPDATE_CPU = 1 | 2 | 4
"""What defining the text again would come to (virDomainXMLFlags)."""


def argv(guest: Guest) -> str:
    """The arguments that libvirt would give QEMU for the persistent definition.

    Without the numbers of descriptors, which are of what libvirtd has open at that moment.
    """
    said = guest.domain.connect().domainXMLToNative("qemu-argv", definition(guest), 0)
    return re.sub(r'"fd":"\d+"', '"fd":"N"', str(said))


def orders() -> list[tuple[str, ...]]:
    """The one that was seen, and some at random."""
    found: list[tuple[str, ...]] = [Q35]
    for seed in range(8):
        chance = random.Random(seed)
        some = [*Q35, *chance.sample(MORE, chance.randint(0, len(MORE)))]
        chance.shuffle(some)
        found.append(tuple(some))
    return found


@pytest.mark.parametrize("controllers", orders(), ids=range(len(orders())))
def test_a_definition_that_libvirt_sorts_comes_back(
    x86_guest: GuestFactory, remedy: Remedy, controllers: tuple[str, ...]
) -> None:
    pieces = Pieces(devices="".join(controllers))
    with x86_guest(Nic("e1000", mac=MAC), machine="q35", pieces=pieces, boot=False) as guest:
        before, arguments = definition(guest), argv(guest)
        again = guest.domain.XMLDesc(SECURE_INACTIVE_UPDATE_CPU)
        text = vnicaudit("plan", SYSTEM, "--domain", guest.name, timeout=300).stdout
        sorted_ = "libvirt lists the controllers in a different order as soon as this definition"
        assert (sorted_ in " ".join(text.split())) == (before.rstrip() != again.rstrip())

        remedy.apply(remedy.plan(guest))
        unit = remedy.last()
        assert unit["outcome"] == "applied", unit
        said = remedy.rollback(unit["run"])
        back = remedy.last()
        assert back["outcome"] == "applied", back
        assert sorted(definition(guest).split()) == sorted(before.split())
        assert definition(guest).rstrip() == again.rstrip(), said
        assert argv(guest) == arguments
    if controllers == Q35:
        assert before.rstrip() != again.rstrip()


class OnSerial(Definition):
    """A guest without a kernel of its own, whose firmware and boot ROM speak on the console."""

    def xml(self) -> str:
        return super().xml().replace("hvm</type>", "hvm</type><bios useserial='yes'/>")


def test_a_guest_boots_from_the_network_as_before(hypervisor: Hypervisor, remedy: Remedy) -> None:
    """iPXE says on the console which device it boots by."""
    require("qemu-system-x86_64")
    name = f"{hypervisor.prefix}rom"
    console = hypervisor.folder / f"{name}.log"
    nic = Nic("e1000", mac=MAC, extra=ROM)
    wanted = OnSerial(name, hypervisor.bridge, (nic,), console=console)

    def boots(driver: str) -> bool:
        return f"using {driver}" in console.read_text(errors="replace")

    with Guest(hypervisor, wanted) as guest:
        guest.start()
        wait_for(lambda: boots("82540em"), "the old NIC boots")
        guest.domain.destroy()
        before = definition(guest)
        remedy.apply(remedy.plan(guest))
        assert remedy.last()["outcome"] == "applied", remedy.last()
        guest.start()
        wait_for(lambda: boots("virtio-net"), "virtio boots")
        guest.domain.destroy()
        remedy.rollback(remedy.last()["run"])
        assert definition(guest) == before


def test_what_virtio_takes_is_what_this_qemu_says() -> None:
    """Of each property that is held for virtio's, QEMU's own help knows."""
    require("qemu-system-x86_64")
    said = run("qemu-system-x86_64", "-device", "virtio-net-pci,help")
    here = set(re.findall(r"^  ([\w-]+)=", said, re.MULTILINE)) | {"driver", "id"}
    for name in OF_VIRTIO:
        assert name in here, name
    old = run("qemu-system-x86_64", "-device", "e1000,help")
    only = set(re.findall(r"^  ([\w-]+)=", old, re.MULTILINE)) - here
    assert {"mitigation", "autonegotiation"} <= only
    assert not only & OF_VIRTIO


def test_a_domain_that_is_undefined_stops_nobody_else(
    x86_guest: GuestFactory, remedy: Remedy, tmp_path: Path
) -> None:
    """Before apply the first of three, before rollback another one."""
    with (
        x86_guest(Nic("e1000"), boot=False) as one,
        x86_guest(Nic("rtl8139"), boot=False) as two,
        x86_guest(Nic("e1000"), boot=False) as three,
    ):
        guests = (one, two, three)
        plan = tmp_path / "all.json"
        which = [word for guest in guests for word in ("--domain", guest.name)]
        planned = vnicaudit("plan", SYSTEM, *which, "-o", plan, timeout=300)
        assert planned.returncode == 0, planned.stderr
        before = {guest.name: definition(guest) for guest in guests}

        one.domain.undefine()
        remedy.apply(plan, code=5)
        run = remedy.runs()[0]
        assert {unit["name"]: unit["outcome"] for unit in run["steps"]} == {
            one.name: "gone", two.name: "applied", three.name: "applied",
        }  # fmt: skip

        three.domain.undefine()
        remedy.rollback(run["id"], code=5)
        assert {unit["name"]: unit["outcome"] for unit in remedy.runs()[0]["steps"]} == {
            two.name: "applied", three.name: "gone",
        }  # fmt: skip
        assert definition(two) == before[two.name]
        for guest in (one, three):
            guest.domain = guest.domain.connect().defineXML(before[guest.name])


def test_a_property_of_the_old_device_is_left_out_for_a_reason(
    x86_guest: GuestFactory, remedy: Remedy
) -> None:
    """QEMU starts with it on e1000, and does not on virtio."""
    override = (
        "<qemu:override xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:device "
        "alias='net0'><qemu:frontend><qemu:property name='mitigation' type='bool' value='false'/>"
        "</qemu:frontend></qemu:device></qemu:override>"
    )
    pieces = Pieces(domain=override)
    with x86_guest(Nic("e1000", mac=MAC), boot=False, pieces=pieces) as guest:
        guest.start()
        guest.domain.destroy()
        plan = vnicaudit("plan", SYSTEM, "--domain", guest.name, timeout=300).stdout
        assert "1 NIC: mitigation set behind libvirt's back" in " ".join(plan.split())
        remedy.apply(remedy.plan(guest))
        assert "<model type='e1000'/>" in definition(guest)
        virtio = definition(guest).replace("type='e1000'", "type='virtio'")
        guest.domain.connect().defineXML(virtio)
        with pytest.raises(RigError, match="mitigation"):
            guest.start()
