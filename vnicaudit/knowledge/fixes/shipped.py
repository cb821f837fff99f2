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
from vnicaudit.knowledge.fixes.terraform import TERRAFORM

if TYPE_CHECKING:
    from vnicaudit.knowledge.fixes.wording import Wording


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
