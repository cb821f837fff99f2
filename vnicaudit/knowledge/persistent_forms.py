"""Files that keep a setting of a host beyond the next boot, one for each setting.

Settings of devices are kept by udev rules, whatever configures the network there: all of them wait
until udev is done with a device, and then set what their own configuration names
(:mod:`vnicaudit.knowledge.network_words`). Their files are no place for one of ours:

* .link of systemd: of all files only the first that matches counts, and names the device; a drop-in
  (NAME.link.d) is for all devices that its file matches, as the one of systemd's own, 99-default,
  does all (systemd.link(5)). Rules count more: 80-net-setup-link.rules applies .link files.
* NetworkManager: a default in conf.d (``ethernet.mtu``, since 1.6; no other setting of these has
  one) counts only for a device that it has activated (_commit_mtu in nm-device.c at 355bc902).
* netplan: a device that its other files name otherwise, or not any more, would be defined by ours
  alone, and one of another type stops ``netplan generate``: the host boots without a network.
* ifupdown: stanzas are for interfaces that it brings up, and in interfaces.d if that is sourced.

Rules act on *add* and *move* of their device: at boot, when it is renamed, after ``udevadm trigger
-c add``. With both, as .link files are applied in both (link_apply_config in link-config.c of
systemd; seen with 257: MTU, rings, channels and GRO of the .link came back with *move*).
OpenShift's documentation for IBM Z keeps RFS by a rule as well (50-enable-rfs).

Sources: udev(7) and udev-rules.c of systemd 252 to 262: ``$name`` is the name that earlier rules
gave the device, programs of ``RUN`` start after it was renamed, and need an absolute path; /sbin
has ethtool on merged and older systems; ``|`` separates texts of which one must match. An address
that a .link file gives (MACAddress=) is what rules see from *move* on, and after an initramfs also
at *add*.
``DRIVERS=="?*"`` keeps VLANs and bonds out, which have the address of an adapter
(75-persistent-net-generator.rules). sysctl.d(5): of several files the last one by name counts;
99-sysctl.conf is /etc/sysctl.conf; settings of a module exist once that is loaded, which udev is
told of (its example 99-bridge.rules). tmpfiles.d(5): ``w`` writes into a file that is there.
modules-load.d(5): names of modules, one a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vnicaudit.knowledge.host_scripts import MODULES
from vnicaudit.knowledge.host_settings import (
    FILES,
    KEEPING,
    LEAST_OF_SYSCTLS,
    RUN_ID,
    SHORT,
    HostSetting,
    path_of,
    words_to_set,
)
from vnicaudit.model.host_facts import HostFacts, HostLink

RUN = "RUN"
"""Stands for the id of the run in texts that a plan shows."""
RULES, SYSCTLS, TMPFILES, LOADED_AT_BOOT = KEEPING
_HEAD = f"# Written by vnicaudit; taken back by: vnicaudit rollback {RUN}"
_PROPOSED = "# Proposed by vnicaudit"
_ATTRIBUTES = {"mtu": "mtu", "queue-length": "tx_queue_len"}
_OF_DEVICES = frozenset({
    "channels", "feature", "mtu", "private-flag", "queue-length", "ring", "rps", "rps-flows", "xps",
})  # fmt: skip
_OF_SYSFS = frozenset({"governor", "pages"})
_OF_QUEUES = frozenset({"rps", "rps-flows", "xps"})
"""All queues of a device are in one file."""
_MADE_BY_OTHERS = frozenset({"tun", "macvtap", "veth"})

_NONE = "no file of vnicaudit's keeps {}: set it in the configuration of the host's network"
_WITHOUT_FILE = {
    "qeth": "chzdev -p keeps it",
    "vnicc": "chzdev -p keeps it",
    "irq": "interrupts have other numbers then, and irqbalance is what keeps them apart",
    "scheduler": "tuned keeps it, as sched_migration_cost_ns of a profile's [scheduler]",
}
_NO_FOLDER = "the host has no {}"
_NO_MAC = "nothing identifies {} after a boot: its MAC address is not known, or another's too"
_IS_MADE = "whatever uses {} makes it at each start: set it there"


class OwnFile(NamedTuple):
    """A file of vnicaudit's: its path on the host, and its text."""

    path: str
    text: str


