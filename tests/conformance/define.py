"""Random ``<interface>`` elements, right and wrong ones, defined with the real libvirt: what it
refuses, and what is said of it.

    python -m tests.conformance.define [NUMBER [SEED [RELEASE]]]

needs root and libvirt for Python. A libvirtd of its own, of this machine or of a newer Debian
(releases.py), is given every definition; nothing is started. A *false alarm* is a definition that
libvirt takes while an error says that it refuses it; *missed* is one that it refuses for the NIC's
sake, and no error says so. Each is printed, then the seed and the counts; exit code 1 after a
false alarm.
"""

import importlib
import random
import re
import sys
from typing import Any, NamedTuple

from tests.conformance.releases import HERE, connection
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.platforms.domain_xml.read import read_bytes

_NO_EMULATOR = re.compile("Cannot check QEMU binary")
_REFUSES = ("libvirt refuses", "it refuses the definition")
_PCI = "<source><address type='pci' domain='0' bus='5' slot='1' function='0'/></source>"
_SOURCES = {
    "bridge": "<source bridge='br0'/>", "network": "<source network='default'/>",
    "ethernet": "", "user": "", "direct": "<source dev='eth0' mode='bridge'/>",
    "vhostuser": "<source type='unix' path='/run/x' mode='client'/>",
    "vdpa": "<source dev='/dev/vhost-vdpa-0'/>", "hostdev": _PCI,
    "server": "<source address='127.0.0.1' port='5558'/>",
    "client": "<source address='127.0.0.1' port='5558'/>",
    "mcast": "<source address='230.0.0.1' port='5558'/>",
    "udp": "<source address='127.0.0.1' port='1'><local address='127.0.0.1' port='2'/></source>",
    "internal": "<source name='x'/>",
}  # fmt: skip
_STARTABLE = ("bridge", "bridge", "network", "ethernet", "user", "mcast")
_ODD_SOURCES = (
    "", "<source/>", "<source dev='eth0' mode='nearby'/>", "<source type='tcp' path='x' mode='y'/>",
    "<source address='127.0.0.1'/>",
    "<source type='unix' path='/x' mode='server'><reconnect enabled='yes' timeout='1'/></source>",
)  # fmt: skip
_RIGHT = (0.6, 0.99, 0.99)
"""How often a value is right, in definitions most of which are refused, or start."""
_WORDS = ("on", "off", "yes", "no", "maybe", "ON", "", "default")
_NUMBERS = ("256", "512", "0", "1", "2", "1500", "4095", "4096", " 7", "7 ", "+7", "-1", "x", "",
            "0x10", "4294967295", "4294967296", "18446744073709551616")  # fmt: skip
_MODELS = (
    *12 * ("virtio",), "virtio-transitional", "virtio-non-transitional",
    "e1000", "rtl8139", "e1000e", "igb", "vmxnet3", "usb-net", "ne2k_pci", "pcnet", "i82551",
    "spapr-vlan", "ne2k_isa", "e1000-82545em", None, None,
)  # fmt: skip
"""None: no ``<model>``."""
_ODD_MODELS = ("VirtIO", " virtio ", "a b", "x.y", "nosuch", "", "Unknown", "netfront")
_MACS = ("52:54:00:00:00:01", "52:54:AB:00:00:01", "52:54:0:0:0:1", "01:00:5e:00:00:01",
         "ff:ff:ff:ff:ff:ff", "x", "52-54-00-00-00-01", "52:54:00:00:00:01 ", " 52:54:00:00:00:01",
         "52:54:00:00:00", "03:00:00:00:00:01")  # fmt: skip
