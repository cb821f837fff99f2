"""What is read becomes records here, in any thread.

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
_json: dict[Any, msgspec.json.Decoder[Any]] = {}
_msgpack: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


@overload
def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """What reads JSON as this type; made once."""
    return _made(kind, _json, msgspec.json.Decoder)


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """What reads MessagePack as this type; made once."""
    return _made(kind, _msgpack, msgspec.msgpack.Decoder)


@overload
def json_as(data: Any, kind: type[T]) -> T: ...
@overload
def json_as(data: Any, kind: Any) -> Any: ...
def json_as(data: Any, kind: Any) -> Any:
    """JSON, as bytes or text -> that type. Raises what msgspec's decoder raises."""
    return json_decoder(kind).decode(data)


@overload
def converted(data: Any, kind: type[T]) -> T: ...
@overload
def converted(data: Any, kind: Any) -> Any: ...
def converted(data: Any, kind: Any) -> Any:
    """Tables, lists and strings -> that type. Raises ValidationError."""
    json_decoder(kind)  # the type and all that it is made of are known from here on
    return msgspec.convert(data, kind)


def _made(kind: Any, known: dict[Any, M], make: Callable[[Any], M]) -> M:
    found = known.get(kind)
    if found is None:
        with _building:
            found = known.get(kind) or make(kind)
            known[kind] = found
    return found
