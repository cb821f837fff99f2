"""Hosts are read by the workers of a Dask cluster.

A worker must have the site of a host as a resource, because not every host can be reached from
everywhere. Dask repeats a task whose worker died, so a host may be read twice; only one result is
used. Nothing stays in Dask's memory.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn, TypeVar

import msgspec

from vnicaudit import __version__
from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.errors import (
    MissingExtraError,
    RefusedError,
    TargetError,
    UsageError,
    VnicauditError,
)
from vnicaudit.fleet.host_reading import ReadHost, one_try
from vnicaudit.model.decoding import converted, msgpack_decoder
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import FailureKind, HostTraffic, InventoryHost, LiveDomain, LiveOptions
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.report import LostRead, ReadError

if TYPE_CHECKING:
    from distributed import Client, Future, Security

    from vnicaudit.audit.reading.targets import HostItem

# The connection to an existing Dask cluster, and its workers.
#
# A scheduler that dies loses all its tasks. The connection is re-established for a limited time,
# and callers waiting for a result are told to resubmit.


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
            raise UsageError(f"VNICAUDIT_SCHEDULER={address}: {_reason(error)}") from None
        except TypeError:  # distributed: it has no certificates, neither from us nor configured
            raise UsageError(
                f"VNICAUDIT_SCHEDULER={address}: TLS needs certificates: set "
                "VNICAUDIT_SCHEDULER_CA, _CERT and _KEY"
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
                f"VNICAUDIT_SCHEDULER={self.address}: its workers do not answer; restart them"
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


# Messages between a controller and its workers: MessagePack with the versions of both, never
# pickled objects. A record is read only by the version that wrote it.


T = TypeVar("T")

_FORMAT = 1
"""Version of the envelope, which every release can read."""
_ENCODER = msgspec.msgpack.Encoder()


class OtherVersionError(RefusedError):
    """A message from another version of vnicaudit; the text of the error is that version."""


class _Envelope(msgspec.Struct, frozen=True, array_like=True):
    format: int
    version: str
    body: msgspec.Raw = msgspec.Raw()


class HostOrder(msgspec.Struct, frozen=True):
    """A host for a worker to read. ``plain``: options of hosts that have none of their own.
    ``deadline``: in seconds."""

    host: InventoryHost
    plain: LiveOptions
    deadline: float


class _Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item; only one field is set, plus ``on``: index in the answer's ``configs`` of a live
    domain's host."""

    host: Host | None = None
    domain: Domain | None = None
    on: int | None = None
    traffic: HostTraffic | None = None
    error: ReadError | None = None
    lost_read: LostRead | None = None


class HostAnswer(msgspec.Struct, frozen=True):
    """The items that a worker read from a host. ``refused``: why it read nothing for reasons other
    than the host."""

    worker: str
    refused: str = ""
    items: tuple[_Item, ...] = ()
    configs: tuple[HostConfig, ...] = ()

    def met(self) -> list[HostItem]:
        """The items as yielded by a reader."""
        return [self._decoded(item) for item in self.items]

    def _decoded(self, item: _Item) -> HostItem:
        if item.domain is not None:
            return item.domain if item.on is None else LiveDomain(item.domain, self._config(item))
        for one in (item.host, item.traffic, item.lost_read, item.error):
            if one is not None:
                return one
        raise ValueError("an item of no kind")

    def _config(self, item: _Item) -> HostConfig:
        return self.configs[item.on or 0]


def answer_of(worker: str, items: Iterable[HostItem]) -> HostAnswer:
    """The answer with these items. Items that are not judged are left out."""
    places: dict[HostConfig, int] = {}
    told = tuple(one for item in items if (one := _item(item, places)) is not None)
    return HostAnswer(worker, items=told, configs=tuple(places))


def _item(item: HostItem, places: dict[HostConfig, int]) -> _Item | None:
    if isinstance(item, LiveDomain):
        return _Item(domain=item.domain, on=places.setdefault(item.host, len(places)))
    if isinstance(item, Domain):
        return _Item(domain=item)
    if isinstance(item, Host):
        return _Item(host=item)
    if isinstance(item, HostTraffic):
        return _Item(traffic=item)
    if isinstance(item, LostRead):
        return _Item(lost_read=item)
    return _Item(error=item) if isinstance(item, ReadError) else None


def encoded(record: msgspec.Struct | None) -> bytes:
    """The bytes of a record; None: only the version."""
    body = msgspec.Raw(_ENCODER.encode(record))
    return _ENCODER.encode(_Envelope(_FORMAT, __version__, body))


def decoded(data: bytes, kind: type[T]) -> T:
    """The record in such bytes. Raises OtherVersionError, and ValueError for invalid bytes."""
    check_version(data)
    return msgpack_decoder(kind).decode(msgpack_decoder(_Envelope).decode(data).body)


def check_version(data: bytes) -> None:
    """Raises OtherVersionError if another version wrote it, ValueError if it is not our message."""
    envelope = msgpack_decoder(_Envelope).decode(data)
    if (envelope.format, envelope.version) != (_FORMAT, __version__):
        raise OtherVersionError(envelope.version)


_GRACE = 60.0
"""Seconds that a host may take beyond its deadline in the cluster."""
_RESUBMITS = 10
"""Maximum times a host is resubmitted within one try after the scheduler was lost."""

