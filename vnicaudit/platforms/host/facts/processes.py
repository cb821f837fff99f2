"""QEMU processes and their threads, and which other programs run. A visit asks once for what is
read here and for guests (:mod:`vnicaudit.platforms.host.visiting.processes`).

Names of threads: QEMU's ``CPU 0/KVM`` (accel/kvm/kvm-accel-ops.c) and ``IO NAME`` (iothread.c), if
it was started with debug-threads=on, as libvirt does; without it a vCPU cannot be told. A worker of
vhost is called ``vhost-PID`` (drivers/vhost/vhost.c of Linux) with the PID of the task that opened
the device. Until 6.3, and where a later kernel has fork_from_owner_default and it is off, it is a
thread of the kernel; else it is one of QEMU's own (vhost_task_create of 6.4).

The use of the host is told by them: whether it runs guests, and whether something filters bridged
frames. libvirt keeps definitions in /etc/libvirt/qemu and the state of running guests in
/run/libvirt/qemu; Proxmox VE in /etc/pve/qemu-server. Docker and kube-proxy need
net.bridge.bridge-nf-call-iptables (their documentation), as do Nova's hybrid plug (bridges qbr*)
and rules with the match physdev (iptables-extensions(8)).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal

from vnicaudit.knowledge.cpu_lists import from_list
from vnicaudit.model.host_facts import Cpus, QemuProcess, Thread
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings, files_in
from vnicaudit.platforms.qemu.proc import is_qemu

LINES, DESCRIPTORS, TAPS, AWAY, HIDDEN = (
    "qemu", "qemu descriptors", "qemu taps", "qemu elsewhere", "qemu hidden",
)  # fmt: skip
MACVTAPS = "macvtaps"
_THREADS, _PROGRAMS = "qemu threads", "programs"
_PS = HostCommand("ps auxwwwm", ("sos_commands/process/ps_auxwwwm",), is_run=False)
_ASKED = ("irqbalance", "dockerd", "kube-proxy", "kubelet", "nova-compute", "virt-handler", "tuned")
"""Programs that a live host is asked for, beside QEMU."""
_NAMED = rf"""
named=$(grep -sHxE '{"|".join(_ASKED)}|vhost-[0-9]+' /proc/[0-9]*/comm)
programs() {{ printf '%s\n' "$named" | sed 's/.*://'; }}
fact {_PROGRAMS} programs
"""
_SCRIPT = rf"""{_NAMED}
qemus=$(printf '%s\0' /proc/[0-9]*/cmdline |
    xargs -0 grep -zslE '^(.*/)?([.]?qemu-system-[A-Za-z0-9_.-]+|qemu-kvm|kvm)$' 2>/dev/null)
