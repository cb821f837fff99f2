"""Every layer that affects one NIC, and its settings."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.audit.explain.openstack import nova_layers, placed, without_definition
from vnicaudit.model.domain import Domain, Server, StagedNic
from vnicaudit.model.effective import Effective
from vnicaudit.model.explanation import Layer, LayerFact
from vnicaudit.model.host import HostConfig
from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.nic import Nic

_FACTS = ("model", "driver_name", "queues", "rx_queue_size", "tx_queue_size")
"""Declared fields that decide the five effective facts, in display order."""

_EFFECTIVE = {"driver_name": "vhost"}
"""Declared field -> effective fact, where the names differ."""


def layers(
    domain: Domain, nic: Nic, host: HostConfig, effective: Effective, title: str
) -> Iterator[Layer]:
    """Every layer that affects the NIC, the one furthest from the guest first. ``title``: the title
    of the definition's layer."""
    yield from nova_layers(domain, nic, effective)
    if isinstance(domain, Server):
        yield without_definition(domain)
    else:
        yield _definition(domain, nic, effective, title)
    staged = next((change for change in domain.pending.staged if change.mac == nic.mac), None)
    if staged is not None:
        yield _persistent(staged)
    manifest = domain.declared.manifest
    if manifest is not None and manifest.preference is not None:
        yield _preference(manifest)
    if domain.declared.is_definition and nic.declared.type == "network":
        yield _network(nic)
    yield _qemu(domain, nic, effective)
    yield _host(domain, host)


def _definition(domain: Domain, nic: Nic, effective: Effective, title: str) -> Layer:
    facts = [LayerFact("type", nic.declared.type)]
    if nic.declared.type == "direct":
        facts.append(_macvtap_mode(nic.declared.source_mode))
    if nic.wiring is not None:
        facts = [LayerFact("wiring", nic.wiring)]
    manifest = domain.declared.manifest
    if manifest is not None and manifest.multiqueue is not None:
        facts.append(LayerFact("multiqueue", "on" if manifest.multiqueue else "off"))
    for field in _FACTS:
        value = getattr(nic.declared, field)
        if value is None:
            continue
        resolved = getattr(effective, _EFFECTIVE.get(field, field))
        wins = nic.running is None and resolved.effective is not None
        wins = wins and resolved.declared == resolved.effective
        facts.append(LayerFact(field, str(value), wins, "" if wins else resolved.reason))
    facts.extend(
        LayerFact(field, text, note="libvirt refuses this value")
        for field, text in nic.declared.invalid
    )
    return Layer(title, str(nic.location), tuple(facts))


def _macvtap_mode(mode: str | None) -> LayerFact:
    """``VIR_NETDEV_MACVLAN_MODE_DEFAULT`` of libvirt is vepa, which it writes where ``mode=`` is
    missing (measured with 9.0)."""
    note = "guests of one host meet only if the switch reflects frames"
    if mode is None:
        note = f"libvirt's default: {note}"
    elif mode != "vepa":
        note = ""
    return LayerFact("mode", mode or "vepa", note=note)


def _preference(manifest: Manifest) -> Layer:
    """Layer of the preference that a manifest refers to; marked missing if it was not read."""
    name = f"Preference {manifest.preference}"
    if not manifest.preference_read:
        return Layer(name, missing="the preference itself, in the same folder, would show it")
    facts = []
    if manifest.preferred_model is not None:
        facts.append(LayerFact("model", manifest.preferred_model))
    return Layer(name, None, tuple(facts))


def _persistent(staged: StagedNic) -> Layer:
    if staged.gone:
        fact = LayerFact("NIC", "none", note="it is gone after the next power cycle")
        return Layer("Persistent definition", None, (fact,))
    facts = tuple(
        LayerFact(
            field, after or "none", note=f"from the next cold start on; now {before or 'none'}"
        )
        for field, before, after in staged.fields
    )
    return Layer("Persistent definition", None, facts)


def _network(nic: Nic) -> Layer:
    name = f"Network {nic.source}" if nic.source else "Network"
    if nic.declared.actual_type is None:
        return Layer(name, missing="the network's definition, from a live libvirt, would show it")
    fact = LayerFact("type", nic.declared.actual_type, wins=True)
    return Layer(name, None, (fact,))


def _qemu(domain: Domain, nic: Nic, effective: Effective) -> Layer:
    running = nic.running
    if running is None:
        return Layer("QEMU", missing=_not_seen(domain))
    facts = [LayerFact("model", running.driver, wins=effective.model.effective is not None)]
    for field in ("backend", "vhost", "queues", "rx_queue_size", "tx_queue_size", "mtu"):
        value = getattr(running, field)
        if value is None:
            continue
        text = ("on" if value else "off") if isinstance(value, bool) else str(value)
        resolved = getattr(effective, field, None)
        note = running.evidence if field == "vhost" else ""
        wins = resolved is not None and resolved.effective == value
        facts.append(LayerFact(field, text, wins, note))
    return Layer("QEMU", None, tuple(facts))


def _not_seen(domain: Domain) -> str:
    if domain.state is not None and domain.state.active is False:
        return "the domain is shut off"
    if domain.live is not None and domain.live.joined:
        return (
            "it is not on the command line that QEMU was started with, usually because it was "
            "attached later; QEMU's monitor would show it"
        )
    if domain.declared.manifest is not None:
        return "a manifest is not what runs: virsh dumpxml in the virt-launcher pod would show it"
    return "no process or log of it was read (/proc on the hypervisor has it)"


def _host(domain: Domain, host: HostConfig) -> Layer:
    facts = list(placed(domain))
    for field in msgspec.structs.fields(HostConfig):
        value = getattr(host, field.name)
        if field.name in ("assumed", "vhost_paths", "vdpa_drivers") or value is None:
            continue
        note = "assumed" if host.assumed and field.name.endswith("_version") else ""
        text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        facts.append(LayerFact(field.name, text, note=note))
    if not facts:
        return Layer("Host", missing="needs a live connection on the hypervisor itself")
    return Layer("Host", None, tuple(facts))
