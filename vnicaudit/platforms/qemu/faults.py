"""Signs that the arguments of NICs are incomplete, each with its place and the reason."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from vnicaudit.knowledge.models import QEMU_MODELS
from vnicaudit.platforms.qemu.arguments import NIC_OPTIONS, Arguments, begins_nic_option
from vnicaudit.platforms.qemu.boards import default_nic, device_name, machine_default
from vnicaudit.platforms.qemu.options import BrokenOption, Options, lenient, options
from vnicaudit.platforms.qemu.properties import is_switch
from vnicaudit.platforms.qemu.variables import unfilled


class Fault(NamedTuple):
    """One sign. ``pair`` is the index of the option among the arguments' pairs."""

    pair: int
    problem: str


def broken_options(arguments: Arguments) -> Iterator[Fault]:
    """Truncated JSON of ``-device`` and ``-netdev``, the only options that may define a NIC in
    JSON."""
    for pair, (name, value) in enumerate(arguments.pairs):
        if name in ("device", "netdev") and value is not None:
            try:
                options(value)
            except BrokenOption as error:
                yield Fault(pair, f"-{name}: {error}")


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
    backends = {given["id"] for given in map(_nic_of, arguments.values("nic")) if "id" in given}
    for pair, (name, value) in enumerate(arguments.pairs):
        given = lenient(value, "driver" if name == "device" else "type")
        netdev = given.get("netdev") if name in ("device", "net") else None
        if netdev is not None and netdev not in netdevs and netdev not in backends:
            what = given.get("driver", "?") if name == "device" else given.get("type", "?")
            yield Fault(pair, f"-{name} {what} uses netdev {netdev!r}, which does not exist")


def _nic_of(value: str) -> Options:
    return lenient(value, "type")


def left_over(arguments: Arguments, *, any_nics: bool) -> Iterator[str]:
    """Netdevs that no NIC uses, of which QEMU warns "netdev n0 has no peer": the NIC may have been
    cut off, or be in a variable. Not counted are the ports of a hub, which may connect netdevs, and
    libvirt's channels (``guestfwd=``), which have no NIC."""
    used = {netdev for one in _givens(arguments) if (netdev := one.get("netdev")) is not None}
    used |= {value.partition("=")[2] for value in arguments.values("set") if ".netdev=" in value}
    open_device = unfilled_device(arguments)
    for value in arguments.values("netdev"):
        given = lenient(value, "type")
        name = given.get("id", "")
        if "id" not in given:
            if not any_nics or value == arguments.pairs[-1][1]:
                yield f"-netdev {value[:40]!r} has no id="
        elif "guestfwd" in given or given.get("type") == "hubport":
            continue
        elif name not in used and unfilled(name) is None:
            where = "cut off or added later" if open_device is None else f"-device {open_device}"
            yield f"netdev {name[:40]!r} has no NIC here, which may be {where}"


def unfilled_device(arguments: Arguments) -> str | None:
    """The first ``-device`` that a variable may be part of."""
    return next((value for value in arguments.values("device") if unfilled(value)), None)


def _givens(arguments: Arguments) -> Iterator[Options]:
    for name, value in arguments.pairs:
        if name in NIC_OPTIONS:
            yield lenient(value, "driver" if name == "device" else "type")


def cut_off(arguments: Arguments) -> str | None:
    """The sign that the last word is cut off: an option, a key or a device that QEMU has not, but
    that begins like one of a NIC; None without such a sign."""
    if not arguments.pairs:
        return None
    name, value = arguments.pairs[-1]
    if begins_nic_option(name):
        return f"ends in -{name}, which is not an option of QEMU"
    head, comma, last = (value or "").rpartition(",")
    if name not in NIC_OPTIONS or value is None or value[:1] == "{" or "=" in last:
        return None
    if not comma and name == "device":
        begun = last not in QEMU_MODELS and any(one.startswith(last) for one in QEMU_MODELS)
        return f"ends in -device {last}, which is not a device of QEMU" if begun else None
    if comma and not head.endswith(",") and not is_switch(last) and not unfilled(last):
        return f"ends in {last[:40]!r}, which has no value"
    return None


def unnamed(arguments: Arguments, arch: str | None, machine: str | None) -> Iterator[Fault]:
    """A NIC without ``model=`` on a board whose default is unknown (``kvm -net nic``)."""
    for pair, (name, value) in enumerate(arguments.pairs):
        given = lenient(value, "type") if name in ("net", "nic") else {}
        kind = given.get("type", "user" if name == "nic" else "")
        a_nic = kind == "nic" if name == "net" else name == "nic" and kind != "none"
        if (
            a_nic
            and legacy_driver(given, arch, machine) is None
            and not machine_default(arch, machine).known
        ):
            yield Fault(pair, f"-{name} names no model=, and the machine's default NIC is unknown")


def legacy_driver(given: Options, arch: str | None, machine: str | None) -> str | None:
    """The device of ``-net nic`` and ``-nic``; None if the machine's default is unknown, or if it
    has none."""
    model = given.get("model")
    return default_nic(arch, machine) if model is None else device_name(model, arch)
