"""Process many files: a few in this process, many on all cores in chunks. Results are in order.

Memory stays flat: a few chunks are in progress, and results are dropped once they are handed on.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

from vnicaudit.audit.chunk import Job, run_chunk
from vnicaudit.audit.work import Assumptions

if TYPE_CHECKING:
    from vnicaudit.audit.chunk import Batch
    from vnicaudit.audit.reading.platform import Platforms
    from vnicaudit.model.report import ReadError

CHUNK = 64
SERIAL_BELOW = 4 * CHUNK
"""With fewer files than this, worker processes are not worth their start-up."""
LARGE = 64 * 1024
"""Bytes of a file that is read in a process of its own: C code whose time grows with the square of
a smaller one takes seconds at most."""


def run_files(paths: Iterator[str], job: Job, *, explicit: bool, jobs: int) -> Iterator[Batch]:
    """Process files: in this process if they are few and small, else in ``jobs`` processes."""
    first = list(islice(paths, SERIAL_BELOW))
    if len(first) < SERIAL_BELOW or jobs < 2:
        yield from _here(chain(first, paths), job, explicit=explicit)
        return
    from vnicaudit.audit.workers import in_workers, load  # not for a few files

    load(first, job)
    yield from in_workers(_chunks(chain(first, paths)), job, jobs)


def why_not_here(data: bytes, path: str, platforms: Platforms) -> ReadError | None:
    """Why a file with this content must not be read in this process: reading it killed one that was
    made for it. None for a small file, and for one that was read."""
    if len(data) <= LARGE:
        return None
    from vnicaudit.audit.nics_work import ReadOnly  # most files are small
    from vnicaudit.audit.workers import KILLED, in_workers

    job = Job(ReadOnly(Assumptions(), platforms), path, stdin=BytesIO(data))
    errors = chain.from_iterable(one.errors for one in in_workers(iter([[path]]), job, 1))
    return next((error for error in errors if error.message == KILLED), None)


def default_jobs() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0))


def _here(paths: Iterable[str], job: Job, *, explicit: bool) -> Iterator[Batch]:
    """Process files in this process, except those that may be large: some C code handles no signal
    until it is done, and only another process can be killed."""
    for apart, some in groupby(paths, lambda path: _is_read_apart(path, job)):
        if apart:
            from vnicaudit.audit.workers import in_workers  # most files are small

            yield from in_workers(([path] for path in some), job, 1, explicit=explicit)
        else:
            for chunk in _chunks(some):
                yield run_chunk(chunk, job, explicit=explicit)


def _is_read_apart(path: str, job: Job) -> bool:
    """True for a large file, a pipe and standard input."""
    if job.stdin is not None:
        return True
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # its reader will say so
        return False
    return status.st_size > LARGE or not stat.S_ISREG(status.st_mode)


def _chunks(paths: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(paths)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk
