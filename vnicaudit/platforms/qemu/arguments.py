"""Parse a list of words into QEMU's options with their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FLAGS = _names(
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

VALUED = _names(
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

EVIDENCE = _names(
    "machine M m netdev device net nic global drive hda cdrom kernel enable-kvm name smp cpu accel "
    "nodefaults nographic"
)
"""With one of these, a line that names QEMU is a command line rather than prose."""

NIC_OPTIONS = ("device", "netdev", "nic", "net")

MAX_WORDS = 100_000


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
        if name in FLAGS or (name not in VALUED and _looks_like_option(words, position)):
            pairs.append((name, None))
        elif position < len(words):
            pairs.append((name, words[position]))
            position += 1
        else:
            problem = f"ends after -{name}, which takes a value"
            break
        places.append(position - 1)
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
        cut = option is not None and place == len(words) and begins_nic_option(option)
        if (known or cut) and not (name in VALUED and not value):
            _close(pairs, name, value)
            name, value = option, []
        elif name is not None and name not in FLAGS:
            value.append(word)
    if name in VALUED and not value:
        return Arguments(tuple(pairs), f"ends after -{name}, which takes a value")
    _close(pairs, name, value)
    return Arguments(tuple(pairs), _too_many(words))


def begins_nic_option(name: str) -> bool:
    """True for a name that no option has, but with which one for NICs begins."""
    unknown = name not in FLAGS and name not in VALUED
    return unknown and any(one.startswith(name) for one in NIC_OPTIONS)


def _too_many(words: Sequence[str]) -> str | None:
    return f"more than {MAX_WORDS:,} words" if len(words) > MAX_WORDS else None


def _close(pairs: list[tuple[str, str | None]], name: str | None, value: list[str]) -> None:
    if name is not None:
        pairs.append((name, " ".join(value) if value else None))


def _option(word: str) -> str | None:
    if len(word) < 2 or word[0] != "-":
        return None
    return word[2:] if word.startswith("--") else word[1:]


def _looks_like_option(words: Sequence[str], position: int) -> bool:
    return position >= len(words) or _option(words[position]) is not None
