"""Signs that the arguments of NICs are incomplete, each with its place and the reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator
from typing import NamedTuple

from vnicaudit.knowledge.models import QEMU_MODELS
from vnicaudit.model.finding import ARM, PPC64, RISCV, S390, X86
from vnicaudit.platforms.qemu.arguments import NIC_OPTIONS, Arguments, begins_option, unfilled
from vnicaudit.platforms.qemu.options import BrokenOption, Options, options, words_of
from vnicaudit.platforms.qemu.properties import is_switch

# The NIC that QEMU itself adds if no argument configures networking.
#
# This is not libvirt's default model: libvirt always passes ``-nodefaults``.
#
# Measured by ``info network`` on every machine type of QEMU 7.2.22 that starts without a guest's
# firmware, x86 and s390x also with 10.0.2: pc e1000, q35 e1000e (e1000 up to pc-q35-2.11), isapc
# ne2k_isa, pseries spapr-vlan, microvm and none nothing, and so on; ``-netdev``, ``-nic`` and
# ``-net`` each switch it off, a NIC from ``-device`` does not. Boards whose NIC is part of the chip
# (most of ARM's) always have it, and are not listed here.


_CUT_MAC = re.compile(
    r"(?:[0-9A-Fa-f]{2}[:-]){0,5}[0-9A-Fa-f]?|(?:[0-9A-Fa-f]{2}[:-]){0,4}[0-9A-Fa-f]{2}"
)
_NOT_CUT = re.compile(r"(?!of?\Z).+", re.DOTALL)
"""Neither empty nor the beginning of ``on`` or ``off``."""
_KINDS = words_of(
    "user tap bridge socket vde l2tpv3 vhost-user vhost-vdpa netmap af-xdp stream dgram hubport "
    "nic none vmnet-host vmnet-shared vmnet-bridged passt"
)
"""Types of ``-netdev``, ``-nic`` and ``-net``, from qapi/net.json of QEMU 10.0, ``passt`` of
10.1."""
_DEVICES = QEMU_MODELS - {"virtio"}
_DEFAULT = {
    **dict.fromkeys(X86, "pc"),
    **dict.fromkeys(S390, "s390-ccw-virtio"),
    **dict.fromkeys(PPC64, "pseries"),
    "sparc64": "sun4u",
    "ppc": "g3beige",
    **dict.fromkeys(RISCV, "spike"),
    **dict.fromkeys(("mips", "mipsel", "mips64", "mips64el"), "malta"),
}
"""The default machine of an architecture; ARM has none."""
_MIPS = frozenset({"mips", "mipsel", "mips64", "mips64el"})
_POWER = PPC64 | {"ppc"}


_BOARDS: tuple[tuple[frozenset[str], str, str | None], ...] = (
    (X86, r"pc|pc-i440fx-.*|pc-[01]\..*|pc-q35-(1\.\d+|2\.(\d|10|11))(\D.*)?", "e1000"),
    (X86, r"q35|pc-q35-.*", "e1000e"),
    (X86, r"isapc", "ne2k_isa"),
    (X86, r"microvm|x-remote", None),
    (S390, r"s390-ccw.*", "virtio-net-ccw"),
    (ARM, r"virt(-\d.*)?", "virtio-net-pci"),
    (ARM, r"sbsa-ref", "e1000e"),
    (ARM, r"integratorcp|realview-eb(-mpcore)?|versatile[ap]b", "smc91c111"),
    (ARM, r"kzm|realview-pb-a8|realview-pbx-a9|smdkc210|vexpress-a(9|15)", "lan9118"),
    (ARM, r"akita|borzoi|spitz|terrier|tosa|collie|z2", None),
    (PPC64, r"pseries(-.*)?", "spapr-vlan"),
    (PPC64, r"powernv\d*", None),
    (_POWER, r"mac99", "sungem"),
    (_POWER, r"g3beige", "ne2k_pci"),
    (_POWER, r"40p", "pcnet"),
    (_POWER, r"bamboo", "e1000"),
    (frozenset({"sparc64"}), r"sun4[uv]", "sunhme"),
    (_MIPS, r"malta", "pcnet"),
    (_MIPS, r"fuloong2e", "rtl8139"),
    (_MIPS, r"loongson3-virt", "virtio-net-pci"),
    (frozenset({"loongarch64"}), r"virt", "virtio-net-pci"),
    (frozenset({"alpha"}), r"clipper", "e1000"),
    (frozenset({"sh4", "sh4eb"}), r"r2d", "rtl8139"),
    (RISCV, r"virt|spike", None),
)


"""Architectures, a pattern of machines, and the device of their NIC."""


class DefaultNic(NamedTuple):
    """``device`` is None if the machine adds none, or if it is not ``known``."""

    device: str | None
    known: bool = True


def machine_default(arch: str | None, machine: str | None) -> DefaultNic:
    """QEMU's device name of the NIC that a machine adds by itself."""
    machine = machine or _DEFAULT.get(arch or "")
    if machine == "none":
        return DefaultNic(None)
    for archs, machines, nic in _BOARDS:
        if machine is not None and arch in archs and re.fullmatch(machines, machine):
            return DefaultNic(nic)
    return DefaultNic(None, known=False)


