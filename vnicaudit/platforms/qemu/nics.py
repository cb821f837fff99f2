"""Find the NICs that QEMU's arguments define.

There are three forms, which may be mixed: ``-device driver,netdev=X`` with ``-netdev …,id=X`` (in
any order), ``-nic backend,model=…``, and ``-net nic`` with ``-net tap`` on a hub. Without any of
``-net``, ``-nic``, ``-netdev`` and ``-nodefaults`` the machine adds a NIC of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.models import (
    BOOT_ROMS,
    PCI,
    QEMU_MODELS,
    device_of,
    machine_buses,
    model_of_driver,
)
from vnicaudit.model.finding import VIRTIO, X86
from vnicaudit.model.nic import RunningNic, StartRefusal
from vnicaudit.platforms.qemu.arguments import (
    Arguments,
    Global,
    Option,
    device_defaults,
    global_properties,
    set_properties,
    unfilled,
)
from vnicaudit.platforms.qemu.faults import (
    broken_options,
    dangling,
    joined,
    legacy_driver,
    machine_default,
    unnamed,
)
from vnicaudit.platforms.qemu.options import (
    Backend,
    Options,
    Socket,
    backend_of,
    number,
    sockets,
    virtio_nic,
)
from vnicaudit.platforms.qemu.properties import (
    NOT_SET,
    Netdevs,
    faults_of,
    id_faults,
    kind_refusal,
    netdev_faults,
    of_nic,
    property_refusal,
    slot_of,
)
from vnicaudit.platforms.qemu.refusals import (
    Board,
    board,
    device_refusal,
    global_refusal,
    nic_refusal,
)

_NIC_PREFIXES = ("virtio-net", "e1000", "rtl8139", "ne2k", "i8255", "vmxnet", "xen-net-device")
_NO_NIC = Backend(None)
_SWITCH = frozenset({"rocker"})
"""A network device whose ports are not NICs of the guest."""
_OF_NICS = frozenset({"netdev", "mac"})
_ONCE = ("id", "bootindex", "acpi-index", "devno")
"""Properties that no two devices may have in common."""
_NOT_SET = frozenset({("bootindex", "-1"), ("acpi-index", "0")})
_MDEV = re.compile(r"/mdev/|/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/*$", re.IGNORECASE)
"""A mediated device in sysfs; any other folder there may be a PCI device's."""


class NicsFound(NamedTuple):
    """The NICs in the order of the arguments, and the first sign that the arguments are incomplete
    (a missing netdev, truncated JSON), None if there is none."""

    nics: tuple[RunningNic, ...]
    problem: str | None = None


class _Context(NamedTuple):
    """The parts of a command line in which NICs are looked up."""

    sockets: dict[str, Socket]
    netdevs: dict[str, Backend]
    hubs: dict[str, list[Backend]]
    globals: list[Global]
    settings: dict[str, Options]
    arch: str | None
    machine: str | None
    board: Board
    faults: Netdevs


def nics(
    arguments: Arguments,
    *,
    arch: str | None,
    machine: str | None,
    with_default: bool,
    trimmed: bool = False,
) -> NicsFound:
    """The NICs on a command line. ``with_default``: the arguments are known to be complete, so that
    the machine's own NIC follows from missing options. ``trimmed``: devices that provide buses may
    have been left out (libvirt adds them all, but people cut them from what they publish)."""
    context = _context(arguments, arch, machine, whole=with_default and not trimmed)
    found = tuple(nic for _pair, nic in _nics(arguments, context))
    if with_default and silent(arguments) and (driver := machine_default(arch, machine).device):
        preset = device_defaults(driver, context.globals)
        refusal = property_refusal(driver, preset)
        refusal = refusal or global_refusal(context.globals, context.board, by_board=True)
        found += (replace(_running(driver, preset, Backend("user")), refusal=refusal),)
    faults = chain(
        joined(arguments),
        broken_options(arguments),
        dangling(arguments, context.netdevs),
        unnamed(arguments, arch, machine),
    )
    return NicsFound(found, next((fault.problem for fault in faults), None))


def added_nics(
    arguments: Arguments, *, arch: str | None, machine: str | None
) -> list[tuple[int, RunningNic]]:
    """The NICs of incomplete arguments, each with the index of its option among the arguments'
    pairs."""
    return list(_nics(arguments, _context(arguments, arch, machine, whole=False)))


