"""Every layer that affects one NIC, and its settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.knowledge.nova_releases import may_have_overrides
from vnicaudit.model.domain import Domain, Server, StagedNic
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.host import HostConfig
from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.nic import Effective, Nic
from vnicaudit.model.openstack import (
    FLAVOR_WORDS,
    MODEL,
    MULTIQUEUE,
    PACKED,
    NodeFacts,
    PortBinding,
    ServerConfig,
    as_flag,
    normal_vif_model,
)
from vnicaudit.model.report import Layer, LayerFact

if TYPE_CHECKING:
    from vnicaudit.model.cluster import ClusterGuest, LaunchedDomain, RecordedReference

# The layers of OpenStack: flavor, image, nova.conf of the host, stored properties, and the port.
#
# Precedence: a server gets the image properties that Nova stored when it was created, not the
# image's present ones (Nova 34.0.0, ``virt/libvirt/driver.py``
# ``_register_undefined_instance_details``), and the flavor it was created with; from nova.conf, the
# values on its host at the server's next start.


_PROPERTIES = (
    MODEL, MULTIQUEUE, PACKED, "hw_mem_page_size", "hw_machine_type", "hw_architecture",
    "os_distro", "os_type",
)  # fmt: skip
"""Properties of an image, or stored for a server, that affect NICs, in display order."""

_SPECS = ("hw:vif_multiqueue_enabled", "hw:virtio_packed_ring", "hw:mem_page_size", "quota:vif_")
"""Prefixes of extra specs that affect NICs."""

_SET = "nova-manage image_property set may have changed it (image_property show would show it)"

_MULTIQUEUE = (MULTIQUEUE, FLAVOR_WORDS[MULTIQUEUE])
_PACKED = (PACKED, FLAVOR_WORDS[PACKED])

_IMAGES = {
    "gone": "it was deleted; Nova uses the properties it kept",
    "volume": "the server boots from a volume, and Nova names no image",
    "unseen": "this user may not see it; its owner or an admin can",
}


def nova_layers(domain: Domain, nic: Nic, effective: Effective) -> Iterator[Layer]:
    """The layers that OpenStack adds to a NIC; none for a NIC that is not a server's, or whose
    cloud was not read."""
    server = domain.declared.server
    if server is None:
        return
    layers = _Layers(domain, nic, effective, server)
    yield layers.flavor()
    yield layers.image()
    yield layers.node()
    yield layers.stored_properties()
    yield layers.port()


def without_definition(server: Server) -> Layer:
    """The layer of libvirt's definition, if only the cloud was read."""
    host = server.cloud.host
    if server.config.status.startswith("SHELVED"):
        missing = "it is shelved: Nova makes a definition when it is unshelved"
    elif host is None:
        missing = (
            "add its host as a target, qemu+ssh://HOST/system; Nova shows only admins which host "
            "that is"
        )
    else:
        missing = f"add its host as a target: qemu+ssh://{host}/system"
    return Layer("libvirt definition", missing=missing)


def placed(domain: Domain) -> Iterator[LayerFact]:
    """The place of a server's host in its cloud, as far as this user may see it; nothing for a
    guest that is not a server."""
    server = domain.cloud
    if server is None:
        return
    if server.zone:
        yield LayerFact("availability_zone", server.zone)
    for aggregate in server.aggregates:
        said = ", ".join(f"{key}={value}" for key, value in aggregate.metadata)
        yield LayerFact("aggregate", aggregate.name, note=said)


