"""The use of a host: whether it runs guests, and whether something filters bridged frames.

Sources: libvirt keeps definitions in /etc/libvirt/qemu and the state of running guests in
/run/libvirt/qemu; Proxmox VE in /etc/pve/qemu-server. Docker and kube-proxy need
net.bridge.bridge-nf-call-iptables (their documentation), as do Nova's hybrid plug (bridges qbr*)
and rules with the match physdev (iptables-extensions(8)).
"""

from __future__ import annotations

from vnicaudit.platforms.host.facts.processes import programs_of, qemus_in
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings

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
_SCRIPT = f"""
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


def _read(readings: HostReadings) -> dict[str, object]:
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


FACT = HostFact("uses", _read, present=(*_GUESTS, *_HYBRID), commands=(_RULES,), script=_SCRIPT)
