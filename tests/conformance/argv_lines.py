"""Random QEMU command lines: NICs written in every way that QEMU has, right and wrong.

What makes them wrong is what people write: a device of another machine, a bus that is not there,
a property that is spelt otherwise or is another device's, a word where JSON wants true or false.
"""

import json
import random
import shlex
from typing import NamedTuple

MACHINES = {
    "qemu-system-x86_64": (
        "pc", "pc", "q35", "q35", "microvm", "microvm,pcie=on", "none", "isapc", "pc-q35-2.11",
        "pc-i440fx-2.12", "pc,usb=on", None,
    ),
    "qemu-system-s390x": ("s390-ccw-virtio", "s390-ccw-virtio", "none", None),
    "qemu-system-riscv64": ("virt", "virt", "spike"),
}  # fmt: skip
_VIRTIO = (
    "virtio-net-pci", "virtio-net", "virtio-net-pci-transitional", "virtio-net-pci-non-transitional"
)  # fmt: skip
_PCI = (
    "e1000", "e1000-82540em", "e1000-82545em", "e1000e", "rtl8139", "ne2k_pci", "pcnet", "vmxnet3",
    "i82559er", "i82550", "tulip", "igb",
)  # fmt: skip
_ODD = (
    "virtio-net-device", "virtio-net-ccw", "ne2k_isa", "usb-net", "sungem", "sunhme", "spapr-vlan",
    "lan9118", "virtio", "virtio-transitional", "notanic", "virtio-net-ccw-transitional", "E1000",
)  # fmt: skip
_NIC_MODELS = (*_PCI, "virtio", "virtio", "virtio-net-pci", "virtio-net", "ne2k_isa", None, None)
_HOME = {"microvm": "virtio-net-device", "isapc": "ne2k_isa", "s390-ccw-virtio": "virtio-net-ccw"}
_WRONG_KEYS = (
    ("rx-queue-size", 512), ("tx-queue-size", 256), ("queues", 2), ("vhost", True),
    ("model", "virtio"), ("macaddr", "52:54:00:00:99:01"), ("iommu-platform", True),
    ("mtu", 9000), ("nosuch", True), ("addr", "0x99"), ("mac", "52:54:00:12:34"),
    ("vectors", "two"), ("bogusprop", 1), ("speed", -5), ("speed", 1000), ("duplex", "x"),
    ("page-per-vq", True), ("ats", True), ("host_uso", False), ("guest_tunnel", False),
    ("mitigation", False), ("init-vet", True), ("rombar", 0), ("romsize", -5), ("tx", "timer"),
    ("disable-modern", False), ("ioeventfd", False), ("x-disable-pcie", True), ("busnr", 1),
)  # fmt: skip

_PLACES = (
    ("addr", "5"), ("addr", "6.0"), ("addr", "0x7"), ("addr", "1"), ("addr", "20"), ("bus", "foo"),
    ("bus", "pci.7"), ("bootindex", 1), ("multifunction", True), ("acpi-index", 3),
)  # fmt: skip
"""Where a device is, and what no two have in common."""
_IDS = ("0n", "n 0", "nä", "n_0.a-b", "a,b")
_OF_NETDEVS = (
    ("queues", 2), ("vhost", False), ("vhost", "1"), ("mac", "52:54:00:00:99:02"), ("fd", "99"),
    ("model", "virtio"), ("restrict", True), ("restrict", "maybe"), ("br", "br0"), ("queues", "x"),
    ("hostname", "h"), ("queues", 0),
)  # fmt: skip
_MACS = (
    "52:54:00:0:1:2", "0x123", "010", "00:00:00:00:00:00", "", "525400123456", "1:2:3:4:5:6",
    "52-54:00-12:34:57",
)  # fmt: skip

Value = str | int | bool

_PROPERTIES: tuple[tuple[str, float, tuple[Value, ...]], ...] = (
    ("rx_queue_size", 0.4, (256, 512, 1024, 1024, 300, "0x200", "01000", "0512", "5_12", "1k")),
    ("tx_queue_size", 0.2, (256, 256, 512, 1024)),
    ("mq", 0.3, (True, True, True, False, "yes", "true", "1", "ON")),
    ("packed", 0.1, (True,)),
    ("iommu_platform", 0.1, (True,)),
    ("csum", 0.05, (False,)),
    ("guest_tso6", 0.05, (False,)),
    ("host_mtu", 0.08, (1500, 9000, 70000)),
    ("vectors", 0.08, (0, 4, 10)),
    ("disable-legacy", 0.08, ("on", "off", "auto", "true")),
)
"""Of virtio NICs: how often each is given, and as what."""

