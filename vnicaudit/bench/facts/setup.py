"""Versions and settings of an endpoint that affect measurements there; for a hypervisor, also those
that affect one guest's traffic.

The values in a section of a setup script, by name; those of ``ethtool`` in its text form.

The text is read, and not ``--json``: 5.9 accepts that option and prints text, 6.1 refuses it for
rings, channels and coalescing, 6.14 still does for channels and for the driver
(tests/bench/facts/data). The text is the same in all of these versions, and in older ones.

Only complete lines count; ``n/a`` is left out: the driver does not have that value.

Differences in a NIC's link and offloads between two checks of one end, apart from the change
that is measured.

If the target's NIC got another driver, that is the change: its offloads, queues, rings and speed
are then the new driver's, and only its MTU is reported. The NICs of the peer and the hypervisor are
not meant to change at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vnicaudit.bench.contract import Endpoint, readable
from vnicaudit.bench.facts.guest_process import GuestProcess
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import Setup
from vnicaudit.reaching.sections import ask

_ADAPTIVE = re.compile(r"^Adaptive RX: (\S+)  TX: (\S+)[ \t]*$", re.MULTILINE)
_NOW = "Current hardware settings:\n"


def _pairs(text: str) -> dict[str, str]:
    """``name: value`` lines with a value."""
    halves = (line.partition(":") for line in text.split("\n")[:-1])
    pairs = ((name.strip(), value.strip()) for name, _colon, value in halves)
    return {name: value for name, value in pairs if name and value not in ("n/a", "")}


_FEATURES = (
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
    "tx-udp-segmentation",
    "rx-gro-hw",
    "rx-udp-gro-forwarding",
    "tx-udp_tnl-segmentation",
    "tx-udp_tnl-csum-segmentation",
)
_COALESCING = ("adaptive-rx", "adaptive-tx", "rx-usecs", "rx-frames", "tx-usecs", "tx-frames")
_SIZES = ("RX", "TX", "Combined")
_DRIVER = {
    "driver": "nic.driver",
    "version": "nic.driver_version",
    "firmware-version": "nic.firmware",
}
_ETHTOOL: dict[str, tuple[str, dict[str, str]]] = {
    "i": ("nic.driver", _DRIVER),
    "k": ("nic.offload", {name: f"nic.offload.{name}" for name in _FEATURES}),
    "l": ("nic.channels", {name: f"nic.channels.{name.lower()}" for name in _SIZES}),
    "g": ("nic.rings", {name: f"nic.rings.{name.lower()}" for name in _SIZES}),
    "c": ("nic.coalescing", {name: f"nic.coalescing.{name}" for name in _COALESCING}),
}
"""Option of ethtool -> what it tells, and the name of each of its values that is a fact."""
_VALUES = {
    "iperf3": r"^iperf (\S+)",
    "dnsperf": r"^Version (\S+)",
    "python3": r"^Python (\S+)",
    "qemu": r"^QEMU emulator version (\S+)",
    "libvirt": r"(\S+)\s*\Z",
    "nic.driver.of": r"([^/\s]+)\s*\Z",
}
"""Section -> where its value is; in the others it is the whole text."""
_MODEL = re.compile(r"^(?:model name|cpu)[ \t]*:[ \t]*(\S[^\n]*)\n", re.MULTILINE)
_Z = re.compile(r"^vendor_id[ \t]*: IBM/S390$", re.MULTILINE)
_Z_MACHINE = re.compile(r"machine = (\w+)\n")
_ARM = re.compile(r"^CPU (implementer|part)[ \t]*: (0x[0-9a-f]+)\n", re.MULTILINE)
_LONGEST = 500

Values = dict[str, str]


def values_of(section: Section) -> Values:
    """Values in a section, by name; empty if the command failed or printed nothing. A command that
    fails may still have printed them: ``systemd-detect-virt`` ends with 1 for ``none``."""
    if section.code != 0 and not (section.name == "virtualization" and section.code == 1):
        return {}
    kind, _space, option = section.name.partition(" ")
    if kind == "ethtool":
        values = ethtool_values(option, section.text)
    elif kind == "cpu":
        values = cpu_model(section.text)
    elif kind in _VALUES:
        found = re.search(_VALUES[kind], section.text, re.MULTILINE)
        values = {title_of(section): found[1] if found else ""}
    else:
        values = {kind: " ".join(section.text.split())}
    return {name: value[:_LONGEST] for name, value in values.items() if value}


def title_of(section: Section) -> str:
    """The name of the fact that is unknown if a section is empty."""
    kind, _space, option = section.name.partition(" ")
    return _ETHTOOL[option][0] if kind == "ethtool" else kind.removesuffix(".of")


def cpu_model(text: str) -> Values:
    """``/proc/cpuinfo``: x86 and POWER name the model, Z has a machine type, Arm has numbers."""
    named = _MODEL.search(text)
    if named is not None:
        return {"cpu": named[1]}
    vendor = _Z.search(text)
    machine = None if vendor is None else _Z_MACHINE.search(text, vendor.end())
    if machine is not None:
        return {"cpu": f"IBM/S390 machine {machine[1]}"}
    numbers = dict(_ARM.findall(text))
    return {"cpu": " ".join(f"{name} {value}" for name, value in numbers.items())}


def ethtool_values(option: str, text: str) -> Values:
    """The facts in the output of ``ethtool`` with one of these options: for channels and rings the
    present ones, which follow the highest possible."""
    if option in ("l", "g"):
        text = text.partition(_NOW)[2]
    found = _pairs(_ADAPTIVE.sub(r"adaptive-rx: \1\nadaptive-tx: \2", text))
    _title, names = _ETHTOOL[option]
    return {fact: found[name] for name, fact in names.items() if name in found}


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
tunnels() { # on which packets between nodes may leave
    found=$(ip -o link show type geneve && ip -o link show type vxlan) || return
    [ -n "$found" ] || found=none
    printf '%s\n' "$found" | sed 's/^[0-9]*: *\([^ :@]*\).*/\1/' | head -n 16
}
fact tunnels tunnels
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
    fact nic.speed cat "/sys/class/net/$device/speed"
    fact nic.duplex cat "/sys/class/net/$device/duplex"
    fact nic.numa_node cat "/sys/class/net/$device/device/numa_node"
    for letter in i k l g c; do
        fact "ethtool $letter" ethtool "-$letter" "$device"
    done
fi
"""
_MISSING = re.compile(r"(?<!\S)(\S+): (?:command )?not found", re.MULTILINE)
_NO_FILE = re.compile(r"(?<![^ '])(/[^ ':]{1,200})'?: No such file or directory$")


