"""Many files at once: a few in this process, many on all cores, in chunks."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, NoReturn

import msgspec

from vnicaudit.audit.chunk import Batch, Job, RaisedInWorker, run_chunk
from vnicaudit.audit.work import Assumptions, Work
from vnicaudit.base.deadlines import FILE_SECONDS, kill_when_late
from vnicaudit.errors import VnicauditError
from vnicaudit.model.decoding import msgpack_decoder
from vnicaudit.model.report import ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Platforms

# Process many files: a few in this process, many on all cores in chunks. Results are in order.
#
# Memory stays flat: a few chunks are in progress, and results are dropped once they are handed on.


CHUNK = 64
SERIAL_BELOW = 4 * CHUNK
"""With fewer files than this, worker processes are not worth their start-up."""
LARGE = 64 * 1024
"""Bytes of a file that is read in a process of its own: C code whose time grows with the square of
a smaller one takes seconds at most."""


def run_files(paths: Iterator[str], job: Job, *, explicit: bool, jobs: int) -> Iterator[Batch]:
    """Process files: in this process if they are few and small, else in ``jobs`` processes. A large
    file is read in a process of its own: some C code handles no signal until it is done, and only
    another process can be killed."""
    first = list(islice(paths, SERIAL_BELOW))
    every = chain(first, paths)
    if len(first) == SERIAL_BELOW and jobs > 1:
        load(first, job)
        yield from in_workers(_chunks(every), job, jobs)
        return
    for apart, some in groupby(every, lambda path: _is_read_apart(path, job)):
        if apart:
            yield from in_workers(([path] for path in some), job, 1, explicit=explicit)
        else:
            for chunk in _chunks(some):
                yield run_chunk(chunk, job, explicit=explicit)


def why_not_here(data: bytes, path: str, platforms: Platforms) -> ReadError | None:
    """Why a file with this content must not be read in this process: reading it killed one that was
    made for it. None for a small file, and for one that was read."""
    if len(data) <= LARGE:
        return None
    job = Job(Work(Assumptions(), platforms), path, stdin=BytesIO(data))
    errors = chain.from_iterable(one.errors for one in in_workers(iter([[path]]), job, 1))
    return next((error for error in errors if error.message == KILLED), None)


def default_jobs() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0))


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


# Process chunks of files in worker processes.
#
# A worker is a forked process with two pipes: a list of paths goes in, a batch comes out. Nothing
# else is shared, no thread and no lock, so it may be killed at any moment: only the file that it
# was reading is lost, and the run goes on, or ends, at once.


_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LENGTH = 8
"""Bytes before each message that tell its length."""
_PART = 1 << 20
"""Bytes that are read from a pipe at once."""
_RAISED = 3
"""Exit code of a worker whose work raised an exception."""
_LOOK = 500
"""Milliseconds after which Python looks for signals, as in :mod:`vnicaudit.base.deadlines`."""
_WINDOW = 4
"""Chunks for each worker that are in progress, or wait for one that was read before them."""

KILLED = (
    "reading it killed a worker process (a crash in a library, or far more than "
    f"{FILE_SECONDS:.0f} s of CPU time)"
)
"""The error of a file that killed the worker which read it."""


def in_workers(
    chunks: Iterator[list[str]], job: Job, jobs: int, *, explicit: bool = False
) -> Iterator[Batch]:
    """Process chunks of files in ``jobs`` processes, or in as many as can be started; the results
    are in the order of the chunks."""
    crew = _Crew(chunks, job, jobs, explicit=explicit)
    try:
        yield from crew.batches()
    finally:
        crew.end()


def load(paths: Iterable[str], job: Job) -> None:
    """Import the modules that worker processes will need before they are forked: otherwise each
    would import them. Chosen by file names alone: the content of a file may crash the process that
    reads it."""
    ends = {os.path.splitext(path)[1] for path in paths}
    kinds = [kind for kind in job.work.platforms.files if kind.suffix in ends and kind.suffix]
    for kind in kinds:
        kind.load()
    if kinds:
        job.work.load()


class _Task:
    """A chunk of files, and its batch once they have been processed."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.batch: Batch | None = None


