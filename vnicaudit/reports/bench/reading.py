"""Reads and writes ``vnicaudit.bench/1``, and reads the results of k8s-netperf."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as, malformed, mismatch
from vnicaudit.model.measurement import BENCH_SCHEMA, BenchResult
from vnicaudit.reports.bench.k8s_netperf import from_k8s_netperf, is_of_k8s_netperf
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


def faults(result: BenchResult) -> Iterator[str]:
    """Samples and results of a workload or an arm that the file does not declare, which no table
    would show; and samples that cannot exist: the same run twice, which would count twice as
    evidence, and negative values."""
    known = {"workload": {workload.id for workload in result.workloads}, "arm": set(result.arms)}

    def stranger(place: str, kind: str, name: str) -> Iterator[str]:
        if name not in known[kind]:
            yield f"{place}: there is no {kind} {name[:80]!r}"

    seen: set[tuple[str, str, int]] = set()
    for number, sample in enumerate(result.samples):
        place = f"samples[{number}]"
        yield from stranger(f"{place}.workload", "workload", sample.workload)
        yield from stranger(f"{place}.arm", "arm", sample.arm)
        run = (sample.arm, sample.workload, sample.order)
        if run in seen:
            yield f"{place}: run {sample.order} of {sample.arm[:80]!r} appears twice"
        seen.add(run)
        for metric, value in sample.values.items():
            if value < 0:
                yield f"{place}.values.{metric[:80]}: less than 0"
    for number, one in enumerate(result.results):
        place = f"results[{number}]"
        yield from stranger(f"{place}.workload", "workload", one.workload)
        yield from stranger(f"{place}.before_arm", "arm", one.before_arm)
        yield from stranger(f"{place}.after_arm", "arm", one.after_arm)


MAX_BYTES = 1 << 30
_BOM = b"\xef\xbb\xbf"
_BEGINNING = 4096


class _Schema(msgspec.Struct):
    schema: str = ""


def from_file(path: Path) -> BenchResult:
    """The measurement in a file. Raises UsageError if it cannot be read or is not a measurement."""
    with as_usage_error(path), open_regular(path) as stream:
        if os.fstat(stream.fileno()).st_size > MAX_BYTES:
            raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB: {WHAT}")
        data = stream.read().removeprefix(_BOM)
    if is_of_k8s_netperf(data[:_BEGINNING]):
        return from_k8s_netperf(data, str(path))
    return from_json(data, str(path))


def from_json(data: bytes, name: str) -> BenchResult:
    """The measurement in a file's content; ``name`` is used in messages. Raises UsageError, with
    the place in the file, for anything that is not a measurement of this version. Unknown fields
    are ignored."""
    if not data.strip():
        raise UsageError(f"{name}: empty: {WHAT}")
    try:
        schema = json_as(data, _Schema).schema
        if schema != BENCH_SCHEMA:
            raise UsageError(f"{name}: {other_schema(schema)}")
        result = json_as(data, BenchResult)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {WHAT}: {mismatch(error)}") from None
    except msgspec.DecodeError as error:
        raise UsageError(malformed(data, name, error)) from None
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not UTF-8: {WHAT}") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply: {WHAT}") from None
    for fault in faults(result):
        raise UsageError(f"{name}: {WHAT}: {fault}")
    return result


_ITEM_A_LINE = ("samples", "results")


def pieces(result: BenchResult) -> Iterator[str]:
    """The file, key by key, with a line for each sample and each result."""
    before = "{"
    for name in BenchResult.__struct_fields__:
        value = getattr(result, name)
        lines = name in _ITEM_A_LINE and value
        yield f'{before}"{name}":' + (f"[\n{encode_items(value)}]" if lines else encode(value))
        before = ",\n"
    yield "}\n"
