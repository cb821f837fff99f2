"""What identifies a finding across audits, and a machine across targets."""

from __future__ import annotations

import os
import re

try:  # as Python's own random does: hashlib loads OpenSSL, for longer than it takes to lint a file
    from _blake2 import blake2b
except ImportError:  # an interpreter built without it
    from hashlib import blake2b

from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def digest(rule: str, owner: str, part: str) -> str:
    """24 hexadecimal digits for a rule, whom it is about (a domain's UUID, a file, a host) and
    which part of it (a MAC address, an xpath, an option). Never a line number."""
    data = f"{rule}\0{owner}\0{part}".encode("utf-8", "backslashreplace")
    return blake2b(data, digest_size=12).hexdigest()


def bare_uuid(uuid: str) -> str:
    """One spelling of a UUID: libvirt reads it with and without hyphens (virUUIDParse)."""
    return uuid.replace("-", "").lower()


def is_uuid(text: str) -> bool:
    """Whether an id is a UUID, which no two clouds give to different things."""
    return _UUID.fullmatch(text) is not None


def file_key(path: str) -> str:
    """One spelling for a file however it was named: relative to the current folder when it is
    below it, absolute when it is not."""
    try:
        here = os.getcwd().rstrip("/") + "/"
    except FileNotFoundError:  # the current folder has been deleted
        return path
    return os.path.abspath(path).removeprefix(here)


def domain_mark(rule: str, domain: Domain, nic: Nic | None) -> str:
    """The digest for a domain or one of its NICs."""
    return digest(rule, *whose(domain, nic))


def whose(domain: Domain, nic: Nic | None) -> tuple[str, str]:
    """What a digest is made of beside a rule, for a domain or one of its NICs: UUID and MAC; file
    and place in it where there are none."""
    if domain.uuid is not None and (nic is None or nic.mac is not None):
        return domain.uuid, "" if nic is None else _mac(domain, nic)
    place = domain.location if nic is None else nic.location
    owner = f"{place.target}#{domain.name}" if place.file is None else file_key(place.file)
    if place.xpath is not None:
        return owner, place.xpath
    part = "" if nic is None else nic.mac or nic.alias or f"#{nic.index}"
    return owner, f"{domain.mark}/{part}"


def _mac(domain: Domain, nic: Nic) -> str:
    """The MAC; two NICs of one domain with one MAC are two findings."""
    mac = nic.mac or ""
    twice = sum(other.mac == mac for other in domain.nics) > 1
    return f"{mac}#{nic.index}" if twice else mac
