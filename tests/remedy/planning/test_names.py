"""Interface names before and after: known, predicted, or left open with the reason."""

from typing import NamedTuple

import msgspec
import pytest

from tests.remedy.planning.guests import PC, Q35, S390X, ccw, guest, nic, pci
from vnicaudit.knowledge.systems import system_of
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Naming
from vnicaudit.remedy.planning.naming import naming

AGENT = "the guest agent reports the current name"
STAYS = f"{AGENT}; systemd derives it from the address, which stays the same"
KERNEL = "the kernel names NICs in the order it finds them"
ETH = (
    "this system calls virtio NICs ethN, unless the kernel is started with net.ifnames=1 or a file "
    "ifcfg-* has their HWADDR (Red Hat solution 3219091)"
)
MAY_BE_ETH = (
    "if it stays the same, so does a name derived from it, except in systems that call virtio NICs "
    "ethN, such as Red Hat Enterprise Linux 7"
)
OWN = "it is a custom name, and stays if it is assigned by MAC address"
NOT_KNOWN = "the guest's naming scheme is unknown"
NO_ADDRESS = (
    "systemd derives the name from the guest's own numbering of addresses, which is unknown"
)
WHATEVER = "the address stays the same, and so does any name derived from it"
WINDOWS = "Windows creates a new adapter for the new device, with another name"
SAME = "driver and address stay the same, so the name does too"
BY_DRIVER = "this system names interfaces after their driver"


def predicted(name: str) -> str:
    return (
        f"{name} is predicted, if systemd (197 or newer, without net.ifnames=0) names the "
        "interfaces, the default of its distribution"
    )


def kernel(name: str) -> str:
    return f"{name} is predicted: {KERNEL}, and this is the only one"


class Case(NamedTuple):
    expected: Naming
    before: Nic = pci("e1000")
    after: Nic = pci("virtio")
    domain: DomainConfig = PC
    os: str | None = "debian 12"
    today: str | None = None
    beside: tuple[Nic, ...] = ()


SECOND = pci("e1000", "0000:00:04.0", 1)
TWO = msgspec.structs.replace(PC, nics=2)