class _Crew:
    """The workers of one job. After the death of one, each file of its chunk is processed alone, so
    that the one that kills workers is identified."""

    def __init__(self, chunks: Iterator[list[str]], job: Job, jobs: int, *, explicit: bool) -> None:
        self._new = map(_Task, chunks)
        self._job = job
        self._jobs = jobs
        self._explicit = explicit
        self._workers: list[_Worker] = []
        self._in_order: deque[_Task] = deque()
        self._again: deque[_Task] = deque()
        self._decoder = msgpack_decoder(Batch)

    def batches(self) -> Iterator[Batch]:
        """The batches of all chunks, in their order."""
        while True:
            self._assign()
            if not self._in_order and self._next() is None:
                return
            first = self._in_order[0]
            if first.batch is None and not self._workers:
                first.batch = self._here(first)
            if first.batch is None:
                self._receive(_LOOK)
                if self._job.still_waits is not None:
                    self._job.still_waits()
                continue
            self._in_order.popleft()
            self._receive(0)  # so that no worker is idle while the caller takes the batch
            self._assign()
            yield first.batch

    def end(self) -> None:
        """Kill all workers."""
        for worker in self._workers:
            worker.end()

    def _here(self, task: _Task) -> Batch:
        """The batch of a task, processed in this process."""
        return run_chunk(task.paths, self._job, explicit=self._explicit)

    def _assign(self) -> None:
        """Give work to all workers that have none."""
        while (worker := self._idle()) is not None and (task := self._next()) is not None:
            worker.begin(task)

    def _idle(self) -> _Worker | None:
        """A worker without work: a new one, if all others work and there may be more."""
        for worker in self._workers:
            if worker.task is None:
                return worker
        if len(self._workers) < self._jobs:
            try:
                with _signals_wait():  # a worker that is started is also ended
                    worker = _Worker(self._workers, self._job, explicit=self._explicit)
                    self._workers.append(worker)
            except OSError:  # a container's limit of processes is reached, or memory is short
                self._jobs = len(self._workers)
            else:
                return worker
        return None

    def _next(self) -> _Task | None:
        """The next task to begin; None if there is none, or enough wait for an earlier one."""
        if self._again:
            return self._again.popleft()
        if len(self._in_order) >= max(self._jobs, 1) * _WINDOW:
            return None
        if (task := next(self._new, None)) is not None:
            self._in_order.append(task)
        return task

    def _receive(self, milliseconds: int) -> None:
        """Take the batches that come within a time."""
        poll = select.poll()
        working = {worker.results: worker for worker in self._workers if worker.task is not None}
        for descriptor in working:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _event in poll.poll(milliseconds):
            worker = working[descriptor]
            task, message = worker.task, worker.receive()
            if task is not None and message is None:
                self._lose(worker, task)
            elif task is not None and message:
                batch = self._decoder.decode(message)
                if batch.failure is not None:
                    batch.failure.raise_again()
                task.batch, worker.task = batch, None

    def _lose(self, worker: _Worker, task: _Task) -> None:
        """Process each file of a dead worker alone, or name the one that killed it; an exception is
        raised again in this process, where the files are read again."""
        self._workers.remove(worker)
        if worker.end() == _RAISED:
            task.batch = self._here(task)
            return
        if len(task.paths) == 1:
            task.batch = Batch(errors=[ReadError(KILLED, task.paths[0])], files=1)
            return
        alone = [_Task([path]) for path in task.paths]
        place = self._in_order.index(task)
        self._in_order.remove(task)
        for number, each in enumerate(alone, place):
            self._in_order.insert(number, each)
        self._again.extend(alone)


class _Worker:
    """A process that reads files. ``task``: what it works on; None: it waits. ``results``: the pipe
    from which its batches are read. Raises OSError if it cannot be started."""

    def __init__(self, others: Iterable[_Worker], job: Job, *, explicit: bool) -> None:
        self.task: _Task | None = None
        self._received = bytearray()
        requests, self._requests = os.pipe()
        self.results, results = os.pipe()
        try:
            self._process = os.fork()
            if not self._process:
                # a worker ends when nobody can write to it any more
                unused = [(each.results, each._requests) for each in (self, *others)]
                _serve(requests, results, job, explicit=explicit, close=chain(*unused))
        except OSError:
            os.close(self._requests)
            os.close(self.results)
            raise
        finally:
            os.close(requests)
            os.close(results)

    def begin(self, task: _Task) -> None:
        """Have the worker, which waits, process some files."""
        self.task = task
        with contextlib.suppress(OSError):  # it is dead, which its other pipe tells
            _send(self._requests, b"\0".join(map(os.fsencode, task.paths)))

    def receive(self) -> bytearray | None:
        """The encoded batch once all of it is here, until then empty; None: the worker is
        dead."""
        part = os.read(self.results, _PART)
        self._received += part
        end = _LENGTH + int.from_bytes(self._received[:_LENGTH], "big")
        if not _LENGTH < end <= len(self._received):
            return bytearray() if part else None
        message, self._received = self._received[_LENGTH:end], bytearray()
        return message

    def end(self) -> int:
        """Kill the worker, if it is not dead; returns its exit code, negative for a signal."""
        os.kill(self._process, signal.SIGKILL)
        _process, status = os.waitpid(self._process, 0)
        os.close(self._requests)
        os.close(self.results)
        return os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Delay signals until this context ends; in a forked process until it unblocks them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(
    requests: int, results: int, job: Job, *, explicit: bool, close: Iterable[int]
) -> NoReturn:
    """Work as a worker until no more requests can come. The parent decides when a run ends: a
    signal to the whole group (Ctrl-C, ``systemctl stop``) is its business."""
    try:
        for number in _STOPPING:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
        for descriptor in close:
            os.close(descriptor)
        kill_when_late()
        encoder = msgspec.msgpack.Encoder()
        with open(requests, "rb") as stream:
            while length := stream.read(_LENGTH):
                names = stream.read(int.from_bytes(length, "big")).split(b"\0")
                try:
                    batch = run_chunk(map(os.fsdecode, names), job, explicit=explicit)
                except Exception as error:  # an edge: raised again in the parent
                    if job.stdin is None and all(map(os.path.isfile, names)):
                        raise  # the parent reads them again
                    batch = Batch(failure=_failure(error))
                _send(results, encoder.encode(batch))
    finally:
        os._exit(_RAISED)


def _failure(error: Exception) -> RaisedInWorker:
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, VnicauditError):
        return RaisedInWorker(str(error), trace, error.exit_code)
    return RaisedInWorker(f"{type(error).__name__}: {error}", trace, None)


def _send(descriptor: int, message: bytes) -> None:
    """Write a message. Raises OSError if nobody reads it."""
    rest = memoryview(len(message).to_bytes(_LENGTH, "big") + message)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
