"""Fixes for owners that rewrite definitions and have no wordings of their own.

Sources: OpenNebula's *Virtual Machine Template*, section NIC (``MODEL``, ``VIRTIO_QUEUES``, written
by src/vmm/LibVirtDriverKVM.cc); Proxmox VE's qm.conf(5), ``net[n]``.
"""

from __future__ import annotations

from vnicaudit.knowledge.fixes.wording import Wording
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import OwnersFix, SetField
from vnicaudit.model.names import FixNames

_PLACES = {
    "OpenNebula": {
        "model": 'MODEL = "{}" in the NIC section of its template',
        "queues": 'VIRTIO_QUEUES = "{}" in the NIC section of its template',
    },
    "Proxmox VE": {
        "model": "model={} in qm set VMID --netN",
        "queues": "queues={} in qm set VMID --netN",
    },
}
"""Owner -> field -> how a value is given to it there."""


def kept_by(name: str) -> Wording:
    """The wording for an owner with that name."""
    places = _PLACES.get(name, {})

    def words(fix: OwnersFix, _named: FixNames) -> str:
        if not isinstance(fix, SetField):
            return f"The definition is {name}'s, which rewrites it: change it there."
        pattern = places.get(fix.field)
        if pattern is None or fix.value is None:
            return f"The definition is {name}'s, which rewrites it: change it there ({fix.field})."
        return (
            f"The definition is {name}'s, which rewrites it: give it {pattern.format(fix.value)}, "
            "then stop the guest there and start it."
        )

    return Wording(_edit, words, in_arguments=SetField("arguments", None), behind=_unset)


def _edit(change: Change) -> SetField:
    return SetField(change.field, change.new)


def _unset(field: str) -> SetField:
    return SetField(field or "setting", None)