class _Layers:
    """The OpenStack layers for one NIC of one server. ``alone``: only its cloud was read, so the
    winning value is here."""

    def __init__(
        self, domain: Domain, nic: Nic, effective: Effective, server: ServerConfig
    ) -> None:
        self._domain = domain
        self._nic = nic
        self._effective = effective
        self._server = server
        self._alone = isinstance(domain, Server)

    def flavor(self) -> Layer:
        """Layer of the server's flavor: its vCPUs and the extra specs that concern NICs."""
        flavor = self._server.flavor
        if flavor is None:
            return Layer("Flavor", missing="this user may not see it; an admin can")
        facts = [] if flavor.vcpus is None else [LayerFact("vcpus", str(flavor.vcpus))]
        facts.extend(
            LayerFact(found.name, found.value, self._decides(found.name, found.value))
            for found in flavor.properties
            if found.name.startswith(_SPECS)
        )
        return Layer(f"Flavor {flavor.name}", str(flavor.location), tuple(facts))

    def image(self) -> Layer:
        """Layer of the server's image as it is now, which counts only if unchanged since the server
        was created."""
        image = self._server.image
        if image is None:
            return Layer("Image", missing=_IMAGES.get(self._server.image_state, _IMAGES["unseen"]))
        known = ((name, image.certain_value(name)) for name in _PROPERTIES)
        facts = tuple(self._of_image(name, value) for name, value in known if value is not None)
        return Layer(f"Image {image.name}", str(image.location), facts)

    def node(self) -> Layer:
        """Layer of nova.conf of its host."""
        who = self._domain.cloud
        host = None if who is None else who.host
        name = f"nova.conf of {host}" if host else "nova.conf of its host"
        node = self._server.node
        if node is not None:
            facts = tuple(self._option(node, option) for option, _value in node.values)
            return Layer(name, node.file, facts)
        if host is None:
            return Layer(name, missing="Nova shows only admins which host that is")
        missing = (
            f"add nova.conf of {host} as a target, with [DEFAULT] host in it, or in a folder "
            "named after the host"
        )
        return Layer(name, missing=(who and who.unjoined) or missing)

    def stored_properties(self) -> Layer:
        """Layer of the image properties that Nova has stored since the server was created."""
        name, place = "What Nova keeps", self._place()
        if self._server.properties_source == "unseen":
            return Layer(name, place, missing=self._unseen())
        known = ((name, self._server.property(name)) for name in _PROPERTIES)
        facts = tuple(self._keeps(name, value) for name, value in known if value is not None)
        if self._server.properties_source == "api" and self._server.property(MODEL) is None:
            facts = (LayerFact(MODEL, "none", note=self._decided_anew()), *facts)
        if self._server.properties_source == "image":
            name += ", taken from its image, which has not changed since"
        return Layer(name, place, facts)

    def port(self) -> Layer:
        """Layer of the port and its binding by Neutron."""
        binding = self._binding()
        name = f"Port {self._nic.source}" if self._alone and self._nic.source else "Port"
        if binding == PortBinding():
            return Layer(name, self._place(), missing="Neutron shows only admins how it is bound")
        facts = [
            LayerFact(word, value)
            for word, value in (
                ("vnic_type", binding.vnic_type),
                ("vif_type", binding.vif_type),
                ("datapath_type", binding.datapath),
            )
            if value
        ]
        if binding.hybrid is not None:
            facts.append(LayerFact("ovs_hybrid_plug", "yes" if binding.hybrid else "no"))
        return Layer(name, self._place(), tuple(facts))

    def _of_image(self, name: str, value: str) -> LayerFact:
        kept = self._server.property(name)
        if self._server.properties_source != "api" or kept == value:
            return LayerFact(name, value)
        note = f"for new servers; Nova keeps {'none' if kept is None else kept} for this one"
        return LayerFact(name, value, note=note)

    def _option(self, node: NodeFacts, option: str) -> LayerFact:
        value = node.value(option) or ""
        wins = self._alone and self._option_decides(option, value)
        return LayerFact(option, value or "not set", wins, self._later(option, value))

    def _later(self, option: str, value: str) -> str:
        """Note on a ring size that the next hard reboot changes because libvirt and nova.conf
        differ; empty without one. Nova writes ring sizes for virtio, the transmit ring for
        vhost-user only."""
        nic = self._nic.declared
        rings = {"rx_queue_size": nic.rx_queue_size}
        if nic.actual_type == "vhostuser":
            rings["tx_queue_size"] = nic.tx_queue_size
        if self._alone or option not in rings or nic.model not in VIRTIO:
            return ""
        has, writes = str(rings[option] or "none"), value or "none"
        return "" if has == writes else f"libvirt has {has}: the next hard reboot writes {writes}"

    def _option_decides(self, option: str, value: str) -> bool:
        """True if an option of nova.conf decides the value that the guest gets."""
        effective = self._effective
        if option == "use_virtio_for_bridges":
            return self._nic.declared.model is None and effective.model.effective is not None
        if option == "virt_type":
            return value == "qemu" and effective.vhost.effective is False
        if option == "max_queues":
            return value != "" and str(effective.queues.effective) == value
        resolved = {
            "rx_queue_size": effective.rx_queue_size, "tx_queue_size": effective.tx_queue_size,
        }  # fmt: skip
        found = resolved.get(option)
        return found is not None and value != "" and found.declared is not None

    def _keeps(self, name: str, value: str) -> LayerFact:
        if name == MODEL:
            return self._kept_model(name, value)
        return LayerFact(name, value, self._decides(name, value))

    def _decided_anew(self) -> str:
        """Note on the model that a start gives a server without a stored one: Nova stores NULL
        where it chose none, and never checks again."""
        node, declared = self._server.node, self._nic.declared.model
        option = None if node is None else node.value("use_virtio_for_bridges")
        if option is None:
            return "nova.conf of its host decides at each start"
        virtio = option == "true"
        writes = "virtio" if virtio else "no model"
        if self._alone or (declared in VIRTIO) == virtio:
            return f"nova.conf of its host decides at each start: {writes}"
        return f"libvirt has {declared or 'none'}: the next hard reboot writes {writes}"

    def _kept_model(self, name: str, value: str) -> LayerFact:
        model = normal_vif_model(value)
        if self._alone:
            return LayerFact(name, value, self._effective.model.effective == model)
        declared = self._nic.declared.model
        note = ""
        if declared is not None and declared != model:
            later = (
                _SET if may_have_overrides(self._server) else f"the next hard reboot writes {model}"
            )
            note = f"libvirt has {declared}: {later}"
        return LayerFact(name, value, note=note)

    def _decides(self, name: str, value: str) -> bool:
        """True if a flag of the flavor or image is the reason for the guest's queues or packed
        ring."""
        if not (self._alone and as_flag(value)):
            return False
        queues = self._nic.declared.queues or 1
        if name in _MULTIQUEUE:
            return queues > 1 and self._effective.queues.effective != 1
        return name in _PACKED and self._nic.declared.packed == "on"

    def _binding(self) -> PortBinding:
        place = self._domain.nics.index(self._nic)
        bindings = self._server.bindings
        return bindings[place] if place < len(bindings) else PortBinding()

    def _place(self) -> str | None:
        """The cloud's name, as the user gave it."""
        if self._alone:
            return str(self._domain.location)
        return (self._domain.cloud and self._domain.cloud.target) or None

    def _unseen(self) -> str:
        server = "ID" if self._domain.cloud is None else self._domain.cloud.id
        return (
            "Nova reports it since 2025.1 (microversion 2.98); nova-manage image_property show "
            f"{server} hw_vif_model would show it"
        )


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
    manifest, guest = domain.declared.manifest, domain.guest
    recorded = None if guest is None else guest.preference
    if recorded is not None and recorded.revision:
        yield from _of_revision("Preference", recorded)
    elif manifest is not None and manifest.preference is not None:
        yield _preference(manifest)
    if guest is not None and guest.instancetype is not None and guest.instancetype.revision:
        yield from _of_revision("Instance type", guest.instancetype)
    if guest is not None:
        yield from _cluster(guest, nic, effective)
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
    if domain.root_ports is not None:
        free, every = domain.root_ports
        note = "" if free else "nothing can be attached while it runs, not even another NIC"
        facts.append(LayerFact("root ports", f"{free} of {every} free", note=note))
    return Layer(title, str(nic.location), tuple(facts))


