"""A lock stored on the host itself, for operators on different machines: a libvirt secret without a
value.

libvirt has no locks. But it refuses a second secret with the same usage, whoever defines it, and
checks this under the lock of its list of secrets (virSecretObjListAdd in src/conf/virsecretobj.c),
so only one of two concurrent operators gets it. The secret outlives its holder and the daemon; its
description names the holder.
"""

from __future__ import annotations

import html
import re

from lxml import etree

from vnicaudit.base.shell import word
from vnicaudit.model.host_lock import HostLock
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.connection import plain

_USAGE = libvirt.VIR_SECRET_USAGE_TYPE_TLS
_NAME = "vnicaudit-host-lock"
_DESCRIPTION = re.compile(r"(.*) \[([0-9a-f]{32})\]", re.S)
_XML = """\
<secret ephemeral='no' private='yes'>{uuid}
  <description>{text}</description>
  <usage type='tls'><name>{name}</name></usage>
</secret>
"""
_TRIES = 3
"""The lock may be dropped between a failed attempt and the lookup of its holder."""


def take(connection: libvirt.virConnect, uri: str, lock: HostLock) -> HostLock:
    """Try to take the lock. Returns the lock that is on the host then: this one, or another
    owner's. A lock left behind by an earlier process of the same owner is taken over. Raises
    libvirtError if the host cannot hold one."""
    for _ in range(_TRIES - 1):
        try:
            return _define(connection, lock)
        except libvirt.libvirtError:
            secret = _lookup(connection)
            if secret is None:
                continue
            there = _lock_of(secret, uri)
            if there.owner != lock.owner:
                return there
            return _define(connection, lock, f"<uuid>{secret.UUIDString()}</uuid>")
    return _define(connection, lock)


def find(connection: libvirt.virConnect, uri: str) -> HostLock | None:
    """The lock that is on the host; None if there is none. Raises libvirtError."""
    secret = _lookup(connection)
    return None if secret is None else _lock_of(secret, uri)


def drop(connection: libvirt.virConnect, uri: str, owner: str) -> None:
    """Remove the lock of that owner; another owner's stays. Raises libvirtError."""
    secret = _lookup(connection)
    if secret is not None and _lock_of(secret, uri).owner == owner:
        secret.undefine()


def _define(connection: libvirt.virConnect, lock: HostLock, uuid: str = "") -> HostLock:
    # xml.sax has the same function, but loads an HTTP client with OpenSSL
    text = html.escape(
        plain(f"{lock.holder} [{lock.owner}]"), quote=False
    )  # XML allows no control characters
    connection.secretDefineXML(_XML.format(uuid=uuid, text=text, name=_NAME))
    return lock


def _lookup(connection: libvirt.virConnect) -> libvirt.virSecret | None:
    """The secret; None if there is none. Raises libvirtError if the host cannot tell."""
    try:
        return connection.secretLookupByUsage(_USAGE, _NAME)
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SECRET:
            return None
        raise


def _lock_of(secret: libvirt.virSecret, uri: str) -> HostLock:
    text = _description(secret.XMLDesc())
    match = _DESCRIPTION.fullmatch(text)
    holder, owner = match.groups() if match else (text, "")
    clear = f"virsh -c {word(uri)} secret-undefine {secret.UUIDString()}"
    return HostLock(owner, plain(holder) or "an unknown holder", clear)


def _description(xml: str) -> str:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        return etree.fromstring(xml.encode(), parser).findtext("description") or ""
    except etree.XMLSyntaxError:
        return ""
