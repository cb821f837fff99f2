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
from vnicaudit.platforms.infra_code import ansible, client_json, clients, heat, terraform
from vnicaudit.platforms.infra_code.hcl import MAX_LENGTH, UnexpectedError, without_texts
from vnicaudit.text.beginning import is_script, like_hcl, like_yaml, quotes_others
from vnicaudit.text.comment_walk import CommentEntry, accepting_comments
from vnicaudit.text.yaml_nodes import yaml_comments

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
    formats = (terraform, heat, clients, ansible, client_json)
    return [each for each in formats if each.looks_like(head)]


# Comments that accept findings. Those in shell scripts are ignored, because they cannot be told
# apart from texts and input for other programs.


def code_comments(data: bytes, file: str) -> tuple[CommentEntry, ...]:
    """The comments of a file that accept findings; empty if it cannot be read."""
    data = data.removeprefix(BOM_UTF8)
    if like_hcl(data):
        is_read = terraform.looks_like(data)
        return _hcl_comments(data) if is_read else ()
    return () if is_script(data) or not like_yaml(data) else yaml_comments(data, file)


def _hcl_comments(data: bytes) -> tuple[CommentEntry, ...]:
    text = data.decode("utf-8", "replace")
    if len(text) > MAX_LENGTH:
        return ()
    try:
        return accepting_comments(without_texts(text.replace("\r\n", "\n")), "code")
    except UnexpectedError:  # the reader of the file reports it
        return ()
