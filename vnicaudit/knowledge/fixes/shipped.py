"""Wordings of the owners that this program knows, each loaded when needed: most runs have one
owner, or nothing to fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vnicaudit.knowledge.fixes.kubevirt import KUBEVIRT
from vnicaudit.knowledge.fixes.libvirt import LIBVIRT
from vnicaudit.knowledge.fixes.nova import NOVA
from vnicaudit.knowledge.fixes.ovirt import OVIRT
from vnicaudit.knowledge.fixes.qemu import QEMU
from vnicaudit.knowledge.fixes.wording import POWER_CYCLE, Wording
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import EditResource, OwnersFix
from vnicaudit.model.names import FixNames

if TYPE_CHECKING:
    pass

# Fixes for Terraform, whose libvirt provider keeps the definition.


def _edit(change: Change) -> EditResource:
    return EditResource(change.field, change.new)


def _sentence(fix: OwnersFix, _named: FixNames) -> str:
    if isinstance(fix, EditResource) and fix.field == "model" and fix.value is not None:
        return (
            f'Set model = {{ type = "{fix.value}" }} of this interface, run terraform apply, '
            f"{POWER_CYCLE}"
        )
    return (
        "The definition is Terraform's: change the libvirt_domain resource, run terraform apply, "
        f"{POWER_CYCLE}"
    )


TERRAFORM = Wording(_edit, _sentence)


def _kubevirt() -> Wording:
    return KUBEVIRT


def _libvirt() -> Wording:
    return LIBVIRT


def _nova() -> Wording:
    return NOVA


def _ovirt() -> Wording:
    return OVIRT


def _qemu() -> Wording:
    return QEMU


def _terraform() -> Wording:
    return TERRAFORM


SHIPPED: Mapping[str, Callable[[], Wording]] = {
    "kubevirt": _kubevirt,
    "libvirt": _libvirt,
    "nova": _nova,
    "ovirt": _ovirt,
    "qemu": _qemu,
    "terraform": _terraform,
}
"""Owner -> function that loads its wording, whichever platform describes its guests."""
