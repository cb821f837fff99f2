"""Recognise files about images, flavors or libvirt guests, with the reader for their format.

Most files of a repository are something else, so a search for words that such a file must contain
comes first.
"""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from types import ModuleType

from vnicaudit.errors import TargetError
from vnicaudit.model.file_kind import Item
from vnicaudit.platforms.infra_code import ansible, client_json, heat, shell, terraform
from vnicaudit.text.beginning import quotes_others

_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)

_BLANKS = b" \t\r\n"
_WORDS = (
    b"openstack", b"glance", b"nova", b"os_image", b"OS::", b"libvirt_domain", b'"properties"',
    b'"flavor"',
)  # fmt: skip


def looks_like(head: bytes) -> bool:
    """True if a file that begins with ``head`` has one of these formats and mentions an image, a
    flavor or a guest. Such a file in UTF-16 counts as well: :func:`read` refuses it."""
    if head.startswith(_UTF16):
        head = head.decode("utf-16", "replace").encode()
    head = head.removeprefix(BOM_UTF8)
    return any(word in head for word in _WORDS) and bool(_formats_of(head))


def read(data: bytes, *, target: str, file: str) -> Iterator[Item]:
    """The descriptions and domains in a file, format by format. Raises TargetError if the file is
    broken, after all readable formats."""
    if data.startswith(_UTF16):
        raise TargetError("UTF-16 is not supported; save it as UTF-8", file=file)
    data = data.removeprefix(BOM_UTF8)
    formats = _formats_of(data)
    failed: TargetError | None = None
    for each in formats:
        reader: Callable[..., Iterator[Item]] = each.read
        try:
            yield from reader(data, target=target, file=file)
        except TargetError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _formats_of(head: bytes) -> list[ModuleType]:
    """The modules of the formats; one file may contain documents of several."""
    if quotes_others(head):
        return []
    head = head.lstrip(_BLANKS)
    formats = (terraform, heat, shell, ansible, client_json)
    return [each for each in formats if each.looks_like(head)]