qemu_lines() {{
    printf 'x\0' | grep -qzHZ x || return 3
    [ $# = 0 ] || contents "$@"
}}
qemu_descriptors() {{
    [ $# = 0 ] || ls -lnR "$@" 2>/dev/null | grep -aE '^/proc/|/dev/(vhost-|tap[0-9])| 0 -> '
    true
}}
qemu_threads() {{ grep -sHE '^(Name|Cpus_allowed_list):' "$@" /dev/null; true; }}
fact {LINES} qemu_lines $qemus
folders= threads= taps= away=
for file in $qemus; do
    folder=${{file%/cmdline}}
    folders="$folders $folder/fd"
    threads="$threads $folder/task/*/status"
    if [ "$folder/ns/net" -ef /proc/self/ns/net ]; then taps="$taps $folder/fdinfo/*"
    elif [ -e "$folder/ns/net" ]; then away="$away $file"
    fi
done
for each in $named; do
    case $each in *:vhost-*) threads="$threads ${{each%/comm:*}}/task/*/status" ;; esac
done
fact '{DESCRIPTORS}' qemu_descriptors $folders
[ -z "$taps" ] || fact '{TAPS}' excerpt '^iff:.*' $taps
part {MACVTAPS}
printf '%s\n' /sys/class/net/*/tap[0-9]*
part '{AWAY}'
printf '%s\n' $away
[ -e /proc/1/cmdline ] || part '{HIDDEN}'
fact '{_THREADS}' qemu_threads $threads
"""
_LINE = re.compile(r"/proc/([0-9]{1,9})/cmdline")
_STATUS = re.compile(r"/proc/(\d{1,10})/task/(\d{1,10})/status:(Name|Cpus_allowed_list):[ \t]*(.*)")
_ROW = re.compile(r"\S+ +(\d{1,10}) +(?:\S+ +){8}(\S.*)")
_VHOST = re.compile(r"vhost-(\d{1,10})")
_IS_QEMU = re.compile(r"qemu-system-\S+|qemu-kvm|kvm")


class _QemuTask:
    """One thread: the process it is of, its name, and where it may run."""

    def __init__(self) -> None:
        self.name = ""
        self.cpus: Cpus | None = None


_Role = Literal["vcpu", "emulator", "iothread", "vhost"]
_Tasks = dict[tuple[int, int], _QemuTask]
"""Process, thread."""


def programs_of(readings: HostReadings) -> frozenset[str] | None:
    """Names of programs that run, among those that are asked for; None: unknown."""
    listed = readings.output(_PROGRAMS)
    if listed is not None:
        return frozenset(listed.split("\n"))
    rows = readings.output(_PS.name)
    if rows is None:
        return None
    return frozenset(name for _pid, row in _rows(rows) for name in _programs(row))


def qemus_of(readings: HostReadings) -> dict[int, list[str]] | None:
    """The command line of each QEMU process that was seen, in words; None: they were not listed."""
    lines = readings.output(LINES)
    if lines is None:
        return None
    found: dict[int, list[str]] = {}
    for path, text in files_in(lines).items():
        number, words = _LINE.fullmatch(path), text.split("\0")
        if number is not None and is_qemu(words[0]):
            found[int(number[1])] = words
    return found


def qemus_in(readings: HostReadings) -> tuple[QemuProcess, ...] | None:
    """Running QEMU processes; None: unknown."""
    found, threads = qemus_of(readings), readings.output(_THREADS)
    if found is not None and threads is not None:
        names = {pid: _name_in(words) for pid, words in found.items()}
        return _processes(names, _tasks(threads))
    rows = readings.output(_PS.name)
    if rows is None:
        return None
    return _processes(*_from_rows(rows))


def _processes(names: Mapping[int, str], tasks: _Tasks) -> tuple[QemuProcess, ...]:
    own: dict[int, list[Thread]] = {pid: [] for pid in names}
    openers = {tid: pid for pid, tid in tasks if pid in names} | {pid: pid for pid in names}
    for (pid, tid), task in sorted(tasks.items(), key=lambda item: item[0]):
        role = _role(task.name, pid == tid)
        pid = pid if pid in names else openers.get(_opener(task.name), -1)
        if role is not None and pid in own:
            own[pid].append(Thread(role=role, cpus=task.cpus, name=task.name))
    return tuple(
        QemuProcess(
            pid=pid,
            guest=_guest(name),
            threads=tuple(own[pid]),
        )
        for pid, name in sorted(names.items())
    )


def _role(name: str, is_main: bool) -> _Role | None:
    if re.match(r"CPU \d+/", name):
        return "vcpu"
    if _VHOST.fullmatch(name):
        return "vhost"
    if name.startswith("IO ") and name != "IO mon_iothread":
        return "iothread"
    return "emulator" if is_main else None


def _opener(name: str) -> int:
    match = _VHOST.fullmatch(name)
    return int(match[1]) if match else -1


def _guest(value: str) -> str | None:
    """The name in ``-name``: ``guest=NAME,…`` or ``NAME,…``; a comma in it is written twice."""
    for part in re.split(r"(?<!,),(?!,)", value):
        key, equals, rest = part.partition("=")
        if not equals or key == "guest":
            return (rest if equals else part).replace(",,", ",") or None
    return None


def _tasks(text: str) -> _Tasks:
    found: _Tasks = {}
    for line in text.split("\n"):
        match = _STATUS.match(line)
        if match:
            task = found.setdefault((int(match[1]), int(match[2])), _QemuTask())
            if match[3] == "Name":
                task.name = match[4].strip()
            else:
                task.cpus = from_list(match[4])
    return found


def _name_in(words: list[str]) -> str:
    """The last value of ``-name``; empty: there is none."""
    return dict(pairwise(words)).get("-name", "")


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """PID and command of each process that ps lists; its threads follow it with a dash."""
    for line in text.split("\n"):
        match = _ROW.match(line)
        if match:
            yield int(match[1]), match[2]


def _programs(row: str) -> list[str]:
    """The program of a command line, and what may be the script that it runs."""
    return [word.rpartition("/")[2] for word in row.split(" ", 2)[:2]]


def _from_rows(text: str) -> tuple[dict[int, str], _Tasks]:
    names: dict[int, str] = {}
    tasks: _Tasks = {}
    for pid, row in _rows(text):
        if _IS_QEMU.fullmatch(_programs(row)[0]):
            names[pid] = _name_in(row.split(" "))
        elif _VHOST.fullmatch(row.strip("[]")):
            tasks[pid, pid] = task = _QemuTask()
            task.name = row.strip("[]")
    return names, tasks


def _read(readings: HostReadings) -> dict[str, object]:
    return {"processes": qemus_in(readings)}


FACT = HostFact("processes", _read, commands=(_PS,), script=_SCRIPT)
PROGRAMS = HostFact("programs", script=_NAMED)
"""Programs alone, for facts that need no more of processes."""


# The use of the host.


_GUESTS = (
    "/etc/libvirt/qemu/*.xml",
    "/run/libvirt/qemu/*.xml",
    "/etc/pve/qemu-server/*.conf",
    "/etc/nova/nova-compute.conf",
    "/etc/kolla/nova-compute/nova.conf",
)
_RUN_GUESTS = frozenset({"nova-compute", "virt-handler"})
_HYBRID = ("/sys/class/net/qbr*", "/sys/devices/virtual/net/qbr*/flags")
_FILTERS = frozenset({"dockerd", "kube-proxy"})
_RULES = HostCommand(
    "iptables-save",
    (
        "sos_commands/firewall_tables/iptables_-t_filter_-nvL",
        "sos_commands/firewall_tables/iptables_-vnxL",
    ),
    is_run=False,
)
_RULES_SCRIPT = f"""
physdev() {{ # it would load the kernel's modules where none are; one kind does not see the other's
    case $(limited iptables-save -V 2>/dev/null) in
        *nf_tables*) [ -d /sys/module/nf_tables ] && ! grep -qs . /proc/net/ip_tables_names ;;
        *) [ -e /proc/net/ip_tables_names ] ;;
    esac || return
    rules=$(limited iptables-save 2>/dev/null) || return
    printf '%s\\n' '# read'
    printf '%s\\n' "$rules" | grep -e physdev
    true
}}
fact {_RULES.name} physdev
"""


def _read_uses(readings: HostReadings) -> dict[str, object]:
    found: dict[str, object] = {}
    programs, qemus = programs_of(readings), qemus_in(readings)
    running = programs or frozenset()
    if qemus or running & _RUN_GUESTS or any(readings.texts(each) for each in _GUESTS):
        found["hypervisor"] = True
    elif qemus is not None and programs is not None:
        found["hypervisor"] = False
    rules = readings.output(_RULES.name)
    hybrid = any(readings.texts(each) for each in _HYBRID)
    if running & _FILTERS or hybrid or "physdev" in (rules or "").lower():
        found["bridge_rules"] = True
    elif rules and programs is not None:
        found["bridge_rules"] = False
    return found


USES = HostFact(
    "uses", _read_uses, present=(*_GUESTS, *_HYBRID), commands=(_RULES,), script=_RULES_SCRIPT
)