def own_files(settings: Mapping[HostSetting, str], facts: HostFacts) -> list[OwnFile | str]:
    """The files that keep these settings on their host, and the reasons why there is none for
    some."""
    return [_own_file(group, facts) for group in _grouped(settings)]


def path_of_file(setting: HostSetting, facts: HostFacts) -> str:
    """The path of the file that keeps the setting on its host; empty: none does."""
    (made,) = own_files({setting: ""}, facts)
    return made.path if isinstance(made, OwnFile) else ""


def for_nodes(settings: Mapping[HostSetting, str]) -> list[OwnFile | str]:
    """The files, or reasons, for all hosts of a kind, whose devices have their names in common, not
    their addresses."""
    groups = [(next(iter(group)).device, group) for group in _grouped(settings)]
    return [
        _file(group, f'NAME=="{name}"', f'NAME=="", KERNEL=="{name}"', head=_PROPOSED)
        for name, group in groups
    ]


def _grouped(settings: Mapping[HostSetting, str]) -> list[dict[HostSetting, str]]:
    """Settings of one group are kept by one file: all queues of a device, the governors of all
    CPUs, or one other setting."""
    groups: dict[tuple[str, ...], dict[HostSetting, str]] = {}
    for one, value in settings.items():
        name = "" if one.kind in (*_OF_QUEUES, "governor") else one.name
        groups.setdefault((one.device, one.kind, name), {})[one] = value
    return list(groups.values())


def _own_file(group: Mapping[HostSetting, str], facts: HostFacts) -> OwnFile | str:
    first = next(iter(group))
    link = facts.link(first.device) or HostLink(name=first.device)
    if first.device and link.kind in _MADE_BY_OTHERS:
        return _IS_MADE.format(link.name)
    macs = "|".join(_macs_of(link, facts))
    if link.physical and not macs:
        return _NO_MAC.format(link.name)
    is_adapter = f'DRIVERS=="?*", ATTR{{address}}=="{macs}"'
    made = _file(group, is_adapter if link.physical else f'KERNEL=="{link.name}"')
    if isinstance(made, OwnFile):
        folder = made.path.rpartition("/")[0]
        if folder not in (facts.own_files or {}):
            return _NO_FOLDER.format(folder)
    return made


def _macs_of(adapter: HostLink, facts: HostFacts) -> Iterator[str]:
    """The addresses by which udev may see an adapter: its permanent one, and the one that a .link
    file gives it. None: another one has it too, as a synthetic NIC and its VF, or members of a
    bond, whose present address is the bond's."""
    adapters = [one for one in facts.links or () if one.physical]
    if adapter.mac and [one.mac for one in adapters].count(adapter.mac) == 1:
        yield adapter.mac
        present = [one.address or one.mac for one in adapters]
        is_others = adapter.address in [one.mac for one in adapters]
        if adapter.address and not is_others and present.count(adapter.address) == 1:
            yield adapter.address


def _file(group: Mapping[HostSetting, str], *matches: str, head: str = _HEAD) -> OwnFile | str:
    first = next(iter(group))
    if first.kind in _WITHOUT_FILE:
        return _WITHOUT_FILE[first.kind]
    if first.name.startswith("net.bridge."):
        path = f"{RULES}/90-vnicaudit-{first.name}.rules"
    elif first.kind == "sysctl":
        path, matches = f"{SYSCTLS}/99-vnicaudit-{first.name}.conf", ("",)
    elif first.kind in _OF_SYSFS:
        name = first.name.replace("/", "-") if first.kind == "pages" else first.kind
        path, matches = f"{TMPFILES}/90-vnicaudit-{name}.conf", ("",)
    elif first.kind == "module":
        path, matches = f"{LOADED_AT_BOOT}/90-vnicaudit-{first.name}.conf", ("",)
    elif first.kind in _OF_DEVICES:
        name = "" if first.kind in _OF_QUEUES else first.name
        parts = "-".join(filter(None, (first.device, first.kind, name)))
        path = f"{RULES}/90-vnicaudit-{parts}.rules"
    else:
        return _NONE.format(first.kind)
    lines = [_line(one, value, each) for each in matches for one, value in group.items()]
    return OwnFile(path, "\n".join((head, *lines)))


