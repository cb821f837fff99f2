"""Reads ``vnicaudit.bench/1``. The raw output of the tools is skipped unless requested: it is
nearly all of a file, and no verdict needs it."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as, json_decoder
from vnicaudit.model.measurement import BENCH_SCHEMA, BenchResult, Sample
from vnicaudit.reports.bench.document.faults import (
    WHAT,
    impossible,
    other_schema,
    strangers,
)
from vnicaudit.reports.json_faults import malformed, mismatch

MAX_BYTES = 1 << 30

_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20

_Keys = dict[str, msgspec.Raw]
T = TypeVar("T")


def from_file(path: Path, *, raw: bool = False) -> BenchResult:
    """The measurement in a file. Raises UsageError if it cannot be read or is not a measurement."""
    with as_usage_error(path), open_regular(path) as stream:
        return from_json(_content(stream), str(path), raw=raw)


def samples_in(path: Path) -> Iterator[Sample]:
    """Samples of a file already read by :func:`from_file`, with the raw output of the tools, one at
    a time: together they may not fit into memory. Raises UsageError."""
    name = str(path)
    with as_usage_error(path), open_regular(path) as stream:
        data = _content(stream)
    with _readable(name):
        keys = _keys(_without_bom(data), name)
        yield from _samples(keys.get("samples", msgspec.Raw(b"[]")), name, raw=True)


def from_json(data: bytes | mmap.mmap, name: str, *, raw: bool = False) -> BenchResult:
    """The measurement in a file's content; ``name`` is used in messages.

    It is enough to read ``MAX_BYTES`` plus one byte of the file. With ``raw``, samples include the
    output of the tools. Raises UsageError, with the place in the file, for anything that is not a
    measurement of this version. Unknown fields are ignored.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name}: larger than {MAX_BYTES >> 20} MiB: {WHAT}")
    data = _without_bom(data)
    if not data[:_BLOCK].strip() and not data[:].strip():
        raise UsageError(f"{name}: empty: {WHAT}")
    with _readable(name):
        return _result(data, name, raw=raw)


def _content(stream: BinaryIO) -> bytes | mmap.mmap:
    """Contents of a file: mapped into memory if possible, else read."""
    try:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # a pipe, or an empty file
        data = bytearray()
        while len(data) <= MAX_BYTES and (block := stream.read(_BLOCK)):
            data += block
        return bytes(data)


def _without_bom(data: bytes | mmap.mmap) -> bytes | mmap.mmap:
    return data[len(_BOM) :] if data[: len(_BOM)] == _BOM else data


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not UTF-8: {WHAT}") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply: {WHAT}") from None


def _keys(data: bytes | mmap.mmap, name: str) -> _Keys:
    try:
        return json_decoder(_Keys).decode(data)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {WHAT}: {mismatch(error)}") from None
    except msgspec.DecodeError as error:
        raise UsageError(malformed(data[:], name, error)) from None


def _result(data: bytes | mmap.mmap, name: str, *, raw: bool) -> BenchResult:
    keys = _keys(data, name)
    schema = _decoded(keys.get("schema", msgspec.Raw(b'""')), str, name, "schema")
    if schema != BENCH_SCHEMA:
        raise UsageError(f"{name}: {other_schema(schema)}")
    samples = keys.pop("samples", msgspec.Raw(b"[]"))
    # without its samples a measurement is small, so holding it twice is fine
    head = _decoded(msgspec.Raw(msgspec.json.encode(keys)), BenchResult, name, "")
    result = replace(head, samples=tuple(_samples(samples, name, raw=raw)))
    for fault in chain(strangers(result), impossible(result)):
        raise UsageError(f"{name}: {WHAT}: {fault}")
    return result


def _samples(given: msgspec.Raw, name: str, *, raw: bool) -> Iterator[Sample]:
    """Decode each sample from its place in the file's content, without copying the content."""
    for number, item in enumerate(_decoded(given, list[msgspec.Raw], name, "samples")):
        sample = _decoded(item, Sample, name, f"samples[{number}]")
        yield sample if raw else replace(sample, raw=())


def _decoded(given: msgspec.Raw, kind: type[T], name: str, place: str) -> T:
    try:
        return json_as(given, kind)
    except msgspec.DecodeError as error:
        raise UsageError(f"{name}: {WHAT}: {mismatch(error, place)}") from None
