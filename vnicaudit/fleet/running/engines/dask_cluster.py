"""The connection to an existing Dask cluster, and its workers.

A scheduler that dies loses all its tasks. The connection is re-established for a limited time, and
callers waiting for a result are told to resubmit.
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
"""Seconds between two checks of the workers."""
PATIENCE = 120.0
"""Seconds for which the scheduler, or all workers of a site, may be missing."""
_AWAY = 5 * LOOK_SECONDS
"""After this many seconds without an answer, the scheduler is considered lost."""
_CONNECT_SECONDS = 30.0
_CALL_SECONDS = 20.0
_LOGGERS = ("distributed", "distributed.client", "distributed.core", "asyncio")


class TlsFiles(msgspec.Struct, frozen=True):
    """Files with the CA certificate of a cluster, and our certificate and key (None: from Dask's
    own configuration, or none)."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


class ResubmitError(Exception):
    """The scheduler has lost the task: submit it again."""


class NoWorkerError(Exception):
    """No worker has had the site's resource for a while."""


class _ClusterWorker(msgspec.Struct, frozen=True):
    nthreads: int = 0
    resources: dict[str, float] = {}

    def slots(self, site: str) -> int:
        """Number of hosts of a site that it reads at once; empty: of any site."""
        if not site:
            return self.nthreads
        return min(self.nthreads, int(self.resources.get(site, 0)))


class _WorkerIdentity(msgspec.Struct, frozen=True):
    workers: dict[str, _ClusterWorker] = {}


class Cluster:
    """The cluster of a scheduler. Raises MissingExtraError; UsageError if nothing answers at the
    address."""

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
        except TypeError:  # distributed: it has no certificates, neither from us nor configured
            raise UsageError(
                f"--scheduler {address}: TLS needs certificates: pass --scheduler-ca, "
                "--scheduler-cert and --scheduler-key"
            ) from None
        self.look()

    def _connected(self) -> Client:
        """Connect. Raises OSError if nothing answers, ValueError for an invalid address."""
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("--engine dask", "dask") from None
        for name in _LOGGERS:  # we report once what these would log
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
        """Check which workers there are, unless that was done just now. Raises TargetError if the
        scheduler has been missing for too long."""
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
        if self._looked - self._answered > _AWAY:  # after that, give its workers time to reconnect
            self._seen = {}
            self._began = self._looked
        self._answered = self._looked
        sites = {site for worker in workers for site in worker.resources} | {""}
        slots = {site: sum(worker.slots(site) for worker in workers) for site in sites}
        self._slots = Counter(slots)
        self._seen.update((site, self._looked) for site, number in slots.items() if number)

    def _workers(self) -> list[_ClusterWorker] | None:
        """The workers; None: the scheduler does not answer."""
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
        except (OSError, LateError, RuntimeError):  # RuntimeError: closed at this moment
            return None
        return list(converted(told, _WorkerIdentity).workers.values())

    def _give_up(self) -> NoReturn:
        raise TargetError(
            f"the scheduler {self.address} has not answered for {self._patience:g} s",
            failure="unreachable",
        )

    def slots(self, site: str) -> int:
        """Number of hosts of a site that its workers can read at once, as of the last check. At
        least 1, so that a missing worker is noticed."""
        return max(1, self._slots[site])

    def check_site(self, site: str) -> None:
        """Raises NoWorkerError if no worker has had the site's resource for a while, or ever.
        Raises TargetError as :meth:`look` does."""
        self.look()
        with self._lock:
            since = self._seen.get(site, self._began)
            if self._answered - since > self._patience:
                raise NoWorkerError

    def run_everywhere(self, function: Callable[[], bytes]) -> dict[str, bytes | BaseException]:
        """The value returned, or error raised, by a function on each current worker. Raises
        UsageError if a worker does not answer."""
        client = self._client
        call = DaemonCall("workers", lambda: client.run(function, on_error="return"))
        try:
            return call.result(_CONNECT_SECONDS * 3)
        except TimeUpError:
            raise UsageError(
                f"--scheduler {self.address}: its workers do not answer; restart them"
            ) from None

    def submit(self, function: Callable[[bytes], bytes], data: bytes, site: str) -> Future[bytes]:
        """Submit a task. Raises ResubmitError if that is impossible at the moment."""
        try:
            return self._client.submit(
                function, data, pure=False, resources={site: 1.0} if site else None
            )
        except (OSError, RuntimeError):
            raise ResubmitError from None

    def result(self, future: Future[bytes], site: str, seconds: float) -> bytes | BaseException:
        """The value of a task, or the error that it ended with. Raises TimeUpError after that many
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
        """Abandon submitted tasks, and disconnect."""
        self._closed = True
        with suppress(OSError, RuntimeError, TimeUpError):
            DaemonCall("close", lambda: self._client.close(_CALL_SECONDS)).result(_CALL_SECONDS)


def _waits(seconds: float) -> Iterator[float]:
    """Seconds of repeated waits that add up to ``seconds``."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        yield min(left, LOOK_SECONDS)


def _reason(error: Exception) -> str:
    """The error and its cause: for a refused certificate, Dask itself only reports a timeout."""
    last: BaseException = error
    while last.__cause__ is not None:
        last = last.__cause__
    texts = [(str(one).splitlines() or [type(one).__name__])[0] for one in (error, last)]
    return ": ".join(dict.fromkeys(texts))
