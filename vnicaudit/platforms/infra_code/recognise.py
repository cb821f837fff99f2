"""Which format a file is in, if it is about images, flavors or libvirt guests; and its reader.

Most files of a repository are not: a search for the words such a file must have comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from vnicaudit.model.description import Description
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.infra_code.beginning import quotes_others

HEAD = 64 * 1024
"""Bytes that the format is told by."""

_WORDS = (b"openstack", b"glance", b"nova", b"os_image", b"OS::", b"libvirt_domain", b"diskimages:")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is of one of the formats, and about these things."""
    return any(word in head for word in _WORDS) and _format_of(head) is not None


def read(data: bytes, *, target: str, file: str) -> Iterator[Description | Domain]:
    """What it describes. Raises TargetError where it is broken."""
    found = _format_of(data[:HEAD])
    if found is not None:
        reader: Callable[..., Iterator[Description | Domain]] = found.read
        yield from reader(data, target=target, file=file)


def _format_of(head: bytes) -> ModuleType | None:
    """The format's module, the cheapest test first."""
    from vnicaudit.platforms.infra_code import ansible, heat, nodepool, packer, shell, terraform

    if quotes_others(head):
        return None
    formats = (terraform, packer, heat, nodepool, shell, ansible)
    return next((each for each in formats if each.looks_like(head)), None)
