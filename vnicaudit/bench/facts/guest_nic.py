"""A guest and its NIC in its operator's terms: the domain's name, and the kind of NIC."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.errors import VnicauditError
from vnicaudit.model.nic import NicConfig
from vnicaudit.remedy.definitions import DefinitionReader
from vnicaudit.remedy.hypervisor import Machine

_BY_TYPE = ("vdpa", "vhostuser", "hostdev")
"""Types of ``<interface>`` with a data path other than a tap's."""


class GuestNic(NamedTuple):
    """``guest``: the domain's name; ``nic``: the kind of its running NIC, None if unknown."""

    guest: str | None = None
    nic: str | None = None


def guest_nic(machine: Machine, reading: DefinitionReader, uri: str, mac: str | None) -> GuestNic:
    """The guest's name, and the kind of its NIC with that MAC address at this moment. ``uri``: of
    its host."""
    try:
        domain = reading.definition_of(machine.live(), uri)
    except VnicauditError:
        return GuestNic(machine.name)
    found = [nic.declared for nic in domain.nics if mac is not None and nic.mac == mac.lower()]
    return GuestNic(machine.name, nic_words(found[0]) if len(found) == 1 else None)


def nic_words(config: NicConfig) -> str:
    """The kind of a NIC: ``rtl8139``, ``virtio, 4 queues``, ``virtio, vdpa``."""
    words = [config.model or config.type]
    if config.type in _BY_TYPE and config.type not in words:
        words.append(config.type)
    if config.queues is not None and config.queues > 1:
        words.append(count(config.queues, "queue"))
    return ", ".join(words)
