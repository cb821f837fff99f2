"""Writes ``vnicaudit.bench/1`` as a stream, one sample per line, without keeping samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TypeVar

from msgspec.structs import astuple, replace

from vnicaudit.model.measurement import ArmSummary, BenchResult, Comparison, Effect, Sample
from vnicaudit.reports.array import Separator
from vnicaudit.reports.encode import encode, encode_items

_HEAD = ("run", "arms", "paths", "environment", "workloads")
"""Keys before the samples."""

T = TypeVar("T", Effect, ArmSummary)


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


def _whole(record: T | None) -> T | None:
    """The record, or None if a number in it is not finite."""
    numbers = [] if record is None else [n for n in astuple(record) if isinstance(n, float)]
    return record if all(map(math.isfinite, numbers)) else None
