"""libvirt domain XML: files, folders, standard input, save images.

``recognise.py`` finds what a file holds, ``documents.py`` the documents in its bytes. ``read.py``
walks over a domain; ``facts.py`` gathers its settings, ``nics.py`` those of each NIC by its table;
``override.py`` reads the arguments that a definition adds to QEMU's and those that it changes.
``refusals.py`` and ``conflicts.py`` find what libvirt refuses.

``write.py`` changes settings of a NIC; ``source.py`` finds elements in bytes, and applies the edits
to other encodings. ``definitions.py`` works on whole definitions, for changes of domains,
and compares a running one with the persistent one.

This module recognises files; whatever reads them is imported on first use.
"""

from __future__ import annotations

from types import ModuleType

from vnicaudit.model.file_kind import Documents, Extent, FileKind
from vnicaudit.platforms.domain_xml.recognise import (
    OPENING,
    OTHER_ROOTS,
    SAVE_MAGIC,
    holds_document,
    is_bare,
    is_foreign,
    is_logged,
    looks_like_xml,
    looks_lone,
    root_name,
    without_documents,
)

_SAVED = b"LibvirtQemud"
"""The beginning of a save image; its definition precedes the memory of the guest."""


def _reader() -> ModuleType:
    """The module that reads them; loaded on first use."""
    from vnicaudit.platforms.domain_xml import read

    return read


def _extent(data: bytes) -> Extent:
    """The part of a file that its definitions take; anything but text counts as one document."""
    if is_foreign(data) or data.startswith(SAVE_MAGIC):
        return "alone"
    if data.startswith(_SAVED):
        return "whole"
    if data.count(b"</domain>") > 1:
        return "several"
    if data.startswith(b"<domain ") and data.endswith((b"</domain>", b"</domain>\n")):
        return "alone"  # as in most files
    text = data.strip()
    if not (text.startswith(b"<") and text.endswith(b">")):
        return "several"
    return "alone" if _is_alone(data) else "whole"


def _is_alone(data: bytes) -> bool:
    """True for one definition with nothing but tags and comments before and behind it."""
    first, last = OPENING.search(data), data.rfind(b"</domain>")
    if first is None:
        return False
    before, behind = data[: first.start()].strip(), data[last + len(b"</domain>") :].strip()
    if b"<interface" in before or b"<interface" in behind:
        return False
    return all(text[:1] in (b"", b"<") and text[-1:] in (b"", b">") for text in (before, behind))


def _unrecognised_reason(head: bytes) -> str | None:
    root = root_name(head) if head.lstrip().startswith(b"<") else None
    if root in OTHER_ROOTS:
        return f"a libvirt <{root}> document: it describes no NIC"
    return None if root is None else f"XML with the root <{root}>: not a libvirt domain"


def xpath_of(field: str) -> str:
    """The place of a NIC's field relative to its ``<interface>``."""
    from vnicaudit.platforms.domain_xml.nics import XPATH

    return XPATH.get(field, field)


DOMAIN_XML = FileKind(
    "libvirt domain XML",
    "domain",
    "xml",
    looks_like_xml,
    lambda content: _reader().read_content(content),
    among_others=lambda head: not is_logged(head),  # old definitions
    documents=Documents(holds_document, without_documents, _extent),
    any_size=lambda head: head.startswith(_SAVED),
    suffix=".xml",
    load=_reader,
    why_not=_unrecognised_reason,
)

INTERFACES = FileKind(
    "<interface> outside of a domain",
    "interface",
    "xml",
    looks_lone,
    lambda content: _reader().read_lone(content),
    among_others=is_bare,
    may_hold=lambda _data: False,
    suffix=".xml",
)
"""Tried last: in files of other kinds such an element is only reported."""
