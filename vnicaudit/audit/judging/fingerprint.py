"""Digests that identify a finding across audits, and a machine across targets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vnicaudit.base.identifiers import ANY_UUID

try:  # as Python's random module does: hashlib loads OpenSSL, which takes longer than a lint
    from _blake2 import blake2b
except ImportError:  # an interpreter built without it
    from hashlib import blake2b

if TYPE_CHECKING:
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.nic import Nic


def digest(rule: str, owner: str, part: str) -> str:
    """24 hexadecimal digits for a rule, an owner (a domain's UUID, a file, a host) and a part of it
    (a MAC address, an xpath, an option). Never for a line number."""
    data = f"{rule}\0{owner}\0{part}".encode("utf-8", "backslashreplace")
    return blake2b(data, digest_size=12).hexdigest()


def is_uuid(text: str) -> bool:
    """True for an id that is a UUID, which no two clouds give to different objects."""
    return ANY_UUID.fullmatch(text) is not None


def file_key(path: str) -> str:
    """One spelling for a file, however it was named: relative to the current folder if it is below
    it, absolute if it is not."""
    try:
        here = os.getcwd().rstrip("/") + "/"
    except FileNotFoundError:  # the current folder has been deleted
        return path
    return os.path.abspath(path).removeprefix(here)


def domain_mark(rule: str, domain: Domain, nic: Nic | None) -> str:
    """The digest for a domain or one of its NICs."""
    return digest(rule, *identity_parts(domain, nic))


def identity_parts(domain: Domain, nic: Nic | None) -> tuple[str, str]:
    """Owner and part for the digest of a domain or one of its NICs: UUID and MAC; if they are
    missing, the file and the place in it."""
    if domain.uuid is not None and (nic is None or nic.mac is not None):
        return domain.uuid, "" if nic is None else _mac(domain, nic)
    place = domain.location if nic is None else nic.location
    owner = f"{place.target}#{domain.name}" if place.file is None else file_key(place.file)
    if place.xpath is not None:
        return owner, place.xpath
    part = "" if nic is None else nic.mac or nic.alias or f"#{nic.index}"
    return owner, f"{domain.mark}/{part}"


def _mac(domain: Domain, nic: Nic) -> str:
    """The MAC, with the NIC's number if another NIC of the domain has the same MAC: they are two
    findings."""
    mac = nic.mac or ""
    twice = len(domain.nics) > 1 and [other.mac for other in domain.nics].count(mac) > 1
    return f"{mac}#{nic.index}" if twice else mac
