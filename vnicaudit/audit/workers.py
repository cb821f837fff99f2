"""Process chunks of files in worker processes.

If a worker dies (a crash in a C library), only the file that killed it is lost, not the run.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.audit.chunk import Batch, Job, run_chunk
from vnicaudit.base.cpu_deadline import FILE_SECONDS, kill_when_late
from vnicaudit.model.decoding import msgpack_decoder
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import ReadError
from vnicaudit.model.site import SiteNode

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
"""prctl(2)."""

_OWN_THREADS = 2
"""Threads of an executor beside its workers: one manages them, one feeds them."""

_KILLED = (
    "reading it killed a worker process (a crash in a library, or far more than "
    f"{FILE_SECONDS:.0f} s of CPU time)"
)


class ReturnedBatch(Batch):
    """A batch as a worker returns it: to decode it, the records must be known that the audit of a
    single nova.conf does not load."""

    resolved: list[Domain] = msgspec.field(default_factory=list)
    nodes: list[SiteNode] = msgspec.field(default_factory=list)
    guests: list[Domain] = msgspec.field(default_factory=list)


def in_workers(chunks: Iterator[list[str]], job: Job, jobs: int) -> Iterator[Batch]:
    """Process chunks of files in ``jobs`` processes; the results are in the order of the chunks."""
    # imported late: it takes a while
    from concurrent.futures.process import BrokenProcessPool

    decoder = msgpack_decoder(ReturnedBatch)
    waiting: deque[list[str]] = deque()
    futures: deque[Future[bytes]] = deque()
    pool = _pool(job, jobs)
    try:
        for chunk in chunks:
            waiting.append(chunk)
            futures.append(_submitted(pool, chunk))
            if len(waiting) >= jobs * 4:
                yield decoder.decode(futures.popleft().result())
                waiting.popleft()
        while waiting:
            yield decoder.decode(futures.popleft().result())
            waiting.popleft()
    except BrokenProcessPool:
        # a chunk leaves ``waiting`` only once its result is there, so none is lost
        left = chain.from_iterable(chain(waiting, chunks))
        yield from _one_by_one(left, job, decoder)
    except _NoMoreProcessesError:
        _end_workers()
        for chunk in chain(waiting, chunks):
            yield run_chunk(chunk, job, explicit=False)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def load(paths: Iterable[str], job: Job) -> None:
    """Import the modules that worker processes will need before they are forked: otherwise each
    would import them. Chosen by file names alone: the content of a file may crash the process that
    reads it."""
    import ctypes  # noqa: F401 (each worker uses it)

    ends = {os.path.splitext(path)[1] for path in paths}
    kinds = [kind for kind in job.work.platforms.files if kind.suffix in ends and kind.suffix]
    for kind in kinds:
        kind.load()
    if kinds:
        job.work.load()


def has_room(jobs: int) -> bool:
    """True if the kernel can start ``jobs`` workers, tried with threads, which it counts as
    processes. An executor that gets its workers but not its threads never ends."""
    import threading

    over = threading.Event()
    threads: list[threading.Thread] = []
    with _signals_wait():
        try:
            for _each in range(jobs + _OWN_THREADS):
                thread = threading.Thread(target=over.wait, daemon=True)
                thread.start()
                threads.append(thread)
        except RuntimeError:
            return False
        finally:
            over.set()
            for thread in threads:
                thread.join()
    return True


class _NoMoreProcessesError(Exception):
    """The kernel starts no more workers: a container's limit of processes is reached, or memory is
    short. Not an OSError, which reading a file may raise."""


def _submitted(pool: ProcessPoolExecutor, paths: list[str]) -> Future[bytes]:
    """Have a worker read some files. Raises _NoMoreProcessesError."""
    with _signals_wait():
        try:
            return pool.submit(_in_worker, paths)
        except OSError:
            raise _NoMoreProcessesError from None


def _end_workers() -> None:
    """End the workers that were started: they wait for work that will not come."""
    import multiprocessing

    for worker in multiprocessing.active_children():
        worker.kill()
        worker.join()


def _one_by_one(
    paths: Iterator[str], job: Job, decoder: msgspec.msgpack.Decoder[ReturnedBatch]
) -> Iterator[Batch]:
    """After a worker died: process each file alone, so that the one that kills workers is
    identified."""
    from concurrent.futures.process import BrokenProcessPool

    pool = _pool(job, 1)
    try:
        for path in paths:
            try:
                with _signals_wait():
                    future = pool.submit(_in_worker, [path])
                yield decoder.decode(future.result())
            except BrokenProcessPool:
                pool.shutdown()
                pool = _pool(job, 1)
                yield Batch(errors=[ReadError(_KILLED, path)], files=1)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _pool(job: Job, jobs: int) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # fork: the workers inherit the loaded rules instead of loading them again; nothing else runs
    # in this process yet (files are read before live connections and clouds are opened)
    context = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker, initargs=(job,))


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Delay signals until this context ends. Submitting work may fork and start threads; an
    exception raised by a signal handler in the middle of that is lost, or leaves a thread half
    started."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """The job that a worker process was started with."""

    job: Job
    encoder = msgspec.msgpack.Encoder()


def _start_worker(job: Job) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops the run
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    _die_with_parent()
    kill_when_late()
    _Worker.job = job


def _die_with_parent() -> None:
    """If the parent is killed outright it cannot stop its workers: ask the kernel to (Linux)."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _in_worker(paths: list[str]) -> bytes:
    batch = run_chunk(paths, _Worker.job, explicit=False)
    return _Worker.encoder.encode(batch)
