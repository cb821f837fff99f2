"""A file of libvirt URIs, one per line, with blank lines and ``#`` comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec.structs import replace

from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.checks import fault_of_uri
from vnicaudit.fleet.inventory.records import SourceHost, SourceHosts

URI = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:\+[A-Za-z0-9]+)?://")
_COMMENT = re.compile(r"(?:^|\s)#.*")


def is_uri_list(text: str) -> bool:
    """True if the first line with content is a URI."""
    return any(URI.match(line) for line in _first_line(text))


def read_uris(file: str, text: str) -> SourceHosts:
    """The hosts of such a file, each named after its server, or after its URI if several URIs have
    the same server. Raises UsageError for a line that is not a URI."""
    hosts = tuple(_hosts(file, text))
    uris: dict[str, set[str]] = {}
    for host in hosts:
        uris.setdefault(host.name, set()).add(host.uri)
    return SourceHosts(tuple(
        replace(host, name=host.uri) if len(uris[host.name]) > 1 else host for host in hosts
    ))  # fmt: skip


def host_of(uri: str, source: str) -> SourceHost:
    """The host of a URI, named after its server, or after the URI if it has none. Raises UsageError
    if the URI is not allowed in an inventory."""
    if fault := fault_of_uri(uri) or ("" if URI.match(uri) else "not a libvirt URI"):
        raise UsageError(f"{source}: {fault}")
    return SourceHost(urlsplit(uri).hostname or uri, source, uri, uri_source="the URI itself")


def _hosts(file: str, text: str) -> Iterator[SourceHost]:
    for number, line in enumerate(text.split("\n"), 1):
        if uri := _COMMENT.sub("", line).strip():
            yield host_of(uri, f"{file}:{number}")


def _first_line(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if bare := _COMMENT.sub("", line).strip():
            yield bare
            return
