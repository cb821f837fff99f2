"""Compare the running definition with the persistent one: which changes wait for a power cycle.

NICs are matched by MAC; a MAC that occurs twice is no match. A NIC that was removed from the
persistent definition and one that was plugged in live look the same: only the running definition
has it. libvirt separates the two definitions on purpose (VIR_DOMAIN_AFFECT_LIVE and
VIR_DOMAIN_AFFECT_CONFIG, virDomainAttachDeviceFlags).

The comparison covers settings that libvirt never changes by itself while a guest runs. It leaves
out addresses and aliases (assigned at start), target devices, link state and bandwidth (changed
live without power cycle), and values that a network or its portgroup provides when the guest
starts.
"""

from __future__ import annotations

from collections import Counter

from vnicaudit.model.domain import Domain, PendingChanges, StagedNic
from vnicaudit.model.finding import rewritten_by
from vnicaudit.model.nic import Nic, NicConfig

_FIELDS = (
    "model", "driver_name", "queues", "rx_queue_size", "tx_queue_size", "mtu", "txmode",
    "ioeventfd", "event_idx", "rss", "rss_hash_report", "iommu", "ats", "packed", "page_per_vq",
    "host_off", "guest_off", "backend_type", "backend_vhost",
)  # fmt: skip
_UNSET = ""


def pending(running: Domain, persistent: Domain) -> PendingChanges:
    """The changes of a running guest that wait for its next start."""
    return PendingChanges(staged(running, persistent), coming(running, persistent))


def staged(running: Domain, persistent: Domain) -> tuple[StagedNic, ...]:
    """The running NICs whose persistent definition differs, in order; then those that it lacks."""
    later = _by_mac(persistent)
    found = []
    for mac, nic in _by_mac(running).items():
        other = later.get(mac)
        fields = _differences(nic.declared, other.declared) if other is not None else ()
        if other is not None and fields:
            found.append(StagedNic(mac, fields, other.declared))
    found += [StagedNic(mac, gone=True) for mac in _only(running, persistent)]
    return tuple(found)


def coming(running: Domain, persistent: Domain) -> tuple[str, ...]:
    """MACs of the NICs that only the persistent definition has, in order."""
    return tuple(_only(persistent, running))


def _only(one: Domain, other: Domain) -> list[str]:
    """MACs of NICs that ``one`` has and ``other`` lacks. Empty if that is uncertain (an interface
    without MAC might be any of them) or says nothing about the next start: oVirt, for one, plugs in
    NICs only live (vdsm, ``Vm.hotplugNic``)."""
    # libvirt assigns a MAC to each interface, but not to a <hostdev>
    uncertain = any(nic.mac is None and nic.declared.origin == "interface" for nic in other.nics)
    if uncertain or rewritten_by(one.declared.owner):
        return []
    there = {nic.mac for nic in other.nics}
    return [mac for mac in _by_mac(one) if mac not in there]


def _by_mac(domain: Domain) -> dict[str, Nic]:
    counts = Counter(nic.mac for nic in domain.nics)
    return {nic.mac: nic for nic in domain.nics if nic.mac is not None and counts[nic.mac] == 1}


def _differences(now: NicConfig, later: NicConfig) -> tuple[tuple[str, str, str], ...]:
    if now == later:
        return ()
    # a running NIC on a network shows the actual type instead (bridge, direct, hostdev)
    comparable = "network" not in (now.type, later.type)
    pairs = [("type", now.type, later.type)] if comparable else []
    pairs += [(name, _text(now, name), _text(later, name)) for name in _FIELDS]
    return tuple(
        (name, old, new)
        for name, old, new in pairs
        if old != new and (name, new) != ("mtu", _UNSET)  # it may come from the bridge
    )


def _text(config: NicConfig, name: str) -> str:
    value = getattr(config, name)
    if value is None:
        return _UNSET
    return " ".join(value) if isinstance(value, tuple) else str(value)
