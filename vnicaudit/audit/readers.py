"""The readers of files: each kind of content is one row that says how it is told and read.

What a row needs is imported when it is asked: a lint of one nova.conf loads neither lxml nor what
reads manifests and infrastructure code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from vnicaudit.model.description import Description
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import NotJudged, PutAside, ReadError
from vnicaudit.platforms.domain_xml.recognise import OTHER_ROOTS, looks_like_xml, root_name

HEAD = 64 * 1024
"""Bytes that a kind is told by; most files are smaller."""
WHOLE = 1024 * 1024
"""A text that is not larger is told by all of it: a licence may be long, the images of a play may
come last."""

Item = Domain | Description | ReadError | PutAside | NotJudged
"""What reading gives."""


class Content(msgspec.Struct, frozen=True):
    """What is read. ``before``: how many lines of the file stand before ``data``; None: nobody
    counted."""

    data: bytes
    path: str
    target: str
    before: int | None = 0


class Reader(msgspec.Struct, frozen=True):
    """One kind of content. ``looks_for`` is what has to be in it, or there is nothing to judge;
    empty: files without are in order as well."""

    name: str
    looks_for: str
    looks_like: Callable[[bytes], bool]
    """Whether a file that begins so is of this kind, or may be."""
    read: Callable[[Content], Iterator[Item]]
    is_one: Callable[[bytes], bool] = lambda _data: True
    """Whether the whole file is what its head may be."""
    among_others: Callable[[bytes], bool] = lambda _head: True
    """Whether a file of a folder that begins so is meant as one, and does not just quote one."""
    from_end: bool = False
    """Of a large file only the end is read: the last start of a log."""


def reader_of(data: bytes, *, named: bool) -> Reader | None:
    """The first kind that a file which begins so is of; it may hold others as well. ``named``: the
    user named this file; one of a folder may be about something else."""
    whole = is_told_by_all(data, len(data))
    head = data if whole else data[:HEAD]
    found = (
        reader
        for reader in READERS
        if reader.looks_like(head) and not (whole and not reader.is_one(head))
    )
    return next((reader for reader in found if named or reader.among_others(head)), None)


def is_told_by_all(head: bytes, size: int) -> bool:
    """Whether more than the head of a file of that size is to be looked at."""
    return size <= WHOLE and b"\0" not in head


def why_not(data: bytes) -> str:
    """Why there is no reader for a file that begins so."""
    head = data[:HEAD]
    if not data.strip():
        return "empty: nothing to read"
    from vnicaudit.audit.unjudged import alone

    if (part := next(alone(data[:WHOLE], ""), None)) is not None:
        return part.message
    root = root_name(head) if head.lstrip().startswith(b"<") else None
    if root in OTHER_ROOTS:
        return f"a libvirt <{root}> document: it describes no NIC"
    if root is not None:
        return f"XML with the root <{root}>: not a libvirt domain"
    return "not recognised: none of " + ", ".join(reader.name for reader in READERS)


def nothing_in(reader: Reader) -> str:
    """What to say of a file of this kind that holds nothing of what is judged."""
    return (
        f"recognised as {reader.name}, but there is nothing in it to judge: no {reader.looks_for}"
    )


def _read_xml(content: Content) -> Iterator[Item]:
    from vnicaudit.platforms.domain_xml.read import read_bytes

    for domain in read_bytes(content.data, target=content.target, file=content.path):
        yield domain
        yield from domain.unread


def _looks_like_nova(head: bytes) -> bool:
    from vnicaudit.platforms.nova_conf.recognise import looks_like

    return looks_like(head)


def _read_nova(content: Content) -> Iterator[Item]:
    from vnicaudit.platforms.nova_conf.copies import is_put_aside

    if is_put_aside(content.path):
        yield PutAside(content.path)
        return
    from vnicaudit.platforms.nova_conf.siblings import read_with_siblings

    yield read_with_siblings(content.data, target=content.target, file=content.path)


def _looks_like_log(head: bytes) -> bool:
    from vnicaudit.platforms.qemu.log import is_log

    return b"\0" not in head and is_log(head.decode("utf-8", "replace"))


def _looks_like_command(head: bytes) -> bool:
    from vnicaudit.platforms.qemu.read import looks_like

    return looks_like(head) is not None


def _is_all_command(head: bytes) -> bool:
    from vnicaudit.platforms.qemu.read import begins_with_command

    return begins_with_command(head)


def _read_qemu(content: Content) -> Iterator[Item]:
    from vnicaudit.platforms.qemu.domain import domain_of
    from vnicaudit.platforms.qemu.read import read_parts

    number = 0
    data, before = content.data, content.before
    for qemu in read_parts(data, target=content.target, file=content.path, before=before):
        if isinstance(qemu, NotJudged):
            yield qemu
            continue
        number += 1
        mark = f"#{number}" if qemu.name is None else qemu.name
        domain = replace(domain_of(qemu, content.target), mark=mark)
        yield domain
        yield from domain.unread


def _looks_like_kubevirt(head: bytes) -> bool:
    from vnicaudit.platforms.kubevirt.recognise import looks_like

    return looks_like(head) and not _is_code(head)


def _is_code(head: bytes) -> bool:
    """A script, or HCL: a manifest in it is a text."""
    from vnicaudit.platforms.infra_code.beginning import like_hcl
    from vnicaudit.platforms.infra_code.shell import is_script

    return is_script(head) or like_hcl(head)


def _is_kubevirt(data: bytes) -> bool:
    from vnicaudit.platforms.kubevirt.recognise import is_wanted

    return is_wanted(data.decode("utf-8-sig", "replace"))


def _read_kubevirt(content: Content) -> Iterator[Item]:
    from vnicaudit.platforms.kubevirt.read import read_bytes

    yield from read_bytes(content.data, target=content.target, file=content.path)


def _looks_like_infra_code(head: bytes) -> bool:
    from vnicaudit.platforms.infra_code.recognise import looks_like

    return looks_like(head)


def _read_infra_code(content: Content) -> Iterator[Item]:
    from vnicaudit.platforms.infra_code.recognise import read

    yield from read(content.data, target=content.target, file=content.path)


DOMAIN_XML = Reader("libvirt domain XML", "domain", looks_like_xml, _read_xml)
NOVA_CONF = Reader("nova.conf", "option", _looks_like_nova, _read_nova)
QEMU_LOG = Reader("QEMU log", "start of a QEMU", _looks_like_log, _read_qemu, from_end=True)
COMMANDS = Reader(
    "QEMU command line or ps output",
    "QEMU",
    _looks_like_command,
    _read_qemu,
    among_others=_is_all_command,
)
KUBEVIRT = Reader(
    "KubeVirt manifest",
    "",  # network attachments and instance types by themselves are in order
    _looks_like_kubevirt,
    _read_kubevirt,
    _is_kubevirt,
)
INFRA_CODE = Reader(
    "image or flavor definition",
    "image, flavor or guest of libvirt",
    _looks_like_infra_code,
    _read_infra_code,
)
READERS = (DOMAIN_XML, NOVA_CONF, QEMU_LOG, COMMANDS, KUBEVIRT, INFRA_CODE)
"""The kinds, in the order in which they are tried."""
