"""Messages of the last seven days that tell of lost packets.

Sources: ``NAME: dropped over-mtu packet: N > M`` of net/openvswitch/vport.c, ``nf_conntrack: table
full, dropping packet`` of net/netfilter/nf_conntrack_core.c (Linux; with its own name before it
once more). The kernel writes such messages at a limited rate: there may be more. ``Unable to open
vhost-net`` is not one of them: libvirt writes it to its own log, and for a guest that it does not
name (qemuInterfaceOpenVhostNet in src/qemu/qemu_interface.c).
"""

from __future__ import annotations

import re
from datetime import datetime

from vnicaudit.model.host_facts import KernelLog
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings

_DAYS = 7
_DAY = 86400.0
_NEEDLE = "dropped over-mtu packet"
_FULL = "nf_conntrack: table full, dropping packet"
_LOG = HostCommand(
    "kernel-log",
    (
        "var/log/kern.log",
        "var/log/messages",
        "sos_commands/logs/journalctl_--no-pager",
        "sos_commands/logs/journalctl_--no-pager_--boot",
        "sos_commands/kernel/dmesg",
    ),
    is_run=False,
)
_SCRIPT = rf"""
wanted() {{ # of several messages of a full table in a row only the last
    sed -n -e '1{{p;d;}}' -e '/{_FULL}/h' -e '/{_NEEDLE}/{{x;/./p;s/.*//;x;p;}}' -e '${{x;/./p;}}'
}}
kernel_log() {{
    limited journalctl -q --no-pager -o short-unix --since=-{_DAYS}days \
        _TRANSPORT=kernel 2>/dev/null |
        wanted | tail -n 5000 | grep . && return
    dmesg 2>/dev/null | wanted | tail -n 5000 | grep . || return
    sed 's/ .*//; s/.*/[&] now/' /proc/uptime # dmesg also has older messages
}}
fact {_LOG.name} kernel_log
"""
_OVER_MTU = re.compile(r"(?:^|\s)([^\s:]{1,15}): dropped over-mtu packet")
_UNIX = re.compile(r"(\d{9,11}\.\d+) ")
_SINCE_BOOT = re.compile(r"\[ *(\d{1,10}\.\d+)\]")
_SYSLOG = re.compile(r"([A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d) ")
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")


def _read(readings: HostReadings) -> dict[str, object]:
    text = readings.output(_LOG.name)
    if not text or not text.strip():
        return {}
    lines = text.split("\n")
    last = next((time for line in reversed(lines[-100:]) if (time := _time(line)) is not None), 0.0)
    over_mtu: dict[str, int] = {}
    recent = (
        line for line in lines
        if (_NEEDLE in line or _FULL in line) and _age(_time(line), last) <= _DAYS * _DAY
    )  # fmt: skip
    full = False
    for line in recent:
        full |= _FULL in line
        if match := _OVER_MTU.search(line):
            over_mtu[match[1]] = over_mtu.get(match[1], 0) + 1
    return {"log": KernelLog(over_mtu=over_mtu, conntrack_full=full)}


def _age(time: float | None, last: float) -> float:
    """Seconds before the last message. Syslog has no years: what would be later is of the last."""
    if time is None:
        return 0
    return last - time if time <= last + _DAY else last + 366 * _DAY - time


def _time(line: str) -> float | None:
    """When a message was written, in seconds since some time that is the same for the whole log."""
    for expression in (_UNIX, _SINCE_BOOT):
        match = expression.match(line)
        if match:
            return float(match[1])
    iso, syslog = _ISO.match(line), _SYSLOG.match(line)
    try:
        if iso:
            return (datetime.fromisoformat(iso[0]) - datetime(2000, 1, 1)).total_seconds()
        if syslog:
            time = datetime.strptime(f"2000 {syslog[1]}", "%Y %b %d %H:%M:%S")
            return (time - datetime(2000, 1, 1)).total_seconds()
    except ValueError:
        pass
    return None


FACT = HostFact("kernel-log", _read, commands=(_LOG,), script=_SCRIPT)
