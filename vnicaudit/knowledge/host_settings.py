"""Settings of a host that decide how fast its guests' NICs are, and the command that sets each
until the next boot.

Sources: ethtool(8), ip-link(8), sysctl(8), ovs-vswitchd.conf.db(5), and Documentation/networking/
scaling.rst of Linux (RPS, RFS, XPS in sysfs).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Literal, NamedTuple

import msgspec

from vnicaudit.knowledge.host_scripts import FIND_OVS, LOADED, MODULES, NOT_LOADED, SET_MODULE
from vnicaudit.knowledge.qeth import SET_WHILE_OFFLINE

SettingKind = Literal[
    "feature", "private-flag", "ring", "channels", "mtu", "queue-length", "rps", "rps-flows",
    "xps", "irq", "sysctl", "scheduler", "governor", "pages", "module", "ovs", "ovs-interface",
    "qeth", "vnicc", "file",
]  # fmt: skip

SHORT = {
    "rx-checksumming": "rx",
    "tx-checksumming": "tx",
    "scatter-gather": "sg",
    "tcp-segmentation-offload": "tso",
    "generic-segmentation-offload": "gso",
    "generic-receive-offload": "gro",
    "large-receive-offload": "lro",
}
"""Long names of features, as `ethtool -k` prints them, and the short ones that `-K` takes."""


class HostSetting(msgspec.Struct, frozen=True):
    """One setting: its kind, the ``device`` it is of (empty: the host's), and its ``name`` among
    those of its kind: a feature, a ring (``rx``), a queue (``rx-0``), a key. Empty where a device
    has only one."""

    kind: SettingKind
    device: str = ""
    name: str = ""


SettingValues = Sequence[tuple[HostSetting, str]]
"""Settings with their values, in the order in which they are set."""
FILES: dict[SettingKind, str] = {
    "rps": "/sys/class/net/{device}/queues/{name}/rps_cpus",
    "rps-flows": "/sys/class/net/{device}/queues/{name}/rps_flow_cnt",
    "xps": "/sys/class/net/{device}/queues/{name}/xps_cpus",
    "irq": "/proc/irq/{name}/smp_affinity_list",
    "vnicc": "/sys/class/net/{device}/device/vnicc/{name}",
    "sysctl": "/proc/sys/{name}",
    "scheduler": "/sys/kernel/debug/sched/{name}",
    "governor": "/sys/devices/system/cpu/{name}/cpufreq/scaling_governor",
    "pages": "/sys/devices/system/node/{name}/nr_hugepages",
}
"""Kind -> the file that has its value."""
_COMMANDS: dict[SettingKind, str] = {
    **{kind: f"echo {{value}} > {path}" for kind, path in FILES.items()},
    "feature": "ethtool -K {device} {name} {value}",
    "private-flag": "ethtool --set-priv-flags {device} {name} {value}",
    "ring": "ethtool -G {device} {name} {value}",
    "channels": "ethtool -L {device} {name} {value}",
    "mtu": "ip link set {device} mtu {value}",
    "queue-length": "ip link set {device} txqueuelen {value}",
    "sysctl": "sysctl -w {name}={value}",
    "ovs": "ovs-vsctl set Open_vSwitch . other_config:{name}={value}",
    "ovs-interface": "ovs-vsctl set Interface {device} {name}={value}",
    "qeth": "chzdev --by-interface {device} {name}={value}",
    "file": "rm {name}",
    "module": "modprobe {name}",
}


def pin_emulator(guest: str, cpus: str) -> str:
    """The command that moves a guest's emulator threads, and with them its vhost workers
    (virsh(1), *emulatorpin*)."""
    return f"virsh emulatorpin {quote(guest)} {cpus}"


def command_for(setting: HostSetting, value: str) -> str:
    """The command that sets it, as root, until the next boot (in Open vSwitch: for good)."""
    name = SHORT.get(setting.name, setting.name) if setting.kind == "feature" else setting.name
    return _COMMANDS[setting.kind].format(
        device=quote(setting.device), name=quote(name), value=quote(value)
    )


CAN_BE_SET_BACK = "it can be set back"
"""Why a change is safe that harms nothing for a moment either."""
CHOOSE_PMDS = command_for(HostSetting("ovs", name="pmd-cpu-mask"), "MASK")
"""The command that chooses the CPUs of PMDs; the mask is left to whoever runs it."""


# Settings that are changed here: each as the field of a change, and its value in the facts of a
# host. Only those whose old state can be read are in this table.


class _SettingRow(NamedTuple):
    """One kind of setting that is changed: the patterns of its device and name, and of its
    values. ``cuts``: pattern of the names of those that may cut off a device for a while, or for
    good. ``stays``: what it is set in keeps it beyond the next boot. ``new``: pattern of the values
    that a plan sets, if not all are."""

    field: str
    value: str
    cuts: str | None = None
    stays: bool = False
    new: str = ""


_DEVICE = r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}"
_MASK = r"[0-9a-f]{1,8}(,[0-9a-f]{1,8}){0,255}"
_LIST = r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?){0,255}"
_SOME = "0*[1-9][0-9]*"
_FLOWS = r"[0-9]{1,7}"
"""The kernel allocates a table of that size at once."""
COST = "kernel.sched_migration_cost_ns"
"""Until Linux 5.13, which has it in debugfs (kernel/sched/debug.c)."""
LEAST_OF_SYSCTLS = {
    "net.core.rps_sock_flow_entries": 0,
    "net.core.netdev_max_backlog": 1,
    "net.core.netdev_budget": 64,
    "net.core.netdev_budget_usecs": 1,
    COST: 1,
    "net.bridge.bridge-nf-call-iptables": 0,
}
"""Those that are changed, and the least that a plan sets; the budget is that of one poll of one
adapter (NAPI_POLL_WEIGHT of Linux), or more."""
OVS_VALUES = {
    "pmd-cpu-mask": "0x(?=.*[1-9a-f])[0-9a-f]{1,512}",
    "pmd-sleep-max": "[0-9]{1,5}",
    "pmd-maxsleep": "[0-9]{1,5}",
    "pmd-auto-lb": "true|false",
}
"""Keys of Open vSwitch's configuration that act at once, and what a plan may set. Others ask for a
restart, which takes their ports from all guests: those are left to people."""
_CHANGED: dict[SettingKind, _SettingRow] = {
    "qeth": _SettingRow(f"{_DEVICE}:buffer_count", "[0-9]{1,3}", cuts=".*"),
    "vnicc": _SettingRow(f"{_DEVICE}:(flooding|learning)", "[01]", new="1"),
    "channels": _SettingRow(rf"{_DEVICE}:(rx|tx|combined)", "[0-9]{1,5}", cuts=".*", new=_SOME),
    "private-flag": _SettingRow(
        rf"{_DEVICE}:[A-Za-z0-9_][A-Za-z0-9_-]{{0,39}}", "on|off", cuts=".*"
    ),
    "ring": _SettingRow(rf"{_DEVICE}:(rx|tx)", "[0-9]{1,7}", cuts=".*", new=_SOME),
    "mtu": _SettingRow(_DEVICE, "[0-9]{2,5}", cuts=".*"),
    "feature": _SettingRow(
        rf"{_DEVICE}:[a-z][a-z0-9_-]{{1,63}}", r"(on|off)( \[requested (on|off)\])?", cuts=".*"
    ),
    "rps": _SettingRow(rf"{_DEVICE}:rx-[0-9]{{1,4}}", _MASK),
    "rps-flows": _SettingRow(rf"{_DEVICE}:rx-[0-9]{{1,4}}", _FLOWS),
    "xps": _SettingRow(rf"{_DEVICE}:tx-[0-9]{{1,4}}", _MASK),
    "irq": _SettingRow(rf"{_DEVICE}:[0-9]{{1,10}}", _LIST),
    "queue-length": _SettingRow(_DEVICE, "[0-9]{1,9}", new=_SOME),
    "sysctl": _SettingRow(f":({'|'.join(map(re.escape, LEAST_OF_SYSCTLS))})", _FLOWS),
    "scheduler": _SettingRow(":migration_cost_ns", "[0-9]{1,9}", new=_SOME),
    "governor": _SettingRow(":cpu[0-9]{1,5}", "[a-z_]{1,15}"),
    "pages": _SettingRow(":node[0-9]{1,5}/hugepages/hugepages-[0-9]{4,10}kB", "[0-9]{1,9}"),
    "module": _SettingRow(f":({'|'.join(MODULES)})", f"{LOADED}|{NOT_LOADED}", new=LOADED),
    "ovs": _SettingRow(
        f":({'|'.join(OVS_VALUES)})",
        "((0x)?[0-9A-Fa-f]{1,512}|true|false)?",
        cuts="pmd-cpu-mask",
        stays=True,
    ),
    "ovs-interface": _SettingRow(
        rf"{_DEVICE}:(mtu_request|options:n_rxq)", "([0-9]{1,5})?", cuts=".*", stays=True, new=_SOME
    ),
    "file": _SettingRow(
        rf"({_DEVICE})?:/etc/(udev/rules|sysctl|tmpfiles|modules-load)\.d/9[09]-vnicaudit-[A-Za-z0-9_.@-]{{1,150}}",
        r"[\x20-\x7e\n]{0,65536}",
    ),
}
"""In the order in which several are set: first those that set others back, as a change of channels
makes new queues, without the masks of the old ones; last a file that keeps others beyond the next
boot, of which the text is the value. Adapters reset their link for new rings, and some for new
features. An empty value: it is not set, or there is no file."""
_FLAGS_TO_SET = frozenset({"rx_striding_rq"})
_MOST_BUFFERS = 128
_LEAST_MTU = 1280
"""Below, a device loses its IPv6 addresses, and does not have them back with its old MTU
(addrconf_notify in net/ipv6/addrconf.c of Linux 6.18)."""
ORDER = tuple(_CHANGED)
EACH = "*"
"""In place of its number: each queue of the device."""


def path_of(setting: HostSetting) -> str:
    """The file that has the value of a setting; its kind is one of :data:`FILES`."""
    name = setting.name.replace(".", "/") if setting.kind == "sysctl" else setting.name
    return FILES[setting.kind].format(device=setting.device, name=name)


def field_of(setting: HostSetting) -> str:
    """The field of a change: ``feature:eth0:tcp-segmentation-offload``, ``rps:eth0:rx-0``,
    ``queue-length:eth0``, ``sysctl::net.core.rps_sock_flow_entries``."""
    return f"{setting.kind}:{setting.device}:{setting.name}".rstrip(":")


def setting_of(field: str) -> HostSetting | None:
    """The setting that a field names; None: it is none that is changed here."""
    kind, _colon, rest = field.partition(":")
    for known, row in _CHANGED.items():
        if kind == known and re.fullmatch(row.field, rest):
            device, _colon, name = rest.partition(":")
            return HostSetting(known, device, name)
    return None


def takes(setting: HostSetting, value: str) -> bool:
    """True if the text may be a value of the setting."""
    return re.fullmatch(_CHANGED[setting.kind].value, value) is not None


def may_cut(setting: HostSetting) -> bool:
    """True if the way to the host may be lost where it leads over the setting's device."""
    names = _CHANGED[setting.kind].cuts
    return names is not None and re.fullmatch(names, setting.name) is not None


def may_become(setting: HostSetting, new: str) -> bool:
    """True if a plan may set it to that. Other features than these stop frames (``loopback``) or
    lose more than their state (``ntuple``, its rules); a queue without room may send nothing."""
    if setting.kind == "feature":
        return setting.name in SHORT
    if setting.kind == "private-flag":
        return setting.name in _FLAGS_TO_SET
    if setting.kind == "mtu" or setting.name == "mtu_request":
        return bool(new) and int(new) >= _LEAST_MTU
    if setting.kind == "ovs":
        return re.fullmatch(OVS_VALUES[setting.name], new) is not None
    if setting.kind == "sysctl":
        return int(new) >= LEAST_OF_SYSCTLS[setting.name]
    if setting.kind == "qeth":
        return 8 <= int(new) <= _MOST_BUFFERS
    row = _CHANGED[setting.kind]
    return re.fullmatch(row.new or row.value, new) is not None


def attribute_of(setting: HostSetting) -> str:
    """The attribute of a qeth device that a setting is, as zdev names it: ``vnicc/flooding``."""
    return f"vnicc/{setting.name}" if setting.kind == "vnicc" else setting.name


def is_of_host(setting: HostSetting) -> bool:
    """True if it is the whole host's, and also seen from its network namespaces."""
    whole = ("scheduler", "governor", "pages", "module", "ovs", "ovs-interface")
    return setting.kind in whole or setting.name.startswith("kernel.")


def takes_offline(setting: HostSetting) -> bool:
    """True if its device is offline for a moment, so that everything else of it is compared and
    set again."""
    return setting.kind == "qeth"


def stays(setting: HostSetting) -> bool:
    """True if what it is set in keeps it beyond the next boot."""
    return _CHANGED[setting.kind].stays


def each_of(field: str, value: str) -> dict[str, str]:
    """Field -> value of each setting of a change, which may be of several."""
    fields, values = field.split(" "), value.split(" ")
    if len(fields) != len(values) or not all(map(setting_of, fields)):
        return {field: value}
    return dict(zip(fields, values, strict=True))


def words_of(field: str, value: str) -> str:
    """The sentence that tells an operator to set the setting of a change."""
    if len(several := each_of(field, value)) > 1:
        said = filter(None, (words_of(*pair) for pair in several.items()))
        return "; ".join(said).replace("; Set it: ", "; ")
    kind, device, name = (part.rstrip(":") for part in f"{field}::".split(":", 2))
    if kind not in _CHANGED:
        return f"Set {field} on the host."
    if kind in ("qeth", "vnicc", "irq"):
        return ""  # several commands, which the rule tells
    if kind == "governor":
        return f"Set it on each: cpupower frequency-set -g {value}"
    if name.endswith(EACH):
        queues = f"/sys/class/net/{quote(device)}/queues/{name}"
        file = FILES[kind].rpartition("/")[2]
        return f"Set it on each: for queue in {queues}; do echo {value} > $queue/{file}; done"
    verb = {"feature": f"Switch it {value}", "module": "Load it"}.get(kind, "Set it")
    return f"{verb}: {command_for(HostSetting(kind, device, name), value)}"


def is_file(setting: HostSetting) -> bool:
    """True for a file that keeps other settings beyond the next boot."""
    return setting.kind == "file"


def are_files(fields: Iterable[str]) -> bool:
    """True if all of these are such files."""
    return all(one is not None and is_file(one) for one in map(setting_of, fields))


def effect_of(fields: Iterable[str]) -> str:
    """From when to when these settings act."""
    if are_files(fields):
        return "from the next boot on"
    all_stay = all(one is not None and stays(one) for one in map(setting_of, fields))
    return "at once, for good" if all_stay else "at once, until the next boot"


def is_apart(setting: HostSetting) -> bool:
    """True for what does not change along with other settings: files, modules, which whoever starts
    a guest may load meanwhile, and where interrupts are served, which others may move (and a driver
    with its channels)."""
    return setting.kind in ("file", "module", "irq")


KEEPING = ("/etc/udev/rules.d", "/etc/sysctl.d", "/etc/tmpfiles.d", "/etc/modules-load.d")
"""Folders with files that keep settings, on every distribution."""
RUN_ID = re.compile(r"(?<=: vnicaudit rollback )\S+")
"""In the first line of a file of vnicaudit's: the run that wrote it."""
_NEW_FILE = """umask 022; printf '%s\\n' "$1" >"$2.new" && sync "$2.new" && ln "$2.new" "$2"
code=$?; rm -f "$2.new"; exit $code"""
"""A link is made whole, and never in place of a file that is there; no program reads ``*.new``."""


def words_to_set(setting: HostSetting, value: str) -> tuple[str, ...]:
    """The program and arguments that set it until the next boot; a file is written by a shell, to
    which path and value are arguments."""
    device, name = setting.device, setting.name
    if is_file(setting) and value:
        return "sh", "-c", _NEW_FILE, "sh", value, name
    if setting.kind in FILES:
        return "sh", "-c", 'printf %s "$1" >"$2"', "sh", value, path_of(setting)
    if setting.kind == "qeth":
        return "sh", "-c", SET_WHILE_OFFLINE, "sh", device, name, value
    if setting.kind == "module":
        return "sh", "-c", SET_MODULE, "sh", value, name, MODULES[name]
    if setting.kind in ("ovs", "ovs-interface"):
        return "sh", "-c", _IN_OVS, "sh", *_ovs_words(setting, value)
    if setting.kind == "feature":
        name, value = SHORT.get(name, name), value.rpartition("[requested ")[2].rstrip("]")
    words = _COMMANDS[setting.kind].split()
    if words[:3] == ["ip", "link", "set"]:
        words.insert(3, "dev")  # a device may have the name of an option
    return tuple(word.format(device=device, name=name, value=value) for word in words)


_IN_OVS = f"""limited() {{ timeout 10 "$@"; }}
{FIND_OVS}
[ "$ovs" != none ] && exec ${{ovs}}ovs-vsctl -t 10 "$@\""""
"""Its words are arguments; it ends when the daemon has done what they say."""


def _ovs_words(setting: HostSetting, value: str) -> tuple[str, ...]:
    """Arguments of ovs-vsctl that set a column or a key in one, or take it out (empty)."""
    table = ("Interface", setting.device) if setting.device else ("Open_vSwitch", ".")
    name = setting.name if setting.device else f"other_config:{setting.name}"
    if value:
        return ("set", *table, f"{name}={value}")
    column, _colon, key = name.partition(":")
    return ("remove", *table, column, key) if key else ("clear", *table, column)
