"""CPUs: which there are, how they are divided, and what they do within the window.

Sources in Linux' Documentation: admin-guide/cputopology.rst, admin-guide/kernel-parameters.txt,
admin-guide/pm/cpufreq.rst, filesystems/proc.rst (a tick of /proc/stat is 1/100
s for user space, whatever the kernel's); columns of softnet_stat: softnet_seq_show
(net/core/net-procfs.c; the thirteenth, of 5.10 and later, is the CPU). CPUAffinity=:
systemd-system.conf(5), and systemd.cpu_affinity= of kernel-command-line(7).
"""

from __future__ import annotations

import re

from vnicaudit.knowledge.cpu_lists import from_list
from vnicaudit.knowledge.host_cpus import isolcpus
from vnicaudit.model.host_facts import Cpus, CpuShare, Softnet
from vnicaudit.platforms.host.readings import Excerpt, HostCommand, HostFact, HostReadings

_CPU = "/sys/devices/system/cpu"
_ONLINE, _ISOLATED, _NOHZ = f"{_CPU}/online", f"{_CPU}/isolated", f"{_CPU}/nohz_full"
_WHOLE = f"{_CPU}/kernel_max"
"""Where this file was read, the others of its folder would have been, too."""
_SWITCHES = f"{_CPU}/cpu*/online"
_SIBLINGS = f"{_CPU}/cpu*/topology/thread_siblings_list"
_GOVERNORS = f"{_CPU}/cpu*/cpufreq/scaling_governor"
_DRIVERS = f"{_CPU}/cpu*/cpufreq/scaling_driver"
_NODES = "/sys/devices/system/node/node*/cpulist"
_COMMAND_LINE, _INIT = "/proc/cmdline", "/proc/1/status"
_SYSTEM_CONF = ("/etc/systemd/system.conf", "/etc/systemd/system.conf.d/*.conf")
_SOFTNET = "/proc/net/softnet_stat"
_STAT = HostCommand("grep ^cpu /proc/stat", ("proc/stat",), is_counter=True)
_SOFTIRQS = HostCommand("grep -E CPU0\\|NET_RX /proc/softirqs", ("proc/softirqs",), is_counter=True)
_PARAMETERS = frozenset({
    "isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "systemd.cpu_affinity",
    "tuned.non_isolcpus",
})  # fmt: skip
_NAMED = "|".join(sorted(_PARAMETERS)).replace(".", "[.]")
"""Other parameters may be passwords (of iSCSI, of disks, of the installer). The first character of
the line shows that it was read."""
_TICKS = 100
_STEAL = 7
_U32 = 0xFFFFFFFF


def _read(readings: HostReadings) -> dict[str, object]:
    return {
        "online": _online(readings),
        "isolated": isolated_of(readings),
        "nohz_full": nohz_full_of(readings),
        "cores": tuple(sorted(set(_siblings(readings).values()))) or None,
        "nodes": _nodes(readings),
        "command_line": _parameters(readings.text(_COMMAND_LINE)),
        **_frequency(readings),
    }


def _cpus(text: str | None) -> Cpus | None:
    return None if text is None else from_list(text)


def _number(path: str, start: str) -> int | None:
    """The number of the part of a path that begins with a word: ``cpu12``, ``node0``."""
    match = re.search(rf"/{start}(\d{{1,5}})/", path)
    return int(match[1]) if match else None


def _siblings(readings: HostReadings) -> dict[int, Cpus]:
    """CPU -> the threads of its core. An offline CPU has none."""
    found = {_number(path, "cpu"): _cpus(text) for path, text in readings.texts(_SIBLINGS).items()}
    return {cpu: cpus for cpu, cpus in found.items() if cpu is not None and cpus}


def _online(readings: HostReadings) -> Cpus | None:
    """CPUs that are online; where the list is missing, those that have a core and are not off."""
    listed = _cpus(readings.text(_ONLINE))
    if listed:
        return listed
    switches = readings.texts(_SWITCHES).items()
    off = {_number(path, "cpu") for path, text in switches if text.strip() == "0"}
    return tuple(sorted(set(_siblings(readings)) - off)) or None


