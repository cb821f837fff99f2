"""Wordings of the owners that this program knows, each loaded when needed: most runs have one
owner, or nothing to fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vnicaudit.knowledge.fixes.wording import Wording


class _Loading(Mapping[str, "Wording"]):
    """Names of owners -> wordings, loaded on access."""

    def __init__(self, loaders: Mapping[str, Callable[[], Wording]]) -> None:
        self._loaders = loaders

    def __getitem__(self, owner: str) -> Wording:
        return self._loaders[owner]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)


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


_LOADERS: dict[str, Callable[[], Wording]] = {
    "kubevirt": _kubevirt,
    "libvirt": _libvirt,
    "nova": _nova,
    "ovirt": _ovirt,
    "qemu": _qemu,
    "terraform": _terraform,
}
WORDINGS: Mapping[str, Wording] = _Loading(_LOADERS)
"""The wordings of all owners that this program knows, whichever platform describes their guests."""


def wordings_with(own: Mapping[str, Wording]) -> Mapping[str, Wording]:
    """The shipped wordings combined with those of other owners, which win."""

    def loader(owner: str) -> Callable[[], Wording]:
        return lambda: own[owner]

    return _Loading({**_LOADERS, **{owner: loader(owner) for owner in own}})
