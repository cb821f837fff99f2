"""``vnicaudit.bench/1``: everything, for programs and for ``bench compare``. The schema is in
``docs/schemas/``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.model.measurement import BenchResult, Sample
from vnicaudit.reports.bench.reading import (
    MAX_BYTES,
    from_file,
    from_json,
    pieces,
    samples_in,
)
from vnicaudit.reports.writers import Options

__all__ = [
    "FORMAT", "MAX_BYTES", "SUMMARY", "from_file", "from_json", "render", "samples_in", "stream",
]  # fmt: skip

FORMAT = "json"
SUMMARY = "vnicaudit.bench/1: everything, for programs"


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The document in pieces, one per sample. Options have no effect."""
    del options
    yield from pieces(result, result.samples)


def stream(head: BenchResult, samples: Iterable[Sample]) -> Iterator[str]:
    """Pieces of the JSON document of ``head``. ``samples`` are used instead of those of ``head``,
    and are taken one at a time, since they may not fit into memory."""
    yield from pieces(head, samples)