def _context(
    arguments: Arguments, arch: str | None, machine: str | None, *, whole: bool
) -> _Context:
    chardevs = sockets(one.keys for one in arguments.parsed("chardev"))
    netdevs: dict[str, Backend] = {}
    settings = set_properties(arguments, "netdev")
    for one in arguments.parsed("netdev"):
        given = one.keys | settings.get(one.keys.get("id", ""), {})
        if "id" in given:
            netdevs[given["id"]] = backend_of(given, chardevs)
    hubs: dict[str, list[Backend]] = {}
    for one in arguments.parsed("net"):
        given = one.keys
        if given.get("type") not in (None, "nic", "none") and "netdev" not in given:
            hubs.setdefault(given.get("vlan", "0"), []).append(backend_of(given, chardevs))
    users = [one.keys for one in arguments.parsed("device", "net") if "netdev" in one.keys]
    return _Context(
        chardevs,
        netdevs,
        hubs,
        global_properties(arguments),
        set_properties(arguments),
        arch,
        machine,
        board(arguments, arch, machine, whole=whole),
        faults_of(arguments, {keys["netdev"] for keys in users}, whole=whole),
    )


def _nics(arguments: Arguments, context: _Context) -> Iterator[tuple[int, RunningNic]]:
    taken: set[tuple[str, str]] = set()
    unused = context.faults.unused
    preset = global_refusal(context.globals, context.board, by_board=_makes_one(arguments))
    for one in arguments.parsed("device", "net", "nic"):
        if one.name == "device":
            nic = _from_device(one, context)
        else:
            nic = _from_option(one.name, one.keys, context)
        made = nic is not None and nic.refusal is None
        repeated = _repeated(one, taken, context, made=made)
        if nic is not None:
            why = repeated or _backend_fault(one, context) or unused
            fault = (preset or kind_refusal(nic.backend)) if why is None else StartRefusal(why)
            unused = preset = None
            yield one.pair, replace(nic, refusal=_weightier(nic.refusal, fault))


def _weightier(of_nic: StartRefusal | None, other: StartRefusal | None) -> StartRefusal | None:
    """The one that counts: that of the NIC itself, unless only the other prevents every start."""
    if of_nic is None or other is None:
        return of_nic or other
    ends_all = of_nic.outcome(None) != "fails" and other.outcome(None) == "fails"
    return other if ends_all else of_nic


def _makes_one(arguments: Arguments) -> bool:
    """True if an option asks pc or q35 for a NIC on PCI."""
    asked = [one.keys for one in arguments.parsed("nic") if one.keys.get("type") != "none"]
    asked += [one.keys for one in arguments.parsed("net") if one.keys.get("type") == "nic"]
    return any(keys.get("model") != "ne2k_isa" for keys in asked)


def _backend_fault(option: Option, context: _Context) -> str | None:
    """The fault of a device's id, or of the backend that carries its packets; None if there is
    none."""
    faults, given = context.faults, option.keys
    if option.name == "nic":
        return next(netdev_faults(option._replace(text=""), faults.chardevs), None)
    if option.name == "device":
        found = next(id_faults("device", given, in_json=option.in_json), None)
        return found or faults.by_id.get(given.get("netdev", ""))
    return faults.by_id.get(given["netdev"]) if "netdev" in given else faults.of_hub


def _repeated(
    option: Option, taken: set[tuple[str, str]], context: _Context, *, made: bool
) -> str | None:
    """The fault of an id, netdev or slot that another device already uses. A NIC that is not
    ``made`` uses no netdev."""
    names = []
    given = option.keys
    if option.name == "device":
        given = given | context.settings.get(given.get("id", ""), {})
        names = [(name, given[name]) for name in _ONCE if name in given]
        names = [one for one in names if one not in _NOT_SET]
        names += slot_of(given, context.board.root)
        names += _rom_in_firmware(given, context)
    if made and "netdev" in given:
        names.append(("netdev", given["netdev"]))
    if made and option.name == "nic" and "id" in given:
        names.append(("netdev", given["id"]))  # the netdev that -nic itself creates
    again = next((name for name in names if name in taken), None)
    taken.update(names)
    if again is None or unfilled(again[1]) is not None:
        return None
    return f"{again[0]} {again[1][:40]!r} is already used by another device"


def _rom_in_firmware(given: Options, context: _Context) -> Iterator[tuple[str, str]]:
    """The ROM that ``rombar=0`` passes to the firmware, by its name (``pci_add_option_rom``)."""
    if context.arch not in X86 or number(given.get("rombar", "1")) != 0:
        return
    rom = given.get("romfile", BOOT_ROMS.get(model_of_driver(given.get("driver", ""))))
    if rom and PCI in (machine_buses(context.arch, context.machine) or ()):
        yield "romfile", rom