class Fault(NamedTuple):
    """One sign. ``pair`` is the index of the option among the arguments' pairs."""

    pair: int
    problem: str


def broken_options(arguments: Arguments) -> Iterator[Fault]:
    """Truncated JSON of ``-device`` and ``-netdev``, the only options that may define a NIC in
    JSON."""
    for pair, (name, value) in enumerate(arguments.pairs):
        if name in ("device", "netdev"):
            yield from (Fault(pair, f"-{name}: {error}") for error in _broken(value))


def _broken(value: str | None) -> Iterator[BrokenOption]:
    try:
        options(value or "")
    except BrokenOption as error:
        yield error


def misplaced_options(arguments: Arguments) -> Iterator[Fault]:
    """A NIC's option without a value, or in one word with it: QEMU takes the next option for its
    value, or the whole word for the name of an option."""
    for pair, (name, value) in enumerate(arguments.pairs):
        first, blank, _rest = name.partition(" ")
        if name in NIC_OPTIONS and (value or "-").startswith("-"):
            yield Fault(pair, f"-{name} has no value: {value!r} is in its place")
        elif blank and first in NIC_OPTIONS:
            yield Fault(pair, f"-{first} and its value are one argument: QEMU has no such option")


def joined(arguments: Arguments) -> Iterator[Fault]:
    """``--device=e1000``: a form that QEMU does not have, unlike other programs."""
    for pair, (name, _value) in enumerate(arguments.pairs):
        first, equals, _rest = name.partition("=")
        if equals and first in NIC_OPTIONS:
            yield Fault(pair, f"-{first} and its value are one word: QEMU has no such option")


def dangling(arguments: Arguments, netdevs: Container[str]) -> Iterator[Fault]:
    """A NIC on a missing netdev: either arguments are missing, or QEMU fails. The backend of
    ``-nic`` is a netdev by its ``id=``, but is used by the NIC of ``-nic``."""
    backends = {one.keys["id"] for one in arguments.parsed("nic") if "id" in one.keys}
    for pair, name, _text, keys in arguments.parsed("device", "net"):
        netdev = keys.get("netdev")
        if netdev is not None and netdev not in netdevs and netdev not in backends:
            what = keys.get("driver" if name == "device" else "type", "?")
            yield Fault(pair, f"-{name} {what} uses netdev {netdev!r}, which does not exist")


def left_over(arguments: Arguments, *, any_nics: bool) -> Iterator[str]:
    """Netdevs that no NIC uses, of which QEMU warns "netdev n0 has no peer": the NIC may have been
    cut off, or be in a variable. Not counted are the ports of a hub, which may connect netdevs, and
    libvirt's channels (``guestfwd=``), which have no NIC."""
    nics = arguments.parsed(*NIC_OPTIONS)
    used = {one.keys["netdev"] for one in nics if "netdev" in one.keys}
    used |= {value.partition("=")[2] for value in arguments.values("set") if ".netdev=" in value}
    open_device = unfilled_device(arguments)
    for _pair, _name, value, given in arguments.parsed("netdev"):
        name = given.get("id", "")
        if "id" not in given:
            if not any_nics or value == arguments.pairs[-1][1]:
                yield f"-netdev {value[:40]!r} has no id="
        elif "guestfwd" in given or given.get("type") == "hubport":
            continue
        elif name not in used and unfilled(name) is None:
            where = "cut off or added later" if open_device is None else f"-device {open_device}"
            yield f"netdev {name[:40]!r} has no NIC here, which may be {where}"

    kinds = [one.keys for one in arguments.parsed("net")]
    ports = (one.keys.get("type") == "hubport" for one in arguments.parsed("netdev"))
    of_hub = [keys for keys in kinds if keys.get("type") == "nic" and "netdev" not in keys]
    if of_hub and all(keys.get("type") == "nic" for keys in kinds) and not any(ports):
        yield "-net nic is connected to nothing here: its -net may be cut off"