def setup_of(
    endpoint: Endpoint, address: str | None = None, *, towards: str | None = None
) -> Setup:
    """Versions and settings of an endpoint, read in one round trip. The NIC is the one that has
    ``address``, or the one on the way ``towards`` an address; without either, no NIC is read. Facts
    that cannot be determined are in ``unknown``, with the reason."""
    try:
        with readable("what was printed"):
            sections = ask(endpoint, _SCRIPT, address or "", towards or "", *_SYSCTLS)
            facts, unknown = facts_and_reasons(sections)
    except (EndpointError, MeasureError) as error:
        return Setup(endpoint.url, unknown={"all": str(error)})
    wanted = address or towards
    if wanted is not None and all(section.name != "nic" for section in sections):
        unknown["nic"] = f"no interface there has {wanted}, or leads to it"
    return Setup(endpoint.url, facts, unknown)


def facts_and_reasons(sections: Sequence[Section]) -> tuple[dict[str, str], dict[str, str]]:
    """Facts in the output of a script, and why others are unknown."""
    facts: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for section in sections:
        found = values_of(section)
        facts |= found
        if not found:
            unknown[title_of(section)] = _why_unknown(section)
    return facts, {name: why for name, why in unknown.items() if name not in facts}


def _why_unknown(section: Section) -> str:
    if section.code is None:
        return "its output is too long"
    missing = _MISSING.search(section.text[:500])
    if section.code == 127 and missing is not None:
        return f"{missing[1]} is not installed"
    said = next((line.strip() for line in section.text.splitlines() if line.strip()), "")
    if no_file := _NO_FILE.search(said[:500]):
        return f"there is no {no_file[1]}"
    if section.code:
        return said[:200] or f"exit code {section.code}"
    return "not said"


_HOST_SCRIPT = r"""
program=$(readlink "/proc/$1/exe")
case $program in
    # a link that a user made could lead anywhere: only what the system has is started
    /usr/bin/* | /usr/libexec/* | /usr/lib/*)
        case $program in
            *" (deleted)") ;;
            *) fact qemu "$program" --version ;;
        esac ;;
esac
for daemon in libvirtd virtqemud; do
    command -v "$daemon" >/dev/null && fact libvirt "$daemon" --version && break
done
"""


def host_setup_of(endpoint: Endpoint, guest: GuestProcess | None) -> Setup:
    """Versions and settings of a hypervisor, and the versions of libvirt and of one guest's QEMU;
    ``guest`` None: it was not found."""
    base = setup_of(endpoint)
    if guest is None:
        why = "the QEMU of that domain was not found"
        return Setup(endpoint.url, base.facts, {**base.unknown, "qemu": why})
    try:
        with readable("what was printed"):
            facts, unknown = facts_and_reasons(ask(endpoint, _HOST_SCRIPT, str(guest.pid)))
    except (EndpointError, MeasureError) as error:
        facts, unknown = {}, {"qemu": str(error)}
    for name in ("qemu", "libvirt"):
        if name not in facts:
            unknown.setdefault(name, "its program is not in a system folder")
    return Setup(endpoint.url, {**base.facts, **facts}, {**base.unknown, **unknown})


def link_changes(first: Setup, later: Setup, *, changed_here: bool) -> tuple[str, ...]:
    """``nic.mtu changed from 1500 to 9000``: one for each difference in facts known at both checks.
    ``changed_here``: it is the target, whose NIC may be the subject of the change."""
    was, now = first.facts, later.facts
    names = [name for name in sorted(was.keys() & now.keys()) if name.partition(".")[0] == "nic"]
    if changed_here and was.get("nic.driver") != now.get("nic.driver"):
        names = [name for name in names if name == "nic.mtu"]
    return tuple(
        f"{name} changed from {was[name]} to {now[name]}"
        for name in names
        if was[name] != now[name] and name != "nic.numa_node"
    )