def in_run(text: str, run: str) -> str:
    """The text with the id of the run that writes it."""
    return RUN_ID.sub(run, text, count=1)


def is_own(path: str, text: str) -> bool:
    """True for a text that :func:`own_file` may have made for that path."""
    head, _, body = text.partition("\n")
    pattern = _PATTERNS[path.rpartition("/")[0]]
    lines = body.split("\n")
    return in_run(head, RUN) == _HEAD and all(map(re.compile(pattern).fullmatch, lines))


def _line(setting: HostSetting, value: str, match: str) -> str:
    if setting.name.startswith("net.bridge."):
        return f"{_MODULE}RUN+=\"/bin/sh -c 'echo {value} > {path_of(setting)}'\""
    if setting.kind == "sysctl":
        return f"{setting.name} = {value}"
    if setting.kind == "module":
        return setting.name
    if setting.kind in _OF_SYSFS:
        return f"w {path_of(setting)} - - - - {value}"
    return f'{_ACTIONS}, SUBSYSTEM=="net", {match}, {_action(setting, value)}'


def _action(setting: HostSetting, value: str) -> str:
    if setting.kind in _ATTRIBUTES:
        return f'ATTR{{{_ATTRIBUTES[setting.kind]}}}="{value}"'
    named = HostSetting(setting.kind, "$name", setting.name)
    if setting.kind in FILES:
        return f"RUN+=\"/bin/sh -c 'echo {value} > {path_of(named)}'\""
    words = words_to_set(named, value)
    return f'RUN+="/sbin/{" ".join(words)}"'


_ACTIONS = 'ACTION=="add|move"'
_MAC = "[0-9a-f]{2}(:[0-9a-f]{2}){5}"
_MODULE = 'ACTION=="add", SUBSYSTEM=="module", KERNEL=="br_netfilter", '
_SYSCTL = rf"({'|'.join(map(re.escape, LEAST_OF_SYSCTLS))}) = [0-9]{{1,7}}"
_RULE = (
    rf"{_MODULE}RUN\+=\"/bin/sh -c 'echo [01] > /proc/sys/net/bridge/bridge-nf-call-[a-z0-9]+'\"|"
    rf'{re.escape(_ACTIONS)}, SUBSYSTEM=="net", '
    rf'(DRIVERS=="\?\*", ATTR\{{address\}}=="{_MAC}(\|{_MAC})?"'
    r'|KERNEL=="[A-Za-z0-9_.@-]+"), '
    r'(ATTR\{(mtu|tx_queue_len)\}="[0-9]{1,9}"'
    rf'|RUN\+="/sbin/ethtool -K \$name ({"|".join(SHORT.values())}) (on|off)"'
    r'|RUN\+="/sbin/ethtool (-G|-L|--set-priv-flags) \$name [A-Za-z0-9_-]+ (on|off|[0-9]{1,7})"'
    r"|RUN\+=\"/bin/sh -c 'echo [0-9a-f,]+ > "
    r"/sys/class/net/\$name/queues/[rt]x-[0-9]+/(rps_cpus|rps_flow_cnt|xps_cpus)'\")"
)
_WRITE = (
    r"w /sys/devices/system/(cpu/cpu[0-9]+/cpufreq/scaling_governor - - - - [a-z_]{1,15}"
    r"|node/node[0-9]+/hugepages/hugepages-[0-9]+kB/nr_hugepages - - - - [0-9]{1,9})"
)
_PATTERNS = {
    RULES: _RULE, SYSCTLS: _SYSCTL, TMPFILES: _WRITE, LOADED_AT_BOOT: "|".join(MODULES),
}  # fmt: skip
"""Lines of our files, by their folder."""