def unfilled_device(arguments: Arguments) -> str | None:
    """The first ``-device`` that a variable may be part of."""
    return next((value for value in arguments.values("device") if unfilled(value)), None)


def cut_off(arguments: Arguments) -> str | None:
    """The sign that the last word is cut off: an option, a key or a device that QEMU has not, but
    that begins like one of a NIC; None without such a sign."""
    if not arguments.pairs:
        return None
    name, value = arguments.pairs[-1]
    if (value or name).endswith(("...", "\u2026", "...]", "\u2026]")):
        return "ends in an ellipsis"
    if begins_option(name):
        return f"ends in -{name}, which is not an option of QEMU"
    if value is None or name not in NIC_OPTIONS or value[:1] == "{":
        return _cut_other(name, value or "")
    head, comma, last = value.rpartition(",")
    if name == "netdev" and "id=" not in value and not unfilled(value):
        return f"ends in -netdev {value[:40]}, which has no id="
    if "=" in last:
        return _cut_value(*last.partition("=")[::2])
    if not comma and name == "device":
        begun = _begins(last, _DEVICES)
        return f"ends in -device {last}, which is not a device of QEMU" if begun else None
    if not comma and _begins(last, _KINDS):
        return f"ends in -{name} {last}, which is not a kind of network"
    if comma and not head.endswith(",") and not is_switch(last) and not unfilled(last):
        return f"ends in {last[:40]!r}, which has no value"
    return None


def _cut_other(name: str, value: str) -> str | None:
    """The sign in an option that has no keys of a NIC."""
    if name in ("blockdev", "object") and any(_broken(value)):
        return f"ends in -{name}, whose JSON is cut off"
    if name in ("global", "set") and "=" not in value and not unfilled(value):
        return f"ends in -{name} {value[:40]}, which has no value"
    return None


def _cut_value(key: str, value: str) -> str | None:
    cut = not _NOT_CUT.fullmatch(value)
    if key in ("mac", "macaddr"):
        cut = _CUT_MAC.fullmatch(value) is not None
    elif key == "model":
        cut = not value or _begins(value, QEMU_MODELS)
    elif key == "driver":
        cut = _begins(value, _DEVICES)
    if not cut or unfilled(value):
        return None
    return f"ends in '{key}={value[:40]}', which is not a whole value"


def _begins(text: str, names: Collection[str]) -> bool:
    return text not in names and any(one.startswith(text) for one in names)


def unnamed(arguments: Arguments, arch: str | None, machine: str | None) -> Iterator[Fault]:
    """A NIC without ``model=`` on a board whose default is unknown (``kvm -net nic``)."""
    if machine_default(arch, machine).known:
        return
    for pair, name, _text, keys in arguments.parsed("net", "nic"):
        kind = keys.get("type", "user" if name == "nic" else "")
        a_nic = kind == "nic" if name == "net" else kind != "none"
        if a_nic and "model" not in keys:
            yield Fault(pair, f"-{name} names no model=, and the machine's default NIC is unknown")


def legacy_driver(given: Options, arch: str | None, machine: str | None) -> str | None:
    """The device of ``-net nic`` and ``-nic``, whose ``model=virtio`` is the machine's own virtio
    device (``qemu_find_nic_model``); None if the machine's default is unknown, or if it has
    none."""
    model = given.get("model")
    if model in ("virtio", "virtio-net"):
        return "virtio-net-ccw" if arch in S390 else "virtio-net-pci"
    return machine_default(arch, machine).device if model is None else model
