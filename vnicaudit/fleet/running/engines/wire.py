"""Messages between a controller and its workers: MessagePack with the versions of both, never
pickled objects. A record is read only by the version that wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from vnicaudit import __version__
from vnicaudit.errors import RefusedError
from vnicaudit.model.decoding import msgpack_decoder
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.live import HostTraffic, LiveDomain, LiveOptions
from vnicaudit.model.report import LostRead, ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met

T = TypeVar("T")

_FORMAT = 1
"""Version of the envelope, which every release can read."""
_ENCODER = msgspec.msgpack.Encoder()


class OtherVersionError(RefusedError):
    """A message from another version of vnicaudit; the text of the error is that version."""


class _Envelope(msgspec.Struct, frozen=True, array_like=True):
    format: int
    version: str
    body: msgspec.Raw = msgspec.Raw()


class HostOrder(msgspec.Struct, frozen=True):
    """A host for a worker to read. ``plain``: options of hosts that have none of their own.
    ``deadline``: in seconds."""

    host: InventoryHost
    plain: LiveOptions
    deadline: float


class _Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item; only one field is set, plus ``on``: index in the answer's ``configs`` of a live
    domain's host."""

    host: Host | None = None
    domain: Domain | None = None
    on: int | None = None
    traffic: HostTraffic | None = None
    error: ReadError | None = None
    lost_read: LostRead | None = None


class HostAnswer(msgspec.Struct, frozen=True):
    """The items that a worker read from a host. ``refused``: why it read nothing for reasons other
    than the host."""

    worker: str
    refused: str = ""
    items: tuple[_Item, ...] = ()
    configs: tuple[HostConfig, ...] = ()

    def met(self) -> list[Met]:
        """The items as yielded by a reader."""
        return [self._decoded(item) for item in self.items]

    def _decoded(self, item: _Item) -> Met:
        if item.domain is not None:
            return item.domain if item.on is None else LiveDomain(item.domain, self._config(item))
        for one in (item.host, item.traffic, item.lost_read, item.error):
            if one is not None:
                return one
        raise ValueError("an item of no kind")

    def _config(self, item: _Item) -> HostConfig:
        return self.configs[item.on or 0]


def answer_of(worker: str, items: Iterable[Met]) -> HostAnswer:
    """The answer with these items. Items that are not judged are left out."""
    places: dict[HostConfig, int] = {}
    told = tuple(one for item in items if (one := _item(item, places)) is not None)
    return HostAnswer(worker, items=told, configs=tuple(places))


def _item(item: Met, places: dict[HostConfig, int]) -> _Item | None:
    if isinstance(item, LiveDomain):
        return _Item(domain=item.domain, on=places.setdefault(item.host, len(places)))
    if isinstance(item, Domain):
        return _Item(domain=item)
    if isinstance(item, Host):
        return _Item(host=item)
    if isinstance(item, HostTraffic):
        return _Item(traffic=item)
    if isinstance(item, LostRead):
        return _Item(lost_read=item)
    return _Item(error=item) if isinstance(item, ReadError) else None


def encoded(record: msgspec.Struct | None) -> bytes:
    """The bytes of a record; None: only the version."""
    body = msgspec.Raw(_ENCODER.encode(record))
    return _ENCODER.encode(_Envelope(_FORMAT, __version__, body))


def decoded(data: bytes, kind: type[T]) -> T:
    """The record in such bytes. Raises OtherVersionError, and ValueError for invalid bytes."""
    check_version(data)
    return msgpack_decoder(kind).decode(msgpack_decoder(_Envelope).decode(data).body)


def check_version(data: bytes) -> None:
    """Raises OtherVersionError if another version wrote it, ValueError if it is not our message."""
    envelope = msgpack_decoder(_Envelope).decode(data)
    if (envelope.format, envelope.version) != (_FORMAT, __version__):
        raise OtherVersionError(envelope.version)