_CHILDREN = {
    "<link state='@'/>": ("up", "down", *_WORDS),
    "<mtu size='@'/>": ("1500", "9000", "60", "68", "65535", "65536", *_NUMBERS),
    "<boot order='@'/>": _NUMBERS,
    "<acpi index='@'/>": ("1", "16383", "16384", *_NUMBERS),
    "<rom bar='@'/>": _WORDS,
    "<rom enabled='@'/>": ("yes", "no", *_WORDS),
    "<port isolated='@'/>": ("yes", "no", *_WORDS),
    "<target dev='tap7' managed='@'/>": ("yes", "no", *_WORDS),
    "<target dev='@'/>": ("tap8", "nic-of-15-bytes", "nic-of-16-bytes_", "a/b", "vnet7", ""),
    "<teaming type='@'/>": ("persistent", "", "other"),
    "<teaming type='transient' persistent='@'/>": ("ua-x", "net0", ""),
    "<rom enabled='@' file='/x.rom'/>": ("yes", "no"),
    "<rom enabled='@' bar='on'/>": ("yes", "no"),
    "<route family='ipv4' address='0.0.0.0' gateway='@'/>": ("192.0.2.1",),
    "<mac address='52:54:00:00:00:02' type='@'/>": ("static", "generated", "x", ""),
    "<alias name='@'/>": ("ua-x", "net0", ""),
    "<tune/>": ("",),
    "<rom/>": ("",),
    "<ip/>": ("",),
    "<coalesce><rx><frames max='@'/></rx></coalesce>": _NUMBERS,
    "<vlan trunk='@'><tag id='5'/></vlan>": ("YES", *_WORDS),
    "<vlan><tag id='@'/></vlan>": _NUMBERS,
    "<vlan><tag id='5'/><tag id='@'/></vlan>": _NUMBERS,
    "<vlan trunk='@'><tag id='5'/><tag id='6'/></vlan>": _WORDS,
    "<vlan trunk='@'><tag id='5' nativeMode='tagged'/></vlan>": _WORDS,
    "<vlan><tag id='5' nativeMode='tagged'/><tag id='6' nativeMode='@'/></vlan>": ("tagged", "x"),
    "<vlan><tag/></vlan>": ("",),
    "<vlan><tag id='5' nativeMode='@'/></vlan>": ("tagged", "untagged", *_WORDS),
    "<virtualport type='@'/>": ("openvswitch", "", "midonett"),
    "<virtualport/>": ("",),
    "<vlan/>": ("",),
    "<boot/>": ("",),
    "<bandwidth><inbound average='@'/></bandwidth>": _NUMBERS,
    "<bandwidth><outbound average='5' peak='@'/></bandwidth>": _NUMBERS,
    "<bandwidth><inbound average='5' burst='@'/></bandwidth>": _NUMBERS,
    "<bandwidth><inbound peak='@'/></bandwidth>": _NUMBERS,
    "<bandwidth><inbound average='5' floor='@'/></bandwidth>": _NUMBERS,
    "<bandwidth><outbound average='5' floor='@'/></bandwidth>": _NUMBERS,
    "<bandwidth><inbound average='1'/><inbound average='@'/></bandwidth>": ("1",),
    "<bandwidth><inbound/></bandwidth>": ("",),
    "<bandwidth/>": ("",),
    "<ip address='192.0.2.1' prefix='24'/>": ("",),
    "<address type='@'/>": ("pci", "virtio-mmio", "ccw", "isa", "", "none", "nosuch"),
    "<address/>": ("",),
    "<address type='pci' domain='0' bus='0' slot='@' function='0'/>": ("9", "31", "32", "0x1f"),
    "<address type='pci' domain='0' bus='0' slot='9' function='@'/>": ("0", "7", "8", "x"),
    "<address type='pci' domain='0' bus='0' slot='@' function='0' multifunction='on'/>": ("9", "0"),
    "<address type='pci' domain='@' bus='0' slot='9' function='0'/>": ("0", "0x0000", "1"),
    "<address type='pci' domain='0' bus='@' slot='1' function='0'/>": ("0", "1", "2", "9", "255"),
    "<address type='pci' domain='0' bus='@' slot='0' function='0'/>": ("1", "2", "0", "9"),
    "<address type='usb' bus='0' port='@'/>": ("1", "2"),
    "<address type='ccw' cssid='0xfe' ssid='0x0' devno='@'/>": ("0x0001", "0x0009", "0x0000"),
    "<address type='spapr-vio' reg='@'/>": ("0x1000",),
    "<backend tap='/dev/net/tun' vhost='@'/>": ("/dev/vhost-net", "x"),
    "<filterref filter='@'/>": ("clean-traffic", ""),
    "<tune><sndbuf>@</sndbuf></tune>": ("0", "1600"),
}
_DRIVER = {
    "name": ("qemu", "vhost", "vfio", *_WORDS), "txmode": ("iothread", "timer", *_WORDS),
    "queues": _NUMBERS, "rx_queue_size": _NUMBERS, "tx_queue_size": _NUMBERS,
    **dict.fromkeys(("ioeventfd", "event_idx", "rss", "rss_hash_report", "iommu", "ats", "packed",
                     "page_per_vq", "nosuch"), _WORDS),
}  # fmt: skip
_MACHINES = (
    *4 * (("x86_64", "pc"), ("x86_64", "q35")), *3 * (("s390x", "s390-ccw-virtio"),),
    ("x86_64", "microvm"), ("x86_64", "isapc"), ("riscv64", "virt"), ("ppc64", "pseries"),
    ("aarch64", "virt"),
)  # fmt: skip
_WITHOUT_PCI = ("<memballoon model='none'/>", "<controller type='usb' model='none'/>")
_BESIDE = (*_WITHOUT_PCI, "<memballoon model='virtio'><alias name='ua-x'/></memballoon>")
_BESIDE_ON_PC = (
    *_BESIDE,
    "<controller type='pci' index='1' model='pci-bridge'/>",
    "<memballoon model='virtio'><address type='pci' bus='0' slot='9' function='0'/></memballoon>",
)
_SHARED = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"


class Disagreement(NamedTuple):
    """A definition on which the two differ, and what each says."""

    xml: str
    libvirt: str
    said: str


class Counts(NamedTuple):
    """How it went: definitions, those that libvirt refused, and the two kinds of disagreement."""

    defined: int
    refused: int
    false_alarms: tuple[Disagreement, ...]
    missed: tuple[Disagreement, ...]


