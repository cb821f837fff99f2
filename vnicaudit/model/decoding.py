"""Decoders of records, safe in any thread, and values in decoded JSON.

msgspec examines a record class when it first decodes one, and stores the result with the class. If
two threads are first at the same time, one sees an incomplete result, and the program dies of a
segmentation fault (msgspec 0.22). So all decoders are made here, by one thread at a time.
"""

from __future__ import annotations

import re
from _thread import RLock  # threading is slow to load
from collections.abc import Callable, Mapping
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
    """The decoder of JSON for this type; created once."""
    return _codec_for(kind, _json, msgspec.json.Decoder)


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """The decoder of MessagePack for this type; created once."""
    return _codec_for(kind, _msgpack, msgspec.msgpack.Decoder)


@overload
def json_as(data: bytes | str, kind: type[T]) -> T: ...
@overload
def json_as(data: bytes | str, kind: object) -> Any: ...
def json_as(data: bytes | str, kind: object) -> Any:
    """Decode JSON, as bytes or text, as that type. Raises the errors of msgspec's decoder."""
    return json_decoder(kind).decode(data)


@overload
def converted(data: object, kind: type[T], *, strict: bool = True) -> T: ...
@overload
def converted(data: object, kind: object, *, strict: bool = True) -> Any: ...
def converted(data: object, kind: object, *, strict: bool = True) -> Any:
    """Convert tables, lists and strings to that type; ``strict`` False: also numbers written as
    text. Raises ValidationError."""
    json_decoder(kind)  # makes msgspec examine the type and all its parts
    return msgspec.convert(data, kind, strict=strict)


def _codec_for(kind: object, known: dict[object, M], make: Callable[[Any], M]) -> M:
    found = known.get(kind)
    if found is None:
        with _building:
            found = known.get(kind) or make(kind)
            known[kind] = found
    return found


# Errors reported by msgspec for a file that was edited or cut off, starting with the place.


_AT_BYTE = re.compile(r"JSON is malformed: (?P<what>.*) \(byte (?P<byte>\d+)\)")
_AT_PATH = re.compile(r"(?=.*`\Z)(?P<what>.*) - at `\$(?P<path>.*)`", re.DOTALL)


def mismatch(error: msgspec.DecodeError, place: str = "") -> str:
    """``samples[3].block: Expected `int`, got `str```. ``place``: the part being read."""
    found = _AT_PATH.fullmatch(str(error))
    what = found["what"] if found else str(error)
    path = (place + (found["path"] if found else "")).removeprefix(".")
    return f"{path}: {what}" if path else what


def malformed(data: bytes, name: str, error: msgspec.DecodeError) -> str:
    """``plan.json:3:17: not JSON: invalid character``: line and column (in bytes), both from 1."""
    found = _AT_BYTE.fullmatch(str(error))
    if not found:
        return f"{name}: not JSON: {error}"
    # msgspec counts the first trailing character as read
    end = int(found["byte"]) - (found["what"] == "trailing characters")
    line, column = data.count(b"\n", 0, end) + 1, end - data.rfind(b"\n", 0, end)
    return f"{name}:{line}:{column}: not JSON: {found['what']}"


# Decoded JSON that has no record, by JSON pointers.


def value_at(found: object, path: str) -> object:
    """The value at a JSON pointer; None: there is none."""
    value = found
    for word in path.split("/")[1:]:
        if isinstance(value, Mapping):
            value = value.get(word)
        elif isinstance(value, list) and word.isdigit() and int(word) < len(value):
            value = value[int(word)]
        else:
            return None
    return value


def text_at(found: object, path: str) -> str:
    """The text at a JSON pointer; empty: there is none."""
    value = value_at(found, path)
    return value if isinstance(value, str) else ""


def texts_at(found: object, path: str) -> dict[str, str]:
    """The texts in the object at a JSON pointer."""
    value = value_at(found, path)
    entries = value.items() if isinstance(value, Mapping) else ()
    return {key: text for key, text in entries if isinstance(text, str)}


def objects_at(found: object, path: str) -> list[Mapping[str, object]]:
    """The objects in the list at a JSON pointer."""
    value = value_at(found, path)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
