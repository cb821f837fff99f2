"""The kernel: its version, settings, modules, cost of migration, and memory.

Sources in Linux' Documentation: admin-guide/sysctl/net.rst, networking/scaling.rst,
admin-guide/mm/hugetlbpage.rst. sched_migration_cost_ns left /proc/sys for debugfs with 5.13
(kernel/sched/debug.c). In a network namespace the settings of net.core that are the whole host's
do not exist: what is missing stays unknown. ``MemAvailable`` is the kernel's estimate of what
programs can get without swapping (proc_meminfo(5)).
"""

from __future__ import annotations

import re

from vnicaudit.knowledge.host_scripts import LOADED, MODULES, NOT_LOADED, SEE_MODULES
from vnicaudit.knowledge.host_settings import COST
from vnicaudit.model.host_facts import HugePages
from vnicaudit.platforms.host.facts.ibm_z import SYSINFO
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings

_UNAME = HostCommand("uname -a", ("sos_commands/kernel/uname_-a", "uname"))
_MACHINE = HostCommand("sha256sum /etc/machine-id")
"""machine-id(5) asks for a hash of it, as it is not to be told to everybody."""
_SYSCTL = HostCommand("sysctl -a", ("sos_commands/kernel/sysctl_-a",), is_run=False)
_DEBUG_COST = "/sys/kernel/debug/sched/migration_cost_ns"
_MEMORY = "/proc/meminfo"
_PAGES = "/sys/devices/system/node/node*/hugepages/hugepages-*kB/{}"
_TOTAL, _FREE = _PAGES.format("nr_hugepages"), _PAGES.format("free_hugepages")
_PAGE_FILE = re.compile(r".*/node(\d{1,5})/hugepages/hugepages-(\d{1,10})kB/(\w+)")
_KEYS = (
    "net.core.rps_sock_flow_entries",
    "net.core.rps_default_mask",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.bridge.bridge-nf-call-iptables",
    "net.ipv4.ip_forward",
    COST,
)


def _path(key: str) -> str:
    return "/proc/sys/" + key.replace(".", "/")


def _read(readings: HostReadings) -> dict[str, object]:
    kernel, arch = _version(readings)
    sysctls = _sysctls(readings)
    cost = (sysctls or {}).get(COST, readings.text(_DEBUG_COST) or "").strip()
    return {
        "kernel": kernel,
        "arch": arch or ("s390x" if readings.text(SYSINFO) else None),
        "machine": _machine(readings.output(_MACHINE.name) or ""),
        "sysctls": sysctls,
        "modules": _modules(readings.output("modules")),
        "migration_cost": int(cost) if re.fullmatch(r"[0-9]{1,15}", cost) else None,
        "memory_available": _available(readings.text(_MEMORY)),
        "huge_pages": _huge_pages(readings),
    }


def _version(readings: HostReadings) -> tuple[str | None, str | None]:
    """Release and architecture, of `uname -a`: the architecture is the last word before the
    name of the operating system."""
    words = (readings.output(_UNAME.name) or "").split()
    if len(words) < 5 or words[0] != "Linux":
        return None, None
    return words[2], words[-2]


def _machine(text: str) -> str | None:
    found = re.match(r"[0-9a-f]{24}(?=[0-9a-f]{40} )", text)
    return found and found[0]


def _sysctls(readings: HostReadings) -> dict[str, str] | None:
    listed = readings.output(_SYSCTL.name)
    pairs = [line.partition("=") for line in (listed or "").split("\n")]
    found = {name.strip(): value.strip() for name, _is, value in pairs if name.strip() in _KEYS}
    found |= {key: text.strip() for key in _KEYS if (text := readings.text(_path(key))) is not None}
    return found if found or listed is not None else None


def _modules(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    pairs = [line.partition(" ") for line in text.split("\n")]
    return {
        name: state
        for name, _space, state in pairs
        if name in MODULES and state in (LOADED, NOT_LOADED)
    }


def _available(text: str | None) -> int | None:
    found = re.search(r"^MemAvailable: +(\d{1,15}) kB$", text or "", re.M | re.A)
    return int(found[1]) if found else None


def _huge_pages(readings: HostReadings) -> tuple[HugePages, ...] | None:
    counts: dict[tuple[int, int], dict[str, int]] = {}
    for pattern in (_TOTAL, _FREE):
        for path, text in readings.texts(pattern).items():
            match = _PAGE_FILE.fullmatch(path)
            if match and re.fullmatch(r"[0-9]{1,15}", text.strip()):
                counts.setdefault((int(match[1]), int(match[2])), {})[match[3]] = int(text)
    return (
        tuple(
            HugePages(node=node, size=size, total=each["nr_hugepages"], free=each["free_hugepages"])
            for (node, size), each in sorted(counts.items())
            if len(each) == 2
        )
        or None
    )


FACT = HostFact(
    "kernel",
    _read,
    files=(*map(_path, _KEYS), _DEBUG_COST, _MEMORY, _TOTAL, _FREE, SYSINFO),
    commands=(_UNAME, _MACHINE, _SYSCTL),
    script=SEE_MODULES,
)