def compare(opened: Any, number: int, seed: int, name: str = "define") -> Counts:
    """Define that many random interfaces with an open libvirt connection."""
    libvirt: Any = importlib.import_module("libvirt")
    chance = random.Random(seed)
    here = Version.from_libvirt(opened.getLibVersion())
    engine = DomainAuditor(rule_ids(), every_platform())
    alarms, missed, refused = [], [], 0
    for _ in range(number):
        text = random_domain(chance, name)
        errors = _errors(engine, text, here)
        said = "; ".join(one for one in errors if _is_refusal(one))
        try:
            opened.defineXML(text).undefine()
        except libvirt.libvirtError as error:
            of_the_nic = not _NO_EMULATOR.search(str(error))
            refused += of_the_nic
            if of_the_nic and not errors:
                missed.append(Disagreement(text, str(error), said))
        else:
            if said:
                alarms.append(Disagreement(text, "defined", said))
    return Counts(number, refused, tuple(alarms), tuple(missed))


def _errors(engine: DomainAuditor, text: str, version: Version) -> list[str]:
    """The errors, those of a start too: newer libvirt refuses some of it when it is defined."""
    (domain,) = read_bytes(text.encode(), target="t", file="f.xml")
    audited = engine.audit_domain(domain, HostConfig(libvirt_version=version), "t")
    assert not audited.crashed
    return [found.message for found in audited.findings if found.severity == "error"]


def _is_refusal(message: str) -> bool:
    return any(words in message for words in _REFUSES)


def random_domain(chance: random.Random, name: str) -> str:
    """One definition: most of them with hardly anything wrong, to be started; of the others most is
    right, so that what is wrong is what they are refused for."""
    right = chance.choice(_RIGHT)
    arch, machine = chance.choice(_MACHINES)
    memory = _SHARED if chance.random() < 0.1 else ""
    boot = "<boot dev='hd'/>" if chance.random() < 0.1 else ""
    devices = [_interface(chance, right, nic) for nic in range(chance.choice((1, 1, 1, 2, 2, 3)))]
    if machine in ("microvm", "isapc"):
        devices += _WITHOUT_PCI
    elif chance.random() < 0.3:
        devices.append(chance.choice(_BESIDE_ON_PC if machine == "pc" else _BESIDE))
    return (
        f"<domain type='qemu'><name>{name}</name><memory>65536</memory>{memory}"
        f"<os><type arch='{arch}' machine='{machine}'>hvm</type>{boot}</os><devices>"
        f"<emulator>/usr/bin/qemu-system-{arch}</emulator>{''.join(devices)}</devices></domain>"
    )


def _interface(chance: random.Random, right: float, number: int) -> str:
    kinds = _STARTABLE if right == max(_RIGHT) else (*_SOURCES, "bridge", "network", "bridge")
    kind = chance.choice(kinds)

    def value(values: tuple[str, ...]) -> str:
        """The first two are right for most, and more often chosen."""
        return chance.choice(values[:2] if chance.random() < right else values)

    source = chance.choice(_ODD_SOURCES) if chance.random() < 0.1 else _SOURCES[kind]
    parts = [source]
    if chance.random() < 0.4:
        parts.append(f"<mac address='{value(_MACS).replace(':00:00:01', f':00:00:0{number}')}'/>")
    model = chance.choice(_MODELS if chance.random() < max(right, 0.9) else _ODD_MODELS)
    if model is not None:
        parts.append(f"<model type='{model}'/>")
    if chance.random() < 0.5:
        names = chance.sample(list(_DRIVER), chance.choice((1, 1, 2)))
        given = "".join(f" {name}='{value(_DRIVER[name])}'" for name in names)
        inner = ""
        if chance.random() < 0.2:
            inner = f"<{chance.choice(('host', 'guest'))} csum='{value(_WORDS)}'/>"
        parts.append(f"<driver{given}>{inner}</driver>")
    children = chance.choice((0, 0, 1) if right == max(_RIGHT) else (0, 1, 1, 2))
    for child in chance.sample(list(_CHILDREN), children):
        parts.append(child.replace("@", value(_CHILDREN[child])))
    trust = value(("yes", "no", *_WORDS))
    more = f" trustGuestRxFilters='{trust}'" if chance.random() < 0.1 else ""
    return f"<interface type='{kind}'{more}>{''.join(parts)}</interface>"


def main(arguments: list[str]) -> int:
    """Define as many as asked, and say how it went."""
    number = int(arguments[0]) if arguments else 500
    seed = int(arguments[1]) if arguments[1:] else random.SystemRandom().randrange(2**32)
    with connection(arguments[2] if arguments[2:] else HERE) as opened:
        counts = compare(opened, number, seed)
    for what, found in (("FALSE ALARM", counts.false_alarms), ("missed", counts.missed)):
        for one in found:
            print(f"{what}: {one.xml}\n    libvirt: {one.libvirt}\n    said: {one.said}")
    print(
        f"seed {seed}: {counts.defined} definitions, {counts.refused} refused, of which "
        f"{counts.refused - len(counts.missed)} were said to be, {len(counts.missed)} missed; "
        f"{len(counts.false_alarms)} false alarms"
    )
    return 1 if counts.false_alarms else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