def _nodes(readings: HostReadings) -> dict[int, Cpus] | None:
    found = {}
    for path, text in readings.texts(_NODES).items():
        node, cpus = _number(path, "node"), from_list(text)
        if node is not None and cpus is not None:
            found[node] = cpus
    return dict(sorted(found.items())) or None


def _frequency(readings: HostReadings) -> dict[str, object]:
    """Governors; none where cpufreq is missing from a folder that was read as a whole."""
    found: dict[str, list[int]] = {}
    for path, text in readings.texts(_GOVERNORS).items():
        cpu = _number(path, "cpu")
        if cpu is not None and text.strip():
            found.setdefault(text.strip(), []).append(cpu)
    if not found and readings.text(_WHOLE) is None:
        return {}
    governors = {name: tuple(sorted(cpus)) for name, cpus in sorted(found.items())}
    drivers = {text.strip() for text in readings.texts(_DRIVERS).values()}
    return {"governors": governors, "scaling_driver": min(drivers, default=None)}


def _parameters(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    words = (word.partition("=") for word in text.split())
    return {name: value.strip('"') for name, _is, value in words if name in _PARAMETERS}


def isolated_of(readings: HostReadings) -> Cpus | None:
    """CPUs out of the scheduler's domains; where sysfs does not tell, those of ``isolcpus``, unless
    its flags name only other things (``managed_irq``)."""
    line = _parameters(readings.text(_COMMAND_LINE))
    told = _cpus(readings.text(_ISOLATED))
    flags, cpus = isolcpus(line)
    return told or (told if line is None else cpus if "domain" in flags else ())


def nohz_full_of(readings: HostReadings) -> Cpus | None:
    """CPUs whose tick stops while they run one task."""
    line = _parameters(readings.text(_COMMAND_LINE))
    told = _cpus(readings.text(_NOHZ))
    return told or (told if line is None else from_list(line.get("nohz_full", "")))


def _services(readings: HostReadings, line: dict[str, str] | None) -> dict[str, object]:
    """Services inherit the affinity of PID 1, which follows the command line or system.conf: there
    lists are merged, and an empty one forgets those before it."""
    allowed = re.search(r"^Cpus_allowed_list:[ \t]*(\S+)", readings.text(_INIT) or "", re.M)
    configured: list[str] = []
    for path, text in (
        each for one in _SYSTEM_CONF for each in sorted(readings.texts(one).items())
    ):
        for value in re.findall(r"^[ \t]*CPUAffinity[ \t]*=([-\d, \t]*)$", text, re.M):
            configured = [*configured, value] if value.strip() else []
            source = f"CPUAffinity in {path}"
    told = {
        "Cpus_allowed_list of PID 1": allowed[1] if allowed else "",
        "systemd.cpu_affinity": (line or {}).get("systemd.cpu_affinity", ""),
    }
    if configured:
        told[source] = ",".join(configured)
    for source, value in told.items():
        cpus = from_list(value)
        if cpus:
            return {"services": cpus, "services_by": source}
    return {}


def _read_use(readings: HostReadings) -> dict[str, object]:
    """Counters: softnet_stat and softirqs are the whole host's, /proc/stat may be made by
    lxcfs."""
    services = _services(readings, _parameters(readings.text(_COMMAND_LINE)))
    if readings.window is None:
        return services
    first, last = _net_rx(readings), _net_rx(readings.later())
    return {
        **services,
        "share": _shares(readings, readings.window),
        "softnet_growth": _softnet_growth(readings),
        "net_rx_growth": {cpu: max(0, last.get(cpu, n) - n) for cpu, n in first.items()}
        if first and last
        else None,
    }


def _shares(readings: HostReadings, window: float) -> dict[int, CpuShare] | None:
    """How each CPU spent the window. A counter that grows faster than time is absurd: emulated and
    just started systems have such ones."""
    first, last = _times(readings), _times(readings.later())
    most = window * _TICKS * 1.5 + 10
    found = {}
    for cpu in sorted(first.keys() & last.keys()):
        spent = [max(0, end - start) for start, end in zip(first[cpu], last[cpu], strict=False)]
        steal = spent[_STEAL] if len(spent) > _STEAL else None
        if steal is not None and (steal > most or last[cpu][_STEAL] < first[cpu][_STEAL]):
            steal = None
        total = sum(spent[:_STEAL]) + (steal or 0)
        if 0 < total <= most and len(spent) >= _STEAL:
            idle, softirq = spent[3] + spent[4], spent[6]
            share = [round(100 * n / total, 1) for n in (idle, softirq, steal or 0)]
            found[cpu] = CpuShare(
                idle=share[0], softirq=share[1], steal=None if steal is None else share[2]
            )
    return found or None


def _times(readings: HostReadings) -> dict[int, list[int]]:
    """CPU -> user, nice, system, idle, iowait, irq, softirq, steal (guest is part of user)."""
    found = {}
    for line in (readings.output(_STAT.name) or "").split("\n"):
        match = re.match(r"cpu(\d{1,5})((?: \d{1,20}){7,16})\s*$", line)
        if match:
            found[int(match[1])] = [int(word) for word in match[2].split()][: _STEAL + 1]
    return found


def _softnet_growth(readings: HostReadings) -> Softnet | None:
    first, last = (_softnet(each.text(_SOFTNET)) for each in (readings, readings.later()))
    pairs = [(before, last[row]) for row, before in first.items() if row in last]
    if not pairs:
        return None
    dropped, squeezed = (
        sum(after[at] - before[at] & _U32 for before, after in pairs) for at in range(2)
    )
    return Softnet(dropped=dropped, squeezed=squeezed)


def _softnet(text: str | None) -> dict[str, tuple[int, int]]:
    """Row of softnet_stat, by its CPU or else its place -> dropped, squeezed."""
    found = {}
    for place, line in enumerate((text or "").split("\n")):
        words = line.split()
        if len(words) >= 3 and all(re.fullmatch(r"[0-9a-f]{8}", word) for word in words):
            row = words[12] if len(words) > 12 else str(place)
            found[row] = int(words[1], 16), int(words[2], 16)
    return found


def _net_rx(readings: HostReadings) -> dict[int, int]:
    lines = (readings.output(_SOFTIRQS.name) or "").split("\n")
    rows = {words[0]: words for words in map(str.split, lines) if words}
    row = next((rows[name][1:] for name in rows if name == "NET_RX:"), ())
    header = next((rows[name] for name in rows if name.startswith("CPU")), ())
    cpus = [int(word[3:]) for word in header if re.fullmatch(r"CPU\d{1,5}", word)]
    if not row or not all(re.fullmatch(r"\d{1,20}", word) for word in row):
        return {}
    return {cpu: int(word) for cpu, word in zip(cpus, row, strict=False)}


_PARAMETERS_READ = Excerpt(f"^.|(^|[[:space:]])({_NAMED})=[^[:space:]]*", (_COMMAND_LINE,))
FACT = HostFact(
    "cpus",
    _read,
    files=(
        _ONLINE, _ISOLATED, _NOHZ, _WHOLE, _SWITCHES, _SIBLINGS, _GOVERNORS, _DRIVERS, _NODES,
    ),
    excerpts=(_PARAMETERS_READ,),
    of_cpus=True,
)  # fmt: skip
USE = HostFact(
    "use of cpus",
    _read_use,
    counters=(_SOFTNET,),
    commands=(_STAT, _SOFTIRQS),
    excerpts=(
        _PARAMETERS_READ,
        Excerpt("^Cpus_allowed_list:.*", (_INIT,)),
        Excerpt("^[[:space:]]*CPUAffinity[[:space:]]*=.*", _SYSTEM_CONF),
    ),
    of_cpus=True,
    in_container=False,
)
