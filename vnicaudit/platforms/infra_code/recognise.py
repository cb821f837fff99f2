"""Which format a file is in, if it is about images, flavors or libvirt guests; and its reader.

Most files of a repository are not: a search for the words such a file must have comes first.
"""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from types import ModuleType

from vnicaudit.errors import TargetError
from vnicaudit.model.description import Description
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.infra_code.beginning import quotes_others

_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)

HEAD = 64 * 1024
"""Bytes that the format is told by."""

_WORDS = (b"openstack", b"glance", b"nova", b"os_image", b"OS::", b"libvirt_domain", b"diskimages:")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is of one of the formats, and about these things.
    UTF-16 is taken for one too: :func:`read` says that it is not read."""
    if head.startswith(_UTF16):
        head = head.decode("utf-16", "replace").encode()
    head = head.removeprefix(BOM_UTF8)
    return any(word in head for word in _WORDS) and _format_of(head) is not None


def read(data: bytes, *, target: str, file: str) -> Iterator[Description | Domain]:
    """What it describes. Raises TargetError where it is broken."""
    if data.startswith(_UTF16):
        raise TargetError("UTF-16: not read; save it as UTF-8", file=file)
    data = data.removeprefix(BOM_UTF8)
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
