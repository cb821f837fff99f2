"""Wordings of the owners that this program knows, each loaded when needed: most runs have one
owner, or nothing to fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vnicaudit.knowledge.fixes.wording import Wording


def _kubevirt() -> Wording:
    from vnicaudit.knowledge.fixes.kubevirt import KUBEVIRT

    return KUBEVIRT


def _libvirt() -> Wording:
    from vnicaudit.knowledge.fixes.libvirt import LIBVIRT

    return LIBVIRT


def _nova() -> Wording:
    from vnicaudit.knowledge.fixes.nova import NOVA

    return NOVA


def _ovirt() -> Wording:
    from vnicaudit.knowledge.fixes.ovirt import OVIRT

    return OVIRT


def _qemu() -> Wording:
    from vnicaudit.knowledge.fixes.qemu import QEMU

    return QEMU


def _terraform() -> Wording:
    from vnicaudit.knowledge.fixes.terraform import TERRAFORM

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
