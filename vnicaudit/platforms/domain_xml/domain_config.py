"""Build a :class:`~vnicaudit.model.domain.DomainConfig` from the settings gathered from a
domain."""

from __future__ import annotations

from typing import NamedTuple

from lxml import etree
from msgspec.structs import replace

from vnicaudit.knowledge.owner import is_opennebula, owner_of
from vnicaudit.knowledge.readiness import TRANSITIONAL, readiness_of
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.guest_words import DefinitionForm
from vnicaudit.model.nic import Nic
from vnicaudit.model.owner import KnownOwner, Owner
from vnicaudit.platforms.domain_xml.facts import DomainFacts, shared_memory
from vnicaudit.platforms.domain_xml.values import count, word

_REMEMBERED = 4096
_LONG = 1024
"""Characters; a domain with more is unusual, and not cached."""
_PORTS = ("pcie-root-port", "pcie-switch-downstream-port")


class _Key(NamedTuple):
    """Everything that determines a record, as text where the definition has text."""

    kind: str
    form: DefinitionForm
    arch: str | None
    machine: str | None
    os_id: str | None
    owner: Owner
    vcpus: str | None
    vcpus_max: str | None
    windows: bool
    encrypted: bool
    virtio_disk: bool
    virtio_nic: bool
    shared: bool | None
    nics: int
    session: bool | None


_records: dict[_Key, DomainConfig] = {}
"""Cache: domains with equal settings share one record."""


def config_of(
    kind: str,
    form: DefinitionForm,
    facts: DomainFacts,
    nics: tuple[Nic, ...],
    *,
    session: bool | None,
) -> DomainConfig:
    """The record of a ``<domain type=kind>``; ``form`` and ``session`` are as in the record."""
    key = _key(kind, form, facts, nics, session)
    config = _records.get(key)
    if config is None:
        config = _record(key)
        if sum(len(text) for text in key if isinstance(text, str)) < _LONG:
            if len(_records) >= _REMEMBERED:
                _records.clear()  # bounded; refilled as needed
            _records[key] = config
    if facts.devices is None:
        return config
    if config.readiness == TRANSITIONAL or any(nic.declared.iommu == "on" for nic in nics):
        return replace(config, pcie_ports=pcie_ports(facts.devices))
    return config


def _key(
    kind: str, form: DefinitionForm, facts: DomainFacts, nics: tuple[Nic, ...], session: bool | None
) -> _Key:
    return _Key(
        kind,
        form,
        facts.arch,
        facts.machine,
        facts.os_id,
        _owner(facts),
        facts.vcpus,
        facts.vcpus_max,
        facts.windows,
        facts.encrypted,
        facts.virtio_disk,
        _has_virtio(nics),
        shared_memory(facts),
        len(nics),
        session,
    )


def _owner(facts: DomainFacts) -> KnownOwner:
    owner = owner_of(facts.namespaces, facts.product)
    if owner == "libvirt" and facts.devices is not None:
        sources = (source for disk in facts.devices.iterchildren("disk")
                   for source in disk.iterchildren("source"))  # fmt: skip
        paths = (source.get("file") or source.get("dev") or "" for source in sources)
        return "opennebula" if is_opennebula(facts.name, paths) else owner
    return owner


def _has_virtio(nics: tuple[Nic, ...]) -> bool:
    for nic in nics:  # a loop, not a generator: this runs for each domain
        model = nic.declared.model
        if model is not None and model.startswith("virtio"):
            return True
    return False


def _record(key: _Key) -> DomainConfig:
    return DomainConfig(
        encrypted=key.encrypted,
        type=word(key.kind),
        arch=_word(key.arch),
        machine=_word(key.machine),
        vcpus=count((key.vcpus or "").strip()),
        vcpus_max=count((key.vcpus_max or "").strip()),
        owner=key.owner,
        described_by=key.form,
        os_id=_word(key.os_id),
        readiness=readiness_of(
            key.os_id,
            key.arch,
            virtio_nic=key.virtio_nic,
            virtio_disk=key.virtio_disk,
            windows_hint=key.windows,
        ),
        shared_memory=key.shared,
        session=key.session,
        nics=key.nics,
    )


def _word(text: str | None) -> str | None:
    return None if text is None else word(text)


def pcie_ports(devices: etree._Element) -> tuple[int, ...] | None:
    """Indexes of the controllers that are PCI Express ports; None if the definition has no PCI
    controller (libvirt adds them when it is defined)."""
    controllers = [
        element for element in devices.iterchildren("controller") if element.get("type") == "pci"
    ]
    if not controllers:
        return None
    indexes = (
        count(element.get("index", "")) for element in controllers if element.get("model") in _PORTS
    )
    return tuple(index for index in indexes if index is not None)