_BACKENDS: tuple[dict[str, Value], ...] = (
    {"type": "hubport", "hubid": 0},
    {"type": "socket", "mcast": "230.0.0.1:1234"},
    {"type": "socket"},
    {"type": "socket", "udp": "127.0.0.1:9"},
    {"type": "stream"},
    {"type": "dgram"},
    {"type": "l2tpv3", "src": "127.0.0.1"},
    {"type": "netmap"},
    {"type": "usr"},
)


class Line(NamedTuple):
    """A command: its words, its text as somebody would write it down, and the words without what
    is said of NICs."""

    words: list[str]
    text: str
    bare: list[str]


class _Writer:
    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._number = 0
        self._netdevs: list[str] = []

    def line(self, *, tap: bool) -> Line:
        draw = self._random
        program = draw.choices(tuple(MACHINES), (8, 2, 1))[0]
        machine = draw.choice(MACHINES[program])
        around = [] if machine is None else [[draw.choice(("-M", "-machine")), machine]]
        if draw.random() < 0.7:
            around.append(["-nodefaults"])
        if program == "qemu-system-riscv64":
            around.append(["-bios", "none"])
        around += self._around(machine)
        parts: list[list[str]] = []
        for _ in range(draw.choice((0, 1, 1, 1, 2, 2, 3))):
            parts += self._nic(machine or "", program, tap=tap)
        if draw.random() < 0.15:
            parts.append(["-global", self._global()])
        if draw.random() < 0.05:
            parts.append(draw.choice((["-nic", "none"], ["-net", "none"])))
        if draw.random() < 0.03:
            parts += self._netdev(tap=tap)[1]  # which no NIC uses, as when its -device was cut off
        if self._netdevs and draw.random() < 0.05:
            parts.append(["-set", f"netdev.{self._netdevs[-1]}.restrict=on"])
        bare = [word for part in around for word in part]
        if "-nodefaults" not in bare:
            bare.append("-nodefaults")
        together = around + parts
        if draw.random() < 0.3:
            draw.shuffle(together)
        words = [program, *(word for part in together for word in part)]
        return Line(words, self._written(words), [program, *bare])

    def _around(self, machine: str | None) -> list[list[str]]:
        draw, found = self._random, [["-m", "64"]]
        if draw.random() < 0.4:
            disk = {"driver": "raw", "node-name": "d0", "file": {"driver": "null-co"}}
            found.append(["-blockdev", self._json(disk)])
        if draw.random() < 0.3:
            found.append(["-name", draw.choice(("guest=a b", "it is,debug-threads=on", "vm"))])
        if draw.random() < 0.1 and machine in ("pc", "q35"):
            found.append(draw.choice((["-usb"], ["-device", "qemu-xhci"])))
        return found

    def _nic(self, machine: str, program: str, *, tap: bool) -> list[list[str]]:
        draw = self._random
        form = draw.choices(("device", "nic", "net"), (6, 2, 1))[0]
        if form == "device":
            return self._device(machine, program, tap=tap)
        model = draw.choice(_NIC_MODELS if draw.random() < 0.9 else _ODD)
        key = "mac" if form == "nic" else "macaddr"
        options = [] if model is None else [f"model={model}"]
        if draw.random() < 0.5:
            mac = self._mac() if draw.random() < 0.8 else draw.choice(_MACS)
            options.append(f"{key}={mac}")
        if draw.random() < 0.06:
            options.append(
                draw.choice(
                    (
                        "mq=on",
                        "rx_queue_size=512",
                        f"{key}=01:00:5e:00:00:01",
                        "vectors=3",
                        "queues=2",
                    )
                )
            )
        if form == "nic":
            kind = (
                "user" if draw.random() < 0.9 else draw.choice(("stream", "socket", "dgram", "usr"))
            )
            return [["-nic", ",".join([kind, *options])]]
        if draw.random() < 0.3:
            netdev, parts = self._netdev(tap=tap)
            return [*parts, ["-net", ",".join(["nic", f"netdev={netdev}", *options])]]
        parts = [["-net", ",".join(["nic", *options])]]
        return [*parts, ["-net", "user"]] if draw.random() < 0.7 else parts

    def _device(self, machine: str, program: str, *, tap: bool) -> list[list[str]]:
        draw = self._random
        chance = draw.random()
        home = _HOME.get(machine.partition(",")[0])
        if chance < 0.35 and home is not None:
            driver = home
        elif chance < 0.55:
            driver = draw.choice(_VIRTIO)
        elif chance < 0.86:
            driver = draw.choice(_PCI if "x86" in program else _VIRTIO)
        else:
            driver = draw.choice(_ODD)
        given: dict[str, Value] = {"driver": driver}
        parts = []
        if draw.random() < 0.8:
            netdev, extra = self._netdev(tap=tap)
            given["netdev"] = netdev
            parts += extra
        if draw.random() < 0.6:
            given["mac"] = self._mac()
        if draw.random() < 0.3:
            given["id"] = f"net{self._next()}" if draw.random() < 0.9 else draw.choice(_IDS)
        given |= self._properties(driver)
        if draw.random() < 0.12 and driver != "virtio-net-ccw":
            name, value = draw.choice(_PLACES)
            given[name] = value
        elif draw.random() < 0.08:
            given["bus"] = draw.choice(("pci.0", "pcie.0"))
        elif machine == "q35" and draw.random() < 0.2:
            port = f"rp{self._next()}"
            given["bus"] = port
            parts.append(["-device", f"pcie-root-port,id={port},chassis={self._number}"])
        parts.append(["-device", self._options(given, "driver", stringly=draw.random() < 0.08)])
        return parts if draw.random() < 0.6 else parts[::-1]

    def _properties(self, driver: str) -> dict[str, Value]:
        draw = self._random
        found: dict[str, Value] = {}
        if driver.startswith("virtio-net") or draw.random() < 0.04:
            for name, chance, values in _PROPERTIES:
                if draw.random() < chance:
                    found[name] = draw.choice(values)
        if draw.random() < 0.08:
            name, value = draw.choice(_WRONG_KEYS)
            found[name] = value
        return found

    def _netdev(self, *, tap: bool) -> tuple[str, list[list[str]]]:
        draw = self._random
        if self._netdevs and draw.random() < 0.04:
            return draw.choice(self._netdevs), []
        name = f"n{self._next()}" if draw.random() < 0.95 else draw.choice(_IDS)
        self._netdevs.append(name)
        given: dict[str, Value] = {"type": "user", "id": name}
        if tap and draw.random() < 0.35:
            given |= {"type": "tap", "script": "no", "downscript": "no"}
            if draw.random() < 0.7:
                given["queues"] = draw.choice((2, 4))
        elif draw.random() < 0.1:
            given |= draw.choice(_BACKENDS)
        if draw.random() < 0.08:
            key, value = draw.choice(_OF_NETDEVS)
            given[key] = value
        return name, [["-netdev", self._options(given, "type")]]

    def _global(self) -> str:
        draw = self._random
        driver = draw.choice(
            ("virtio-net-pci", "virtio-net-pci-base", "virtio-net-device", "virtio-pci",
             "virtio-net-ccw", "virtio-net-pci-transitional", "e1000")
        )  # fmt: skip
        name, value = draw.choice(
            (("rx_queue_size", "512"), ("mq", "on"), ("rx_queue_size", "1024"), ("packed", "on"))
            if driver != "e1000"
            else (("mitigation", "off"), ("nosuch", "1"), ("init-vet", "off"))
        )
        if draw.random() < 0.2:
            said = [f"driver={driver}", f"property={name}", f"value={value}"]
            draw.shuffle(said)
            return ",".join(said)
        return f"{driver}.{name}={value}"

    def _options(self, given: dict[str, Value], first: str, *, stringly: bool = False) -> str:
        """In one of the two syntaxes; ``stringly``: JSON whose values are all text."""
        if self._random.random() < 0.5:
            data = {key: _plain(value) for key, value in given.items()} if stringly else given
            return self._json(data)
        rest = [f"{key}={_comma(_plain(value))}" for key, value in given.items() if key != first]
        lead = str(given[first]) if self._random.random() < 0.8 else f"{first}={given[first]}"
        return ",".join([lead, *rest])

    def _json(self, data: object) -> str:
        text = json.dumps(data, separators=self._random.choice(((",", ":"), (", ", ": "))))
        single = self._random.random() < 0.05 and "'" not in text and "\\" not in text
        return text.replace('"', "'") if single else text

    def _mac(self) -> str:
        text = "52:54:00:" + ":".join(f"{self._random.randrange(256):02x}" for _ in range(3))
        return self._random.choice((text, text, text.upper(), text.replace(":", "-")))

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _written(self, words: list[str]) -> str:
        draw = self._random
        quote = draw.choice((shlex.quote, _double))
        texts = [quote(word) for word in words]
        lead = draw.choice(("", "", "$ ", "sudo ", "exec ", "FOO=bar ", "# start\n"))
        if draw.random() < 0.4:
            lead = draw.choice((lead, "  501  "))  # of a shell's history
            starts = [place for place, word in enumerate(words) if word.startswith("-")]
            for place in starts:
                texts[place] = "\\\n  " + texts[place]
        return lead + " ".join(texts) + draw.choice(("\n", "\n", " &\n", " # the guest\n"))


def _comma(text: str) -> str:
    return text.replace(",", ",,")


def _plain(value: Value) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _double(word: str) -> str:
    escaped = "".join("\\" + char if char in '\\"$`' else char for char in word)
    return f'"{escaped}"' if shlex.quote(word) != word else word


def random_line(source: random.Random, *, tap: bool) -> Line:
    """One command line. ``tap``: this machine may make tap devices, which have queues."""
    return _Writer(source).line(tap=tap)