def _macvtap_mode(mode: str | None) -> LayerFact:
    """``VIR_NETDEV_MACVLAN_MODE_DEFAULT`` of libvirt is vepa, which it writes where ``mode=`` is
    missing (measured with 9.0). The host is out of reach in every mode: ``macvlan_queue_xmit``
    (Linux, drivers/net/macvlan.c) gives a frame to another macvtap or to the wire."""
    note = "its own host cannot reach it"
    if mode in (None, "vepa"):
        note = f"guests of one host meet only if the switch reflects frames; {note}"
    if mode is None:
        note = f"libvirt's default: {note}"
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


def _of_revision(what: str, recorded: RecordedReference) -> Iterator[Layer]:
    """Layers of an object of which a VM keeps a revision: as it is today, and as recorded."""
    for name, fields, source in (
        (f"{what} {recorded.name}", recorded.now, f"the {what.lower()} itself"),
        (f"{what} as recorded ({recorded.revision})", recorded.then, "the ControllerRevision"),
    ):
        told = (LayerFact(field, text) for field, text in sorted((fields or {}).items()))
        missing = f"{source} would show it" if fields is None else ""
        yield Layer(name, None, tuple(told), missing)


def _cluster(guest: ClusterGuest, nic: Nic, effective: Effective) -> Iterator[Layer]:
    """Layers of a VM that a cluster adds: the specification and the status of its instance."""
    found = next((each for each in guest.nics if each.name == nic.alias), None)
    has = None if found is None else found.has
    if has is not None:
        fields = ("model", "binding", "mac", "network", "state")
        runs = nic.running is not None and effective.model.effective is not None
        values = ((key, getattr(has, key)) for key in fields)
        told = [LayerFact(key, text, runs and key == "model") for key, text in values if text]
        if guest.has is not None and guest.has.multiqueue is not None:
            told.append(LayerFact("multiqueue", "on" if guest.has.multiqueue else "off"))
        yield Layer("Specification of the instance", None, tuple(told))
    elif guest.has_vm:
        missing = "the VM does not run, or its VirtualMachineInstance was not read"
        yield Layer("Specification of the instance", missing=missing)
    status = None if found is None else found.status
    if status is not None:
        wins = status.queues == effective.queues.effective
        told = [LayerFact("queues", str(status.queues), wins)] if status.queues else []
        if status.mac:
            told.append(LayerFact("mac", status.mac))
        if found is not None and found.mtu is not None:
            told.append(LayerFact("mtu", str(found.mtu), note="of its pod's interface"))
        told.append(LayerFact("told by", ", ".join(sorted(status.sources)) or "nobody"))
        yield Layer("Status of the instance", None, tuple(told))
    if guest.launched is not None and nic.declared.type != "hostdev":  # which has no such settings
        yield _launched(guest.launched, nic)


def _launched(launched: LaunchedDomain, nic: Nic) -> Layer:
    """Layer of the domain in the VM's launcher."""
    title = "Domain in the launcher"
    has = next((each.declared for each in launched.nics if each.alias == nic.alias), None)
    if has is None:
        return Layer(title, missing=launched.unread or "it has no such NIC")
    told = {
        "model": has.model, "driver": has.driver_name, "queues": has.queues or 1,
        "rx_queue_size": has.rx_queue_size, "tx_queue_size": has.tx_queue_size, "mtu": has.mtu,
    }  # fmt: skip
    facts = (LayerFact(key, str(value)) for key, value in told.items() if value)
    return Layer(title, None, tuple(facts))


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
    if running is None or running.evidence == "instance":
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
    if domain.guest is not None and domain.guest.runs and domain.location.file is None:
        launched = domain.guest.launched
        if launched is None:
            return "--exec asks its launcher for it"
        return launched.unread or launched.without_qemu or _PLUGGED
    if domain.declared.manifest is not None:
        return "a manifest is not what runs: virsh dumpxml in the virt-launcher pod would show it"
    return "no process or log of it was read (/proc on the hypervisor has it)"


_PLUGGED = "QEMU was not started with it: it was plugged in, or is another device there"


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
