"""Parse a list of words into QEMU's options with their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.knowledge.models import VIRTIO_PCI, is_model
from vnicaudit.platforms.qemu.options import Options, lenient, words_of
from vnicaudit.text.beginning import is_only_placeholder, opened, placeholder_text

FLAGS = words_of(
    "h help version S s no-user-config nodefaults nodefconfig nouserconfig nographic snapshot "
    "enable-kvm enable-hax no-kvm no-kvm-irqchip no-kvm-pit no-kvm-pit-reinjection no-kqemu "
    "kernel-kqemu daemonize no-reboot no-shutdown no-acpi no-hpet no-fd-bootchk no-quit "
    "no-frame full-screen alt-grab ctrl-grab curses sdl portrait show-cursor usb win2k-hack "
    "singlestep one-insn-per-tb only-migratable old-param semihosting enable-sync-profile "
    "mem-prealloc xen-create xen-attach xen-domid-restrict tdf preconfig audio-help enable-fips "
    "localtime std-vga async-teardown"
)
"""Options without a value. From ``-help`` of QEMU 7.2 (x86_64, s390x) and, for options removed
since, qemu-options.def of older releases as quoted in docs/about/removed-features."""

VALUED = words_of(
    "D L accel acpitable action add-fd append audio audiodev bios blockdev boot cdrom chardev "
    "chroot compat cpu d debugcon device dfilter display drive dtb dump-vmstate echr fda fdb "
    "fsdev fw_cfg gdb global hda hdb hdc hdd icount incoming initrd iscsi k kernel loadvm m "
    "machine M mem-path mon monitor msg mtdblock name net netdev nic numa object option-rom "
    "overcommit parallel pflash pidfile plugin qmp qmp-pretty readconfig writeconfig rotate rtc "
    "runas run-with sandbox sd seed serial set smbios smp spice tpmdev trace usbdevice uuid vga "
    "virtfs virtfs_synth vnc watchdog watchdog-action xen-domid balloon soundhw realtime redir "
    "tftp bootp smb prom-env semihosting-config tb-size g startdate hdachs pcidevice qtest "
    "qtest-log shim igvm-cfg"
)

EVIDENCE = words_of(
    "machine M m netdev device net nic global drive hda cdrom kernel enable-kvm name smp cpu accel "
    "nodefaults nographic"
)
"""With one of these, a line that names QEMU is a command line rather than prose."""

NIC_OPTIONS = ("device", "netdev", "nic", "net")

MAX_WORDS = 100_000

_FIRST = {
    "device": "driver", "netdev": "type", "nic": "type", "net": "type", "machine": "type",
    "M": "type", "accel": "accel", "chardev": "backend", "object": "qom-type", "smp": "cpus",
    "name": "guest",
}  # fmt: skip
"""Option -> the key that the first word of its value may omit."""


class Option(NamedTuple):
    """One option: its index among the arguments' pairs, its name, its value as written, and as a
    mapping (empty if it is missing or broken)."""

    pair: int
    name: str
    text: str
    keys: Options

    @property
    def in_json(self) -> bool:
        """True if the value is JSON, whose values have types and whose ids may be any text."""
        return self.text[:1] == "{"


class Arguments(NamedTuple):
    """The options in order, each with its value (None for a flag), and the problem of the list, if
    any: it is then incomplete, and further arguments may have followed. ``places`` has the index of
    the last word of each pair, if the boundaries of words are known."""

    pairs: tuple[tuple[str, str | None], ...]
    problem: str | None = None
    places: tuple[int, ...] = ()

    def values(self, *names: str) -> list[str]:
        """The values of the options of these names, in order."""
        return [value for name, value in self.pairs if name in names and value is not None]

    def last(self, *names: str) -> str | None:
        """The last value, which is the one that counts for QEMU; None if there is none."""
        found = self.values(*names)
        return found[-1] if found else None

    def parsed(self, *names: str) -> Iterator[Option]:
        """The options of these names, in order, with their values as mappings."""
        for pair, (name, value) in enumerate(self.pairs):
            if name in names:
                yield Option(pair, name, value or "", lenient(value, _FIRST.get(name, "")))

    def last_keys(self, name: str) -> Options:
        """The last value as a mapping, empty if there is none."""
        return lenient(self.last(name), _FIRST.get(name, ""))

    def has(self, *names: str) -> bool:
        """True if one of the options is there."""
        return any(name in names for name, _value in self.pairs)


def parse(words: Sequence[str]) -> Arguments:
    """Read words whose boundaries are known (``/proc``, a shell, a log). ``words[0]`` is the first
    argument, not the program."""
    pairs: list[tuple[str, str | None]] = []
    places: list[int] = []
    problem = _too_many(words)
    position = 0
    while position < min(len(words), MAX_WORDS):
        name = _option(words[position])
        position += 1
        if name is None:
            continue  # a disk image
        last = position >= len(words)
        if name in FLAGS or (name not in VALUED and (last or _option(words[position]) is not None)):
            pairs.append((name, None))
        elif not last:
            pairs.append((name, words[position]))
            position += 1
        else:
            problem = f"ends after -{name}, which takes a value"
            break
        places.append(position - 1)
    if words and words[-1] in ("-", "--"):
        problem = problem or f"ends in {words[-1]}"
    return Arguments(tuple(pairs), problem, tuple(places))


def parse_unquoted(words: Sequence[str]) -> Arguments:
    """Read words of ``ps`` output, which has no quoting: a value extends to the next word that is
    an option of QEMU."""
    pairs: list[tuple[str, str | None]] = []
    name: str | None = None
    value: list[str] = []
    for place, word in enumerate(words[:MAX_WORDS], 1):
        option = "" if word == "-" else _option(word)
        known = option is not None and (option in FLAGS or option in VALUED)
        cut = option is not None and place == len(words) and begins_option(option)
        if (known or cut) and not (name in VALUED and not value):
            _close(pairs, name, value)
            name, value = option, []
        elif name is not None and name not in FLAGS:
            value.append(word)
    if name in VALUED and not value:
        return Arguments(tuple(pairs), f"ends after -{name}, which takes a value")
    _close(pairs, name, value)
    return Arguments(tuple(pairs), _too_many(words))


def begins_option(name: str) -> bool:
    """True for a name that no option has, but with which one begins."""
    known = FLAGS | VALUED
    return name not in known and any(one.startswith(name) for one in known)


def _too_many(words: Sequence[str]) -> str | None:
    return f"more than {MAX_WORDS:,} words" if len(words) > MAX_WORDS else None


def _close(pairs: list[tuple[str, str | None]], name: str | None, value: list[str]) -> None:
    if name is not None:
        pairs.append((name, " ".join(value) if value else None))


def _option(word: str) -> str | None:
    if len(word) < 2 or word[0] != "-":
        return None
    return word[2:] if word.startswith("--") else word[1:]


# Parts of a pasted command line that a shell or a template still has to fill in.
#
# Nothing is expanded, so a variable in place of a fact of a NIC makes the fact unknown. A variable
# in a name, an address or a port does not matter.


_VARIABLE = re.compile(
    r"\$[A-Za-z_]\w*|\$[@*\d]|\$\{[^}]*\}?|\$\(.*|`[^`]*`?|%[A-Za-z](?![A-Za-z])", re.DOTALL
)
"""Variables of a shell, and the specifiers of a systemd unit (``%i``)."""

_FREE = frozenset({
    "id", "name", "mac", "macaddr", "ifname", "script", "downscript", "br", "helper", "netdev",
    "chardev", "path", "host", "port", "hostfwd", "guestfwd", "net", "ipv6-net", "dhcpstart",
    "dns", "hostname", "domainname", "bootfile", "tftp", "smb", "localaddr", "connect", "listen",
    "mcast", "sock", "local", "remote", "fd", "vhostfd", "vhostdev", "bus", "addr", "romfile",
    "bootindex", "group", "failover_pair_id", "acpi-index",
})  # fmt: skip
"""Keys of NICs and their backends whose values are only names or places."""
_OF_NICS = frozenset({"netdev", "mq", "mac", "rx_queue_size", "tx_queue_size", "host_mtu"})


def unfilled(text: str) -> str | None:
    """The variable or placeholder in a text; None if the text is literal."""
    match = _VARIABLE.search(text)
    if match is not None:
        return match.group()
    return text if is_only_placeholder(text) or opened(text) else None


def left_open(arguments: Arguments) -> str | None:
    """The reason why the facts of NICs are unknown: the variable or placeholder in them; None if
    there is none."""
    found = next((name for value in _decisive(arguments) if (name := unfilled(value))), None)
    if found is None:
        return None
    if _VARIABLE.match(found):
        return f"it has variables ({placeholder_text(found)}), which only the shell knows"
    return f"it is a template ({placeholder_text(found)}), to be filled in first"


def _decisive(arguments: Arguments) -> Iterator[str]:
    """Values that determine a NIC, and names of options that a variable makes."""
    for one in arguments.parsed(*NIC_OPTIONS, "machine", "M", "global", "set"):
        if one.name in ("machine", "M"):
            yield one.keys.get("type", "")
        elif one.name in ("global", "set"):
            if "net" in one.text.lower():
                yield one.text
        elif (
            one.name != "device"
            or not _OF_NICS.isdisjoint(one.keys)
            or "net" in (driver := one.keys.get("driver", ""))
            or (is_model(driver) and driver != "vfio-pci")
        ):
            yield from one.keys
            yield from (text for key, text in one.keys.items() if key not in _FREE)


# ``-global`` and ``-set``: properties of devices that are set elsewhere than on the device
# (qemu(1)).


_INNER = ("virtio-net-device", "virtio-device")
"""The classes of the device inside each virtio NIC; those of its transport are applied after it."""
_CCW = ("virtio-net-ccw", "virtio-ccw-device")

_GLOBAL = re.compile(r"(?P<driver>[^.=]{1,63})\.(?P<name>[^=]{1,63})=")
"""The short form of ``qemu_global_option`` in softmmu/qdev-monitor.c; the other is
``driver=,property=,…``."""


class Global(NamedTuple):
    """``-global driver.name=text``; ``driver`` is the name of a class, never an alias."""

    driver: str
    name: str
    text: str


def device_defaults(device: str, given: list[Global]) -> Options:
    """Properties that ``-global`` sets for this device, by its class or a base class; the later of
    two wins. Measured with QEMU 7.2 and 10.0."""
    inner = _INNER if device.startswith("virtio-net") else ()
    found = {one.name: one.text for one in given if one.driver in inner}
    outer = classes(device)
    return {**found, **{one.name: one.text for one in given if one.driver in outer}}


def classes(device: str) -> tuple[str, ...]:
    """A device's class and its base classes, as far as they have properties of NICs."""
    if device in VIRTIO_PCI:
        return (device, "virtio-net-pci-base", "virtio-pci")
    return _CCW if device == "virtio-net-ccw" else (device,)


def global_properties(arguments: Arguments) -> list[Global]:
    """``-global driver.property=value`` (or driver=,property=,value=): the default of a
    property."""
    found = []
    for value in arguments.values("global"):
        match = _GLOBAL.match(value)
        if match is not None:
            driver, name, text = match["driver"], match["name"], value[match.end() :]
        else:
            keys = lenient(value)
            driver, name, text = (keys.get(k, "") for k in ("driver", "property", "value"))
        found.append(Global(driver, name, text))
    return found


def set_properties(arguments: Arguments, group: str = "device") -> dict[str, Options]:
    """``-set GROUP.ID.property=value``: overrides one property of a device, or of a netdev."""
    found: dict[str, Options] = {}
    for value in arguments.values("set"):
        left, _equals, text = value.partition("=")
        parts = left.split(".")
        if len(parts) == 3 and parts[0] == group:
            found.setdefault(parts[1], {})[parts[2]] = text
    return found