_SAME_VERSION = f"install vnicaudit=={__version__} with the extras dask and libvirt there"


class Dask:
    """``task``: the function run by workers, from a module that they can import. ``deadline``:
    seconds for one try of one host."""

    def __init__(
        self,
        cluster: Cluster,
        task: Callable[[bytes], bytes],
        plain: LiveOptions,
        deadline: float,
    ) -> None:
        self._cluster = cluster
        self._task = task
        self._plain = plain
        self._deadline = deadline

    def check_workers(self, version: Callable[[], bytes]) -> None:
        """Raises UsageError if a worker has another version of vnicaudit, or none, or if there is
        no worker. ``version``: a function from a module that they can import."""
        told = self._cluster.run_everywhere(version)
        place = f"VNICAUDIT_SCHEDULER={self._cluster.address}"
        if not told:
            raise UsageError(f"{place}: it has no workers; start them with `dask worker`")
        wrong = [f"{at}: {text}" for at, answer in told.items() if (text := _misfit(answer))]
        if wrong:
            more = f" (and {len(wrong) - 3:,} more workers)" if len(wrong) > 3 else ""
            listed = "; ".join(wrong[:3])
            raise UsageError(f"{place}: {listed}{more}: {_SAME_VERSION}, and restart them")

    def attempt(self, host: InventoryHost) -> list[HostItem]:
        """One try of a host, by any worker of its site."""
        order = encoded(HostOrder(host, self._plain, self._deadline))
        try:
            for _again in range(_RESUBMITS):
                self._cluster.check_site(host.site)
                try:
                    return self._met(host, self._answer(order, host.site))
                except ResubmitError:
                    continue
        except NoWorkerError:
            return [_lost_read(host, self._without_worker(host.site), "unreachable")]
        except TimeUpError:
            text = f"no answer from the cluster within {self._deadline + _GRACE:g} s"
            return [_lost_read(host, text, "deadline")]
        return [_lost_read(host, f"the scheduler was lost {_RESUBMITS} times meanwhile", "broken")]

    def _answer(self, order: bytes, site: str) -> bytes | BaseException:
        future = self._cluster.submit(self._task, order, site)
        try:
            return self._cluster.result(future, site, self._deadline + _GRACE)
        except (TimeUpError, NoWorkerError):
            future.cancel()
            raise
        finally:
            future.release()

    def _without_worker(self, site: str) -> str:
        address = self._cluster.address
        if not site:
            return f"the scheduler {address} has no workers; start some with `dask worker`"
        return (
            f"no worker of the scheduler {address} has the resource {site!r}, the site of this "
            f"host; start one with `dask worker {address} --resources {site}=16`"
        )

    def _met(self, host: InventoryHost, answer: bytes | BaseException) -> list[HostItem]:
        if isinstance(answer, BaseException):
            return [_lost_read(host, *_task_failure(answer))]
        try:
            told = decoded(answer, HostAnswer)
            met = told.met()
        except OtherVersionError as error:
            text = f"a worker has vnicaudit {error}, not {__version__}; {_SAME_VERSION}"
            return [_lost_read(host, text, "broken")]
        except (ValueError, IndexError):
            return [_lost_read(host, "a worker's answer made no sense", "broken")]
        if told.refused:
            return [_lost_read(host, f"the worker on {told.worker}: {told.refused}", "broken")]
        return met

    def slots(self, site: str) -> int:
        """Number of hosts of a site that its workers can read at once."""
        return self._cluster.slots(site)

    def close(self) -> None:
        """Abandon running tasks, and disconnect from the cluster."""
        self._cluster.close()


def _lost_read(host: InventoryHost, text: str, failure: FailureKind) -> LostRead:
    return LostRead(text, host.uri, failure=failure)


def _task_failure(error: BaseException) -> tuple[str, FailureKind]:
    """Message and kind of failure for a task that failed outside vnicaudit: its workers died, or
    cannot import it."""
    name = type(error).__name__
    if name == "KilledWorker":
        return (
            "every worker that read it died, because of it or of another host read at the same time"
        ), "internal"
    if isinstance(error, ImportError | AttributeError):
        return f"a worker cannot load vnicaudit ({name}); {_SAME_VERSION}", "broken"
    return f"a worker failed: {name}: {error}", "broken"


def _misfit(answer: bytes | BaseException) -> str:
    """Why a worker cannot be used; empty: it can."""
    if isinstance(answer, BaseException):
        return f"not a vnicaudit worker ({type(answer).__name__})"
    try:
        check_version(answer)
    except OtherVersionError as error:
        return f"vnicaudit {error}, but this is {__version__}"
    except ValueError:
        return "not a vnicaudit that this version understands"
    return ""


# The worker's part in auditing a fleet: read one host, and send the result back.


def read_for_controller(order: bytes, read: ReadHost[HostItem]) -> bytes:
    """Read the host of an order with this worker's reader; returns the answer. A controller of
    another version gets an answer from which it can see that."""
    worker = socket.gethostname()
    try:
        asked = decoded(order, HostOrder)
        items = one_try(read, asked.host, asked.plain, asked.deadline)
    except OtherVersionError as error:
        text = f"it has vnicaudit {__version__}, but the controller has {error}"
        return encoded(HostAnswer(worker, text))
    except VnicauditError as error:
        return encoded(HostAnswer(worker, str(error)))
    return encoded(answer_of(worker, items))
