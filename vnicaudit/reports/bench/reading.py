"""Reads ``vnicaudit.bench/1``, and the results of k8s-netperf. The raw output of the tools is
skipped unless requested: it is nearly all of a file, and no verdict needs it."""

from __future__ import annotations

import math
import mmap
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec
from msgspec.structs import astuple, replace

from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as, json_decoder, malformed, mismatch
from vnicaudit.model.measurement import (
    BENCH_SCHEMA,
    ArmSummary,
    BenchResult,
    Comparison,
    Effect,
    Sample,
)
from vnicaudit.reports.json_parts import Separator
from vnicaudit.reports.safe import encode, encode_items

WHAT = "not a measurement"

_VERSIONED = re.compile(r"vnicaudit\.bench/\w+")


def other_schema(schema: str) -> str:
    """Message for a file of another schema, or another version of this one."""
    if _VERSIONED.fullmatch(schema):
        return (
            f"a measurement of another version, {schema}; this vnicaudit reads {BENCH_SCHEMA}: "
            "read it with the version that wrote it"
        )
    return f"{WHAT}: its schema is {schema[:80]!r}; a measurement is {BENCH_SCHEMA}"


def strangers(result: BenchResult) -> Iterator[str]:
    """Samples and results of a workload or an arm that the file does not declare: no table would
    show them."""
    known = {workload.id for workload in result.workloads}
    arms = set(result.arms)
    for number, sample in enumerate(result.samples):
        yield from _stranger(f"samples[{number}].workload", sample.workload, known)
        yield from _stranger(f"samples[{number}].arm", sample.arm, arms)
    for number, one in enumerate(result.results):
        yield from _stranger(f"results[{number}].workload", one.workload, known)
        yield from _stranger(f"results[{number}].before_arm", one.before_arm, arms)
        yield from _stranger(f"results[{number}].after_arm", one.after_arm, arms)


def impossible(result: BenchResult) -> Iterator[str]:
    """Samples that cannot exist: the same run twice, which would count twice as evidence, and
    negative values."""
    seen: set[tuple[str, str, int]] = set()
    for number, sample in enumerate(result.samples):
        run = (sample.arm, sample.workload, sample.order)
        if run in seen:
            yield f"samples[{number}]: run {sample.order} of {sample.arm[:80]!r} appears twice"
        seen.add(run)
        for metric, value in sample.values.items():
            if value < 0:
                yield f"samples[{number}].values.{metric[:80]}: less than 0"


def _stranger(place: str, name: str, known: set[str]) -> Iterator[str]:
    if name not in known:
        kind = "workload" if place.endswith("workload") else "arm"
        yield f"{place}: there is no {kind} {name[:80]!r}"


MAX_BYTES = 1 << 30

_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20

_Keys = dict[str, msgspec.Raw]
T = TypeVar("T")


def from_file(path: Path, *, raw: bool = False) -> BenchResult:
    """The measurement in a file. Raises UsageError if it cannot be read or is not a measurement."""
    with as_usage_error(path), open_regular(path) as stream:
        data = _content(stream)
        return _of_k8s_netperf(data, str(path)) or from_json(data, str(path), raw=raw)


def _of_k8s_netperf(data: bytes | mmap.mmap, name: str) -> BenchResult | None:
    """The results of another program; None: it is not a file of that."""
    from vnicaudit.reports.bench import k8s_netperf  # loaded only for a file in its form

    is_one = k8s_netperf.is_of_k8s_netperf(bytes(_without_bom(data[:_BLOCK])))
    return k8s_netperf.from_k8s_netperf(bytes(_without_bom(data)), name) if is_one else None


def samples_in(path: Path) -> Iterator[Sample]:
    """Samples of a file already read by :func:`from_file`, with the raw output of the tools, one at
    a time: together they may not fit into memory. Raises UsageError."""
    name = str(path)
    with as_usage_error(path), open_regular(path) as stream:
        data = _content(stream)
    if (other := _of_k8s_netperf(data, name)) is not None:
        yield from other.samples
        return
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


_HEAD = ("run", "arms", "paths", "environment", "workloads")
"""Keys before the samples."""

Numbers = TypeVar("Numbers", Effect, ArmSummary)


def pieces(head: BenchResult, samples: Iterable[Sample]) -> Iterator[str]:
    """The file, with keys in the order of the record.

    ``samples`` replace those of ``head`` and are taken one at a time, so they may come from a file
    and not fit into memory. Numbers that are not finite cannot be written in JSON; they were not
    measured, and are left out.
    """
    yield f'{{"schema":"{head.schema}"'
    for name in _HEAD:
        yield f',\n"{name}":{encode(getattr(head, name))}'
    yield ',\n"samples":['
    separator = Separator()
    for sample in samples:
        yield separator.before() + encode(_finite_sample(sample))
    yield f'],\n"guard_rails":{encode(head.guard_rails)},\n"results":['
    if head.results:
        yield "\n" + encode_items([_finite_comparison(one) for one in head.results])
    yield f'],\n"decision":{encode(head.decision)},\n"notes":{encode(head.notes)}}}\n'


def _finite_sample(sample: Sample) -> Sample:
    if all(map(math.isfinite, sample.values.values())):
        return sample
    values = {name: value for name, value in sample.values.items() if math.isfinite(value)}
    return replace(sample, values=values)


def _finite_comparison(comparison: Comparison) -> Comparison:
    return replace(
        comparison,
        effect=_whole(comparison.effect),
        before=_whole(comparison.before),
        after=_whole(comparison.after),
    )


def _whole(record: Numbers | None) -> Numbers | None:
    """The record, or None if a number in it is not finite."""
    numbers = [] if record is None else [n for n in astuple(record) if isinstance(n, float)]
    return record if all(map(math.isfinite, numbers)) else None
