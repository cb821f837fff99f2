"""Places to look next if a NIC is slow and nothing is wrong in its definition: in the guest, on the
host, along the path, and a measurement. Only what is not known yet."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from urllib.parse import quote

from vnicaudit.knowledge.systems import LINUX, WINDOWS, system_of
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.nic import UNKNOWN, Effective, Nic
from vnicaudit.model.report import NextCheck

_LOCAL = "qemu:///system"
_TAPS = ("bridge", "network", "ethernet", "direct")
_IP_AND_ICMP = 28
"""Bytes of a ping before its data, without a VLAN tag."""
_SIMPLE = r"\w[\w.-]{0,63}"


def next_checks(domain: Domain, nic: Nic, effective: Effective, target: str) -> Iterator[NextCheck]:
    """At most ten. ``target``: where the domain was read. Of an emulated NIC only the measurement:
    its model is what makes it slow. Nothing of one that does not start."""
    if not effective.starts:
        return
    family = system_of(domain).family
    if effective.model.effective in VIRTIO or nic.declared.type == "hostdev":
        yield from _in_guest(domain, effective, family)
        if domain.declared.is_definition and _type(nic) in _TAPS:
            yield from _on_host(nic, effective)
        yield _full_frame(nic, family)
    yield _measurement(domain, target, family)


def _in_guest(domain: Domain, effective: Effective, family: str | None) -> Iterator[NextCheck]:
    """NetKVM spreads load by RSS, up to ``*NumRssQueues`` (virtio-win, NetKVM/wlh/netkvm.inf)."""
    queues = effective.queues.effective
    wanted = "as many as the NIC has" if queues is None else str(queues)
    if family == WINDOWS:
        version = "Get-NetAdapter | Format-List Name, DriverVersion"
        yield NextCheck("guest", version, "NetKVM is a recent one of virtio-win")
        if queues != 1:
            look = f"RSS is enabled, NumberOfReceiveQueues is {wanted}"
            yield NextCheck("guest", "Get-NetAdapterRss", look)
    if family not in (LINUX, None):
        return
    if queues != 1:
        yield NextCheck("guest", "ethtool -l IFACE", f"Combined, in use, is {wanted}")
    yield NextCheck("guest", "ethtool -k IFACE", "checksumming, segmentation, GRO are on")
    if domain.state is None or domain.state.guest_kernel is None:
        yield NextCheck("guest", "uname -r; ethtool -i IFACE", "which driver, how old")


def _on_host(nic: Nic, effective: Effective) -> Iterator[NextCheck]:
    tap = _word(nic.target_dev, "TAP")
    uplink = _word(nic.source, "UPLINK") if _type(nic) == "direct" else "UPLINK"
    if effective.vhost.state == UNKNOWN and nic.mac is not None:
        command = f"vnicaudit explain {_LOCAL} --nic {shlex.quote(nic.mac)}"
        yield NextCheck("host", command, "as root on its host: vhost")
    elif effective.vhost.effective:
        command = "ps -eLo pcpu,psr,comm | grep vhost-"
        yield NextCheck("host", command, "no vhost thread fills its CPU")
    steering = f"grep . /sys/class/net/{tap}/queues/rx-*/rps_cpus"
    yield NextCheck("host", steering, "steering: CPUs per queue")
    yield NextCheck("host", f"ethtool -k {uplink}", "segmentation and GRO are on")
    if nic.path is None or None in (nic.path.tap, nic.path.uplink):
        is_bridge = nic.declared.type == "bridge" and nic.source is not None
        which = f"master {_word(nic.source, 'BRIDGE')}" if is_bridge else uplink
        yield NextCheck("path", f"ip link show {which}", "tap and uplink have the same MTU")


def _full_frame(nic: Nic, family: str | None) -> NextCheck:
    running = None if nic.running is None else nic.running.mtu
    size = (running or nic.declared.mtu or 1500) - _IP_AND_ICMP
    command = f"ping -f -l {size} PEER" if family == WINDOWS else f"ping -M do -s {size} PEER"
    return NextCheck("path", command, "in the guest: a full frame gets through")


def _measurement(domain: Domain, target: str, family: str | None) -> NextCheck:
    if family == WINDOWS:
        return NextCheck("measure", "iperf3 -c PEER -P 4", "in the guest; then with -R")
    end = "ssh://root@GUEST"
    name = domain.name if re.fullmatch(_SIMPLE, domain.name, re.ASCII) else domain.uuid
    has_agent = domain.live is not None and domain.live.state.agent is not False
    if has_agent and target.startswith(("qemu:", "qemu+")) and name is not None:
        end = f"agent://{name}"
        if target != _LOCAL:
            end += f"?connect={quote(target, safe=':/+@')}"
    command = f"vnicaudit bench run {shlex.quote(end + ',ssh://root@PEER')} --profile quick"
    return NextCheck("measure", command, "PEER: another machine")


def _type(nic: Nic) -> str:
    return nic.declared.actual_type or nic.declared.type


def _word(name: str | None, placeholder: str) -> str:
    """The name of an interface; the placeholder if there is none or it is odd."""
    return name if name is not None and re.fullmatch(_SIMPLE, name, re.ASCII) else placeholder
