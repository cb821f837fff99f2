"""Decoders that turn what is read into records, safe in any thread.

msgspec works out what a record is made of when the record is first read, and keeps that with the
class. Two threads that are first at once see it half made, and the program dies of a segmentation
fault (msgspec 0.22). So nobody else asks msgspec for a type: here one thread at a time does, and
whoever reads finds it whole.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")
M = TypeVar("M")

_building = RLock()
_json: dict[object, msgspec.json.Decoder[Any]] = {}
_msgpack: dict[object, msgspec.msgpack.Decoder[Any]] = {}


@overload
def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(kind: object) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: object) -> msgspec.json.Decoder[Any]:
    """The decoder that reads JSON as this type; created once."""
    return _codec_for(kind, _json, msgspec.json.Decoder)


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """The decoder that reads MessagePack as this type; created once."""
    return _codec_for(kind, _msgpack, msgspec.msgpack.Decoder)


@overload
def json_as(data: bytes | str, kind: type[T]) -> T: ...
@overload
def json_as(data: bytes | str, kind: object) -> Any: ...
def json_as(data: bytes | str, kind: object) -> Any:
    """JSON, as bytes or text -> that type. Raises what msgspec's decoder raises."""
    return json_decoder(kind).decode(data)


@overload
def converted(data: object, kind: type[T], *, strict: bool = True) -> T: ...
@overload
def converted(data: object, kind: object, *, strict: bool = True) -> Any: ...
def converted(data: object, kind: object, *, strict: bool = True) -> Any:
    """Tables, lists and strings -> that type; ``strict`` False: also numbers that stand as text.
    Raises ValidationError."""
    json_decoder(kind)  # the type and all that it is made of are known from here on
    return msgspec.convert(data, kind, strict=strict)


def _codec_for(kind: object, known: dict[object, M], make: Callable[[Any], M]) -> M:
    found = known.get(kind)
    if found is None:
        with _building:
            found = known.get(kind) or make(kind)
            known[kind] = found
    return found
