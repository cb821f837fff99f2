"""Messages of the last seven days that tell of lost packets, or of vhost that is missing.

Sources: ``NAME: dropped over-mtu packet: N > M`` of net/openvswitch/vport.c, ``nf_conntrack: table
full`` of net/netfilter/nf_conntrack_core.c (both in Linux), ``Unable to open vhost-net`` of
libvirt's qemu_interface.c. The kernel writes such messages at a limited rate: there may be more.
"""

from __future__ import annotations

import re
from datetime import datetime

from vnicaudit.model.host_facts import KernelLog
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings

_DAYS = 7
_DAY = 86400.0
_NEEDLES = ("dropped over-mtu packet", "nf_conntrack: table full", "Unable to open vhost-net")
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
wanted() {{ sed -n -e 1p -e '/{_NEEDLES[0]}/p' -e '/{_NEEDLES[1]}/p' -e '/{_NEEDLES[2]}/p'; }}
kernel_log() {{
    set -- _TRANSPORT=kernel + _COMM=libvirtd + _COMM=virtqemud
    limited journalctl -q --no-pager -o short-unix --since=-{_DAYS}days "$@" 2>/dev/null |
        wanted | tail -n 5000 | grep . || dmesg 2>/dev/null | wanted | tail -n 5000 | grep .
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
    counts = dict.fromkeys(_NEEDLES, 0)
    for line in lines:
        needle = next((each for each in _NEEDLES if each in line), None)
        if needle is None or _age(_time(line), last) > _DAYS * _DAY:
            continue
        counts[needle] += 1
        match = _OVER_MTU.search(line)
        if match:
            over_mtu[match[1]] = over_mtu.get(match[1], 0) + 1
    return {
        "log": KernelLog(
            over_mtu=over_mtu,
            conntrack_full=counts[_NEEDLES[1]],
            vhost_missing=counts[_NEEDLES[2]],
        )
    }


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