def _from_device(option: Option, context: _Context) -> RunningNic | None:
    given = option.keys
    driver = given.get("driver", "")
    if driver in ("vfio-pci", "vfio-pci-nohotplug"):
        if _MDEV.search(given.get("sysfsdev", "")):
            return None  # a mediated device: part of a GPU, a crypto card
        return RunningNic(driver, "vfio-pci", "vfio", id=given.get("id"))
    plain = driver.lower()
    named = plain in QEMU_MODELS or plain.startswith(_NIC_PREFIXES)
    if driver in _SWITCH or (_OF_NICS.isdisjoint(given) and not named):
        return None
    device = device_of(driver, context.arch)
    merged = {
        **device_defaults(device, context.globals),
        **given,
        **context.settings.get(given.get("id", ""), {}),
    }
    if "netdev" in merged:
        backend = context.netdevs.get(merged["netdev"], _NO_NIC)
    else:
        backend = _hub(context, merged["vlan"]) if "vlan" in merged else _NO_NIC
    refusal = device_refusal(driver, device, option._replace(keys=merged), context.board)
    return replace(_running(driver, merged, backend), refusal=refusal)


def _from_option(option: str, given: Options, context: _Context) -> RunningNic | None:
    """``-nic tap,model=…``: a NIC and its backend in one. ``-net nic``: on a hub with the other
    ``-net`` of its vlan, or (libvirt, on ARM boards) directly on a netdev."""
    makes_none = given.get("type") == "none" if option == "nic" else given.get("type") != "nic"
    driver = None if makes_none else _legacy_driver(given, context)
    if driver is None:
        return None
    if option == "nic":
        backend = backend_of(given, context.sockets)
    elif "netdev" in given:
        backend = context.netdevs.get(given["netdev"], _NO_NIC)
    else:
        backend = _hub(context, given.get("vlan", "0"))
    return _created(option, driver, given, backend, context)


def _legacy_driver(given: Options, context: _Context) -> str | None:
    """The device; empty for a machine that is known to have no default NIC."""
    driver = legacy_driver(given, context.arch, context.machine)
    if driver is None and machine_default(context.arch, context.machine).known:
        return ""
    return driver


def _created(
    option: str, driver: str, given: Options, backend: Backend, context: _Context
) -> RunningNic:
    """The NIC that ``-nic`` or ``-net nic`` creates, by the name of its device."""
    preset = device_defaults(driver, context.globals)
    merged = {**preset, **_legacy(given)}
    if "mac" not in given and "macaddr" not in given:
        merged.pop("mac", None)  # QEMU chooses one, whatever -global says
    refusal = nic_refusal(option, driver, given, preset, context.board)
    return replace(_running(driver, merged, backend), refusal=refusal)


def _legacy(given: Options) -> Options:
    """The device properties of ``-net nic`` and ``-nic``: a MAC and a name; no others can be set
    there."""
    found = {}
    if "macaddr" in given or "mac" in given:
        mac = given.get("macaddr") or given.get("mac", "")
        found["mac"] = of_nic(mac) or mac
    if given.get("id") or given.get("name"):
        found["id"] = given.get("id") or given["name"]
    return found


def _hub(context: _Context, vlan: str) -> Backend:
    """The backend of a NIC on a hub. Behind a hub there is neither vhost, which needs the NIC and
    the tap to be direct peers (``get_vhost_net(nc->peer)``), nor a checksum or segmentation
    offload, and one queue (QEMU 7.2, ``x-query-virtio-status``). A tap or bridge behind it is a
    ``hubport``; any other backend is slow by itself and keeps its name."""
    others = context.hubs.get(vlan, [])
    if not others:
        return _NO_NIC
    kinds = {other.kind for other in others}
    kind = kinds.pop() if len(kinds) == 1 and not kinds & {"tap", "bridge"} else "hubport"
    return Backend(kind, vhost=False)


def _running(driver: str, given: Options, backend: Backend) -> RunningNic:
    model = model_of_driver(driver)
    if model not in VIRTIO:
        return RunningNic(
            driver,
            model,
            backend.kind,
            mac=_mac(given),
            id=given.get("id"),
            vhost=None if backend.kind is None else False,
            queues=1,
        )
    return virtio_nic(driver, model, given, backend, mac=_mac(given))


def _mac(given: Options) -> str | None:
    """The MAC address; None if QEMU chooses one, also in place of zeros
    (``qemu_macaddr_default_if_unset``)."""
    mac = given.get("mac", "").strip().lower().replace("-", ":")
    return None if mac in ("", NOT_SET) else mac


def silent(arguments: Arguments) -> bool:
    """True if no argument configures networking, so that the machine adds a NIC of its own."""
    return not arguments.has("net", "nic", "netdev", "nodefaults")
