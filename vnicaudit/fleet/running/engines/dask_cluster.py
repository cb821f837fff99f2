"""A Dask cluster that somebody else runs: its connection, and which workers it has.

A scheduler that dies takes along all that it was given. The connection is made anew for as long as
is reasonable; whoever waits for something is told to hand it in again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import msgspec

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.errors import MissingExtraError, TargetError, UsageError
from vnicaudit.model.decoding import converted

if TYPE_CHECKING:
    from distributed import Client, Future, Security

LOOK_SECONDS = 2.0
"""Between two looks at the workers."""
PATIENCE = 120.0
"""Seconds for which the scheduler, or all workers of a site, may be away."""
_AWAY = 5 * LOOK_SECONDS
"""After so many seconds without an answer the scheduler was away."""
_CONNECT_SECONDS = 30.0
_CALL_SECONDS = 20.0
_LOGGERS = ("distributed", "distributed.client", "distributed.core", "asyncio")


class TlsFiles(msgspec.Struct, frozen=True):
    """Files with the authority of a cluster, and this program's own certificate and key (None:
    Dask's own configuration names them, or nothing does)."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


class ResubmitError(Exception):
    """The scheduler has forgotten what it was given: it is to be given it again."""


class NoWorkerError(Exception):
    """No worker has the site's resource, and none had it for a while."""


class _ClusterWorker(msgspec.Struct, frozen=True):
    nthreads: int = 0
    resources: dict[str, float] = {}

    def slots(self, site: str) -> int:
        """How many hosts of a site it reads at once; of no site: of any."""
        if not site:
            return self.nthreads
        return min(self.nthreads, int(self.resources.get(site, 0)))


class _WorkerIdentity(msgspec.Struct, frozen=True):
    workers: dict[str, _ClusterWorker] = {}


class Cluster:
    """The cluster of a scheduler. Raises MissingExtraError, and UsageError where nobody answers at
    the address."""

    def __init__(self, address: str, tls: TlsFiles, patience: float = PATIENCE) -> None:
        self.address = address
        self._tls = tls
        self._patience = patience
        self._lock = threading.Lock()
        self._looked = 0.0
        self._answered = self._began = time.monotonic()
        self._seen: dict[str, float] = {}
        self._slots: Counter[str] = Counter()
        self._closed = False
        try:
            self._client = self._connected()
        except (OSError, ValueError) as error:
            raise UsageError(f"--scheduler {address}: {_reason(error)}") from None
        self.look()

    def _connected(self) -> Client:
        """Raises OSError where nobody answers, ValueError for an address that makes no sense."""
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("--engine dask", "dask") from None
        for name in _LOGGERS:  # what it says there is said here, once
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        return Client(
            self.address,
            timeout=_CONNECT_SECONDS,
            security=self._security(),
            set_as_default=False,
            name="vnicaudit",
            direct_to_workers=False,
        )

    def _security(self) -> Security | None:
        from distributed import Security

        if self._tls == TlsFiles():
            return None
        return Security(
            require_encryption=True,
            tls_ca_file=self._tls.ca,
            tls_client_cert=self._tls.certificate,
            tls_client_key=self._tls.key,
        )

    def look(self) -> None:
        """Ask which workers there are, unless that was done just now. Raises TargetError where the
        scheduler has been away for too long."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked < LOOK_SECONDS:
                return
            workers = self._workers()
            self._looked = time.monotonic()
            if workers is None:
                if self._looked - self._answered > self._patience:
                    self._give_up()
                return
            self._note(workers)

    def _note(self, workers: list[_ClusterWorker]) -> None:
        if self._looked - self._answered > _AWAY:  # its workers are to find it again
            self._seen = {}
            self._began = self._looked
        self._answered = self._looked
        sites = {site for worker in workers for site in worker.resources} | {""}
        slots = {site: sum(worker.slots(site) for worker in workers) for site in sites}
        self._slots = Counter(slots)
        self._seen.update((site, self._looked) for site, number in slots.items() if number)

    def _workers(self) -> list[_ClusterWorker] | None:
        """None: the scheduler does not answer."""
        from distributed import TimeoutError as LateError

        if self._closed:
            raise TargetError(
                f"the connection to the scheduler {self.address} was closed", failure="broken"
            )
        try:
            if self._client.status == "closed":
                self._client = self._connected()
            told = self._client.sync(
                self._client.scheduler.identity, callback_timeout=_CALL_SECONDS
            )
        except (OSError, LateError, RuntimeError):  # RuntimeError: closed at this very moment
            return None
        return list(converted(told, _WorkerIdentity).workers.values())

    def _give_up(self) -> NoReturn:
        raise TargetError(
            f"the scheduler {self.address} has not answered for {self._patience:g} s",
            failure="unreachable",
        )

    def slots(self, site: str) -> int:
        """How many hosts of a site its workers can read at once, as of the last look; 1 where none
        can: somebody has to find out."""
        return max(1, self._slots[site])

    def check_site(self, site: str) -> None:
        """Raises NoWorkerError where no worker has had the site's resource for a while, or none has
        had it ever. Raises TargetError as :meth:`look` does."""
        self.look()
        with self._lock:
            since = self._seen.get(site, self._began)
            if self._answered - since > self._patience:
                raise NoWorkerError

    def run_everywhere(self, function: Callable[[], bytes]) -> dict[str, bytes | BaseException]:
        """The value that a function returns, or the error that it raises, on each worker there is
        now. Raises UsageError where one does not answer."""
        client = self._client
        call = DaemonCall("workers", lambda: client.run(function, on_error="return"))
        try:
            return call.result(_CONNECT_SECONDS * 3)
        except TimeUpError:
            raise UsageError(
                f"--scheduler {self.address}: its workers do not answer; restart them"
            ) from None

    def submit(self, function: Callable[[bytes], bytes], data: bytes, site: str) -> Future[bytes]:
        """Hand in a task. Raises ResubmitError where that is impossible now."""
        try:
            return self._client.submit(
                function, data, pure=False, resources={site: 1.0} if site else None
            )
        except (OSError, RuntimeError):
            raise ResubmitError from None

    def result(self, future: Future[bytes], site: str, seconds: float) -> bytes | BaseException:
        """The value of a task, or the error that it ended with. Raises TimeUpError after so many
        seconds, ResubmitError, NoWorkerError and TargetError."""
        from distributed import CancelledError
        from distributed import TimeoutError as LateError

        for wait in _waits(seconds):
            try:
                error = future.exception(timeout=wait)
                return future.result(timeout=_CALL_SECONDS) if error is None else error
            except CancelledError:
                raise ResubmitError from None
            except (LateError, TimeoutError):
                self.check_site(site)
            except (OSError, RuntimeError):
                raise ResubmitError from None
        raise TimeUpError

    def close(self) -> None:
        """Give up what was handed in, and leave."""
        self._closed = True
        with suppress(OSError, RuntimeError, TimeUpError):
            DaemonCall("close", lambda: self._client.close(_CALL_SECONDS)).result(_CALL_SECONDS)


def _waits(seconds: float) -> Iterator[float]:
    """How long to wait, again and again, until so many seconds have passed."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        yield min(left, LOOK_SECONDS)


def _reason(error: Exception) -> str:
    """The error, and what it came of: where a certificate is refused, Dask says that it took too
    long."""
    last: BaseException = error
    while last.__cause__ is not None:
        last = last.__cause__
    texts = [(str(one).splitlines() or [type(one).__name__])[0] for one in (error, last)]
    return ": ".join(dict.fromkeys(texts))