CASES = {
    "the address stays, the agent knows": Case(Naming("ens3", "ens3", STAYS), today="ens3"),
    "the same on q35, behind a port": Case(
        Naming("enp1s0", "enp1s0", STAYS),
        pci("e1000e", "0000:01:00.0"), pci("virtio", "0000:01:00.0"), Q35, today="enp1s0",
    ),
    "nobody knows, pc": Case(Naming("ens3", "ens3", predicted("ens3"))),
    "slots are decimal": Case(
        Naming("ens30", "ens30", predicted("ens30")),
        pci("rtl8139", "0000:00:1e.0"), pci("virtio", "0000:00:1e.0"),
    ),
    "nobody knows, root bus of q35": Case(
        Naming("enp0s5", "enp0s5", predicted("enp0s5")),
        pci("e1000e", "0000:00:05.0"), pci("virtio", "0000:00:05.0"), Q35,
    ),
    "nobody knows, behind a port": Case(
        Naming(None, None, f"{NO_ADDRESS}; {WHATEVER}"),
        pci("e1000e", "0000:01:00.0"), pci("virtio", "0000:01:00.0"), Q35,
    ),
    "the address goes": Case(
        Naming("enp3s1", None, f"{AGENT}; {NO_ADDRESS}"),
        pci("rtl8139", "0000:02:01.0"), pci("virtio", None), Q35, today="enp3s1",
    ),
    "the address changes": Case(
        Naming("ens3", "ens5", f"{AGENT}; {predicted('ens5')}"),
        after=pci("virtio", "0000:00:05.0"), today="ens3",
    ),
    "acpi index": Case(
        Naming("eno7", "eno7", predicted("eno7")), pci("e1000", acpi="7"), pci("virtio", acpi="7")
    ),
    "an acpi index that systemd does not take": Case(
        Naming(None, None, f"{NO_ADDRESS}; {WHATEVER}"),
        pci("e1000", acpi="16384"), pci("virtio", acpi="16384"),
    ),
    "an acpi index on q35": Case(
        Naming(None, None, f"{NO_ADDRESS}; {WHATEVER}"),
        pci("e1000e", "0000:00:05.0", acpi="7"), pci("virtio", "0000:00:05.0", acpi="7"), Q35,
    ),
    "a slot shared by functions": Case(
        Naming(None, None, f"{NO_ADDRESS}; {WHATEVER}"), domain=TWO,
        beside=(pci("virtio", "0000:00:03.1", 1),),
    ),
    "a device that stays what it is": Case(
        Naming("ens3", "ens3", f"{AGENT}; {SAME}", same_device=True),
        pci("virtio"), pci("virtio", queues=4), today="ens3",
    ),
    "the same on a system not known": Case(
        Naming("wan", "wan", f"{AGENT}; {SAME}", same_device=True),
        pci("virtio"), pci("virtio", queues=4), os=None, today="wan",
    ),
    "a device that stays what it is, wherever that is": Case(
        Naming("ens3", "ens3", f"{AGENT}; {SAME}", same_device=True),
        pci("virtio", None), pci("virtio", None, queues=4), today="ens3",
    ),
    "another kind of virtio": Case(
        Naming("ens3", "ens3", STAYS),
        pci("virtio"), pci("virtio-non-transitional"), os="rhel 7.9", today="ens3",
    ),
    "another kind of virtio, to Windows": Case(
        Naming("Ethernet", None, f"{AGENT}; {WINDOWS}"),
        pci("virtio"), pci("virtio-non-transitional"), os="mswindows 10", today="Ethernet",
    ),
    "a name made of the MAC": Case(
        Naming("enx525400aabb01", "enx525400aabb01",
               f"{AGENT}; systemd derives it from the MAC address, which stays the same"),
        after=pci("virtio", None), today="enx525400aabb01",
    ),
    "RHEL 7, the agent knows": Case(
        Naming("ens3", None, f"{AGENT}; {ETH}"), os="rhel 7.9", today="ens3"
    ),
    "CentOS 7, predicted": Case(
        Naming("ens3", None, f"{predicted('ens3')}; {ETH}"), os="centos 7"
    ),
    "RHEL 7, a virtio NIC that gets another address": Case(
        Naming("eth0", "eth0", f"{AGENT}; {kernel('eth0')}"),
        pci("virtio"), pci("virtio", "0000:00:05.0"), os="rhel 7.9", today="eth0",
    ),
    "RHEL 7 with net.ifnames=1": Case(
        Naming("ens3", "ens5", f"{AGENT}; {predicted('ens5')}"),
        pci("virtio"), pci("virtio", "0000:00:05.0"), os="rhel 7.9", today="ens3",
    ),
    "RHEL 7, a name made of the MAC": Case(
        Naming("enx525400aabb01", None, f"{AGENT}; {ETH}"), os="rhel 7.9", today="enx525400aabb01"
    ),
    "RHEL 8": Case(Naming("ens3", "ens3", STAYS), os="rhel 8.10", today="ens3"),
    "Fedora 23": Case(Naming("ens3", None, f"{AGENT}; {ETH}"), os="fedora 23", today="ens3"),
    "Ubuntu 16.04": Case(Naming("ens3", "ens3", STAYS), os="ubuntu 16.04", today="ens3"),
    "a Linux not known better": Case(
        Naming("ens3", None, f"{AGENT}; {MAY_BE_ETH}"), os=None, today="ens3"
    ),
    "nothing known": Case(Naming(None, None, NOT_KNOWN), os=None),
    "a distribution without table": Case(Naming(None, None, NOT_KNOWN), os="alpine 3.20.1"),
    "eth0, the only NIC": Case(
        Naming("eth0", "eth0", f"{AGENT}; {kernel('eth0')}"), os="fedora 40", today="eth0"
    ),
    "eth0 of two": Case(
        Naming("eth0", None, f"{AGENT}; {KERNEL}, which depends on their drivers"),
        domain=TWO, beside=(SECOND,), today="eth0",
    ),
    "eth1, the only NIC": Case(
        Naming("eth1", None, f"{AGENT}; {OWN}"), os="rhel 6.9", today="eth1"
    ),
    "RHEL 6, predicted": Case(Naming("eth0", "eth0", kernel("eth0")), os="rhel 6.9"),
    "Debian 8, predicted, one of two": Case(
        Naming(None, None, f"{KERNEL}, which depends on their drivers"),
        domain=TWO, beside=(SECOND,), os="debian 8",
    ),
    "a name of their own": Case(Naming("wan", None, f"{AGENT}; {OWN}"), today="wan"),
    "Windows": Case(
        Naming("Ethernet 2", None, f"{AGENT}; {WINDOWS}"),
        os="mswindows 2019", today="Ethernet 2",
    ),
    "FreeBSD, the only NIC": Case(
        Naming("em0", "vtnet0", f"{AGENT}; {BY_DRIVER}"), os="freebsd 14.1", today="em0"
    ),
    "FreeBSD, one of two": Case(
        Naming("em0", None, f"{AGENT}; {BY_DRIVER}"),
        os="freebsd 14.1", today="em0", domain=TWO, beside=(SECOND,),
    ),
    "OpenBSD, the agent does not say": Case(
        Naming(None, "vio0", f"the guest agent does not report the current name; {BY_DRIVER}"),
        domain=msgspec.structs.replace(PC, os_id="http://openbsd.org/openbsd/7.4"), os=None,
    ),
    "s390x": Case(
        Naming("enc1", "enc1", f"{predicted('enc1')}; {SAME}", same_device=True),
        ccw("virtio"), ccw("virtio", queues=2), S390X,
    ),
    "s390x, device number 0": Case(
        Naming("enc0", "enc0", f"{predicted('enc0')}; {SAME}", same_device=True),
        ccw("virtio", "fe.0.0000"), ccw("virtio", "fe.0.0000", queues=2), S390X,
    ),
    "s390x, another subchannel set": Case(
        Naming("enc1.0a0f", "enc1.0a0f",
               f"{predicted('enc1.0a0f')}; {SAME}", same_device=True),
        ccw("virtio", "fe.1.0a0f"), ccw("virtio", "fe.1.0a0f", queues=2), S390X,
    ),
    "s390x, from PCI to ccw": Case(
        Naming("eno1", "enc1", f"{AGENT}; {predicted('enc1')}"),
        pci("virtio", "0000:00:01.0"), ccw("virtio"), S390X, today="eno1",
    ),
    "s390x with a systemd that does not name ccw": Case(
        Naming("eth0", "eth0", f"{kernel('eth0')}; {SAME}", same_device=True),
        ccw("virtio"), ccw("virtio", queues=2), S390X, os="debian 9",
    ),
    "from USB to PCI": Case(
        Naming("enx525400aabb01", "enx525400aabb01",
               f"{AGENT}; systemd derives it from the MAC address, which stays the same"),
        nic("usb-net", None, "usb", 0), pci("virtio"), today="enx525400aabb01",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_names(case: Case) -> None:
    domain = guest(case.domain, case.before, *case.beside, os=case.os)
    system = system_of(domain, case.today)
    assert naming(domain, system, case.before, case.after, case.today) == case.expected
