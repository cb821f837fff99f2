"""Live libvirt, read-only, and (``control.py``) domains changed over it.

``live.py`` is the entry point for reading. ``connection.py`` connects to targets, and is the only
module that imports libvirt-python; ``visit.py`` starts threads (``workers.py``) that fetch data
(``domains.py``).

This module recognises targets that are a host; whatever reads them is imported on
first use.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vnicaudit.errors import UsageError
from vnicaudit.text.targets import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vnicaudit.model.fleet import HostTraffic, LiveDefinition, LiveDomain, LiveOptions
    from vnicaudit.model.host import Host
    from vnicaudit.model.host_facts import HostFacts
    from vnicaudit.model.report import ReadError

_URI = r"([A-Za-z][A-Za-z0-9]*)(\+[A-Za-z0-9]+)?:///?"
_DRIVERS = ("qemu", "test", "xen", "lxc", "ch", "bhyve")
"""libvirt drivers that can be read; only QEMU's NICs are judged."""


def uri_of(name: str) -> str | None:
    """A libvirt URI; None for any other target. Raises UsageError for a URI that is not
    supported."""
    if ":/" not in name:
        return None  # as most names of files
    uri = re.match(_URI, name)
    if uri is None or os.path.exists(name):
        return None
    if uri.group(1) not in _DRIVERS:
        raise UsageError(
            f"{name}: not a supported libvirt URI; it must begin with {', '.join(_DRIVERS)}, for "
            "example qemu:///system"
        )
    if name[: uri.end()] != name[: uri.end()].lower():
        raise UsageError(f"{name}: not a supported libvirt URI; write {uri.group()} in lower case")
    try:
        urlsplit(name)
    except ValueError as error:
        raise UsageError(f"{name}: not a URI: {error}") from None
    return name


def waits(uri: str) -> bool:
    """True if a host is read only through its libvirt, not by the processes of this machine."""
    return not parse(uri).local


def probe_host(uri: str, options: LiveOptions) -> str:
    """Connect to a host, and return its name and libvirt's version. Raises TargetError."""
    from vnicaudit.platforms.libvirt.connection import probe

    return probe(uri, options.deadline)


def read_host(
    uri: str, options: LiveOptions
) -> Iterator[Host | HostFacts | LiveDomain | HostTraffic | ReadError]:
    """A host, and its domains as they come; its traffic last, if requested."""
    from vnicaudit.platforms.libvirt.live import read_live

    return read_live(uri, options)


def read_definitions(uri: str, options: LiveOptions) -> Iterator[Host | LiveDefinition | ReadError]:
    """Read a host, and each domain with its persistent definition."""
    from vnicaudit.platforms.libvirt.live import read_live_definitions

    return read_live_definitions(uri, options)


def check() -> None:
    """Load what reads a host, before threads begin. Raises MissingExtraError if libvirt-python is
    missing."""
    import vnicaudit.platforms.libvirt.live  # noqa: F401 (to have it loaded)
