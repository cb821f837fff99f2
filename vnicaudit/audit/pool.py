"""Process many files: a few in this process, many on all cores in chunks. Results are in order.

Memory stays flat: a few chunks are in progress, and results are dropped once they are handed on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from vnicaudit.audit.chunk import run_chunk

if TYPE_CHECKING:
    from vnicaudit.audit.chunk import Batch, Job

CHUNK = 64
SERIAL_BELOW = 4 * CHUNK
"""With fewer files than this, worker processes are not worth their start-up."""


def run_files(paths: Iterator[str], job: Job, *, explicit: bool, jobs: int) -> Iterator[Batch]:
    """Process files: in this process if they are few, or if no more processes can be started, else
    in ``jobs`` processes."""
    first = list(islice(paths, SERIAL_BELOW))
    if len(first) < SERIAL_BELOW or jobs < 2:
        yield from _here(chain(first, paths), job, explicit=explicit)
        return
    from vnicaudit.audit.workers import has_room, in_workers, load  # not for a few files

    if has_room(jobs):
        load(first, job)
        yield from in_workers(_chunks(chain(first, paths)), job, jobs)
    else:
        yield from _here(chain(first, paths), job, explicit=explicit)


def default_jobs() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0))


def _here(paths: Iterable[str], job: Job, *, explicit: bool) -> Iterator[Batch]:
    for chunk in _chunks(paths):
        yield run_chunk(chunk, job, explicit=explicit)


def _chunks(paths: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(paths)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk
