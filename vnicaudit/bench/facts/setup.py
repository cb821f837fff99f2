"""Versions and settings of an endpoint that bear on what is measured there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.facts.sections import Section, ask
from vnicaudit.bench.facts.setup_values import title_of, values_of
from vnicaudit.bench.readable import readable
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Setup

_SYSCTLS = (
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_no_metrics_save",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.default_qdisc",
)
_SCRIPT = r"""
address=$1 towards=$2
shift 2
fact kernel uname -r
fact architecture uname -m
fact cpu head -c 8192 /proc/cpuinfo
fact cpus getconf _NPROCESSORS_ONLN
fact governor sort -u /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor
fact virtualization systemd-detect-virt
fact product cat /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name
fact clocksource cat /sys/devices/system/clocksource/clocksource0/current_clocksource
fact iperf3 iperf3 --version
fact dnsperf dnsperf -h
fact python3 python3 --version
for name; do
    fact "$name" cat "/proc/sys/$(printf %s "$name" | tr . /)"
done
if [ -n "$address" ]; then
    device=$(ip -o addr show to "$address" | sed 's/^[0-9]*: *\([^ ]*\) .*/\1/' | sort -u)
elif [ -n "$towards" ]; then
    device=$(ip -o route get "$towards" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
fi 2>/dev/null
case $device in -* | */* | *[[:space:]]*) device= ;; esac
if [ -n "$device" ]; then
    fact nic printf '%s\n' "$device"
    fact nic.driver.of readlink "/sys/class/net/$device/device/driver"
    fact nic.mtu cat "/sys/class/net/$device/mtu"
    fact nic.numa_node cat "/sys/class/net/$device/device/numa_node"
    for letter in i k l g c; do
        fact "ethtool $letter" ethtool "-$letter" "$device"
    done
fi
"""
_MISSING = re.compile(r"(?<!\S)(\S+): (?:command )?not found", re.MULTILINE)


def setup_of(
    endpoint: Endpoint, address: str | None = None, *, towards: str | None = None
) -> Setup:
    """What is found at an endpoint, in one round trip. The NIC is the one that has ``address``, or
    the one on the way ``towards`` an address; without either, none is looked at. What cannot be
    found out is in ``unknown``, with why."""
    try:
        with readable("what was printed"):
            sections = ask(endpoint, _SCRIPT, address or "", towards or "", *_SYSCTLS)
            facts, unknown = described(sections)
    except (EndpointError, MeasureError) as error:
        return Setup(endpoint.url, unknown={"all": str(error)})
    wanted = address or towards
    if wanted is not None and all(section.name != "nic" for section in sections):
        unknown["nic"] = f"no interface there has {wanted}, or is on the way to it"
    return Setup(endpoint.url, facts, unknown)


def described(sections: Sequence[Section]) -> tuple[dict[str, str], dict[str, str]]:
    """Facts of what a script printed, and why others are not known."""
    facts: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for section in sections:
        found = values_of(section)
        facts |= found
        if not found:
            unknown[title_of(section)] = _why(section)
    return facts, {name: why for name, why in unknown.items() if name not in facts}


def _why(section: Section) -> str:
    if section.code is None:
        return "what was printed is too long"
    missing = _MISSING.search(section.text[:500])
    if section.code == 127 and missing is not None:
        return f"{missing[1]} is not installed"
    said = next((line.strip() for line in section.text.splitlines() if line.strip()), "")
    if section.code:
        return said[:200] or f"exit code {section.code}"
    return "not said"
