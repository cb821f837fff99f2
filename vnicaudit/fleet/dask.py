"""Hosts are read by the workers of a Dask cluster.

A worker must have the site of a host as a resource, because not every host can be reached from
everywhere. Dask repeats a task whose worker died, so a host may be read twice; only one result is
used. Nothing stays in Dask's memory.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from vnicaudit import __version__
from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.errors import MissingExtraError, RefusedError, TargetError, UsageError
from vnicaudit.model.decoding import converted, msgpack_decoder
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import FailureKind, HostTraffic, InventoryHost, LiveDomain, LiveOptions
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.report import LostRead, ReadError

if TYPE_CHECKING:
    from distributed import Client, Security

    from vnicaudit.audit.reading.targets import HostItem

# Messages between a controller and its workers: MessagePack with the versions of both, never
# pickled objects. A record is read only by the version that wrote it.


T = TypeVar("T")

_FORMAT = 1
"""Version of the envelope, which every release can read."""
_ENCODER = msgspec.msgpack.Encoder()
_Record = Domain | Host | HostTraffic | ReadError
_KINDS: tuple[type[_Record], ...] = (Domain, Host, HostTraffic, ReadError, LostRead)
SAME_VERSION = f"install vnicaudit=={__version__} with the extras dask and libvirt there"


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


class _Item(msgspec.Struct, frozen=True, array_like=True):
    """One item. ``kind``: index of its type. ``on``: index in the answer's ``configs`` of a live
    domain's host."""

    kind: int
    record: msgspec.Raw
    on: int | None = None


class HostAnswer(msgspec.Struct, frozen=True):
    """The items that a worker read from a host. ``refused``: why it read nothing for reasons other
    than the host."""

    worker: str
    refused: str = ""
    items: tuple[_Item, ...] = ()
    configs: tuple[HostConfig, ...] = ()

    def decoded_items(self) -> list[HostItem]:
        """The items as yielded by a reader. Raises ValueError and IndexError."""
        return [self._decoded(item) for item in self.items]

    def _decoded(self, item: _Item) -> HostItem:
        record = msgpack_decoder(_KINDS[item.kind]).decode(item.record)
        if item.on is None or not isinstance(record, Domain):
            return record
        return LiveDomain(record, self.configs[item.on])


def answer_of(worker: str, items: Iterable[HostItem]) -> HostAnswer:
    """The answer with these items. Items that are not judged are left out."""
    places: dict[HostConfig, int] = {}
    told: list[_Item] = []
    for item in items:
        on = None
        if isinstance(item, LiveDomain):
            on = places.setdefault(item.host, len(places))
            item = item.domain
        if type(item) in _KINDS:
            raw = msgspec.Raw(_ENCODER.encode(item))
            told.append(_Item(_KINDS.index(type(item)), raw, on))
    return HostAnswer(worker, items=tuple(told), configs=tuple(places))


def encoded(record: msgspec.Struct | None) -> bytes:
    """The bytes of a record; None: only the version."""
    body = msgspec.Raw(_ENCODER.encode(record))
    return _ENCODER.encode(_Envelope(_FORMAT, __version__, body))


def decoded(data: bytes, kind: type[T]) -> T:
    """The record in such bytes. Raises OtherVersionError, and ValueError for invalid bytes."""
    envelope = msgpack_decoder(_Envelope).decode(data)
    if (envelope.format, envelope.version) != (_FORMAT, __version__):
        raise OtherVersionError(envelope.version)
    return msgpack_decoder(kind).decode(envelope.body)


# The engine, on an existing cluster.
#
# A scheduler that dies loses all its tasks. The connection is re-established for a limited time,
# and tasks are submitted again.


LOOK_SECONDS = 2.0
"""Seconds between two checks of the workers."""
PATIENCE = 120.0
"""Seconds for which the scheduler, or all workers of a site, may be missing."""
_AWAY = 5 * LOOK_SECONDS
"""After this many seconds without an answer, the scheduler is considered lost."""
_CONNECT_SECONDS = 30.0
_CALL_SECONDS = 20.0
_GRACE = 60.0
"""Seconds that a host may take beyond its deadline in the cluster."""
_RESUBMITS = 10
"""Maximum times a host is submitted within one try, as the scheduler was lost."""
_LOGGERS = ("distributed", "distributed.client", "distributed.core", "asyncio")


class TlsFiles(msgspec.Struct, frozen=True):
    """Files with the CA certificate of a cluster, and our certificate and key (None: from Dask's
    own configuration, or none)."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


class _GivenUpError(Exception):
    """A host is not read: the text says why."""

    def __init__(self, text: str, failure: FailureKind) -> None:
        super().__init__(text)
        self.failure: FailureKind = failure


class _DaskWorker(msgspec.Struct, frozen=True):
    nthreads: int = 0
    resources: dict[str, float] = {}


class _DaskScheduler(msgspec.Struct, frozen=True):
    workers: dict[str, _DaskWorker] = {}


class Dask:
    """``task``: the function run by workers, from a module that they can import. ``plain``: options
    of hosts that have none of their own. ``deadline``: seconds for one try of one host. Raises
    MissingExtraError; UsageError if nothing answers at the address."""

    def __init__(
        self,
        address: str,
        tls: TlsFiles,
        task: Callable[[bytes], bytes],
        plain: LiveOptions,
        deadline: float,
        patience: float = PATIENCE,
    ) -> None:
        self._address = address
        self._tls = tls
        self._task = task
        self._plain = plain
        self._deadline = deadline
        self._patience = patience
        self._lock = threading.Lock()
        self._looked = 0.0
        self._answered = self._began = time.monotonic()
        self._seen: dict[str, float] = {}
        self._slots: Counter[str] = Counter()
        self._closed = False
        try:
            import distributed  # an extra
        except ImportError:
            raise MissingExtraError("VNICAUDIT_SCHEDULER", "dask") from None
        self._distributed = distributed
        try:
            self._client = self._connected()
        except (OSError, ValueError) as error:
            raise self._unusable(_reason(error)) from None
        except TypeError:  # distributed: it has no certificates, neither from us nor configured
            raise self._unusable(
                "TLS needs certificates: set VNICAUDIT_SCHEDULER_CA, _CERT and _KEY"
            ) from None
        self._look()

    def _unusable(self, text: str) -> UsageError:
        return UsageError(f"VNICAUDIT_SCHEDULER={self._address}: {text}")

    def _connected(self) -> Client:
        """Connect. Raises OSError if nothing answers, ValueError for an invalid address."""
        for name in _LOGGERS:  # we report once what these would log
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        return self._distributed.Client(
            self._address,
            timeout=_CONNECT_SECONDS,
            security=self._security(),
            set_as_default=False,
            name="vnicaudit",
            direct_to_workers=False,
        )

    def _security(self) -> Security | None:
        if self._tls == TlsFiles():
            return None
        return self._distributed.Security(
            require_encryption=True,
            tls_ca_file=self._tls.ca,
            tls_client_cert=self._tls.certificate,
            tls_client_key=self._tls.key,
        )

    def check_workers(self, version: Callable[[], bytes]) -> None:
        """Raises UsageError if a worker has another version of vnicaudit, or none, or if there is
        no worker. ``version``: a function from a module that they can import."""
        client = self._client
        call = DaemonCall("workers", lambda: client.run(version, on_error="return"))
        try:
            told = call.result(_CONNECT_SECONDS * 3)
        except TimeUpError:
            raise self._unusable("its workers do not answer; restart them") from None
        if not told:
            raise self._unusable("it has no workers; start them with `dask worker`")
        wrong = [f"{at}: {text}" for at, answer in told.items() if (text := _misfit(answer))]
        if wrong:
            more = f" (and {len(wrong) - 3:,} more workers)" if len(wrong) > 3 else ""
            listed = "; ".join(wrong[:3])
            raise self._unusable(f"{listed}{more}: {SAME_VERSION}, and restart them")

    def _look(self) -> None:
        """Check which workers there are, unless that was done just now. Raises TargetError if the
        scheduler has been missing for too long."""
        with self._lock:
            if time.monotonic() - self._looked < LOOK_SECONDS:
                return
            workers = self._workers()
            self._looked = time.monotonic()
            if workers is None:
                if self._looked - self._answered > self._patience:
                    raise TargetError(
                        f"the scheduler {self._address} has not answered for {self._patience:g} s",
                        failure="unreachable",
                    )
                return
            if self._looked - self._answered > _AWAY:  # give its workers time to reconnect
                self._seen = {}
                self._began = self._looked
            self._answered = self._looked
            self._slots = Counter()
            for worker in workers:
                self._slots[""] += worker.nthreads
                for site, number in worker.resources.items():
                    self._slots[site] += min(worker.nthreads, int(number))
            self._seen.update((site, self._looked) for site in +self._slots)

    def _workers(self) -> Iterable[_DaskWorker] | None:
        """The workers; None: the scheduler does not answer."""
        if self._closed:
            raise TargetError(
                f"the connection to the scheduler {self._address} was closed", failure="broken"
            )
        try:
            if self._client.status == "closed":
                self._client = self._connected()
            told = self._client.sync(
                self._client.scheduler.identity, callback_timeout=_CALL_SECONDS
            )
        except (
            OSError,
            self._distributed.TimeoutError,
            RuntimeError,
        ):  # RuntimeError: closed at this moment
            return None
        return converted(told, _DaskScheduler).workers.values()

    def slots(self, site: str) -> int:
        """Number of hosts of a site that its workers can read at once, as of the last check. At
        least 1, so that a missing worker is noticed."""
        return max(1, self._slots[site])

    def attempt(self, host: InventoryHost) -> list[HostItem]:
        """One try of a host, by any worker of its site."""
        order = encoded(HostOrder(host, self._plain, self._deadline))
        try:
            for _again in range(_RESUBMITS):
                self._check_site(host.site)
                answer = self._answer(order, host.site)
                if answer is not None:
                    return _items(answer)
            text = f"the scheduler was lost {_RESUBMITS} times meanwhile"
            raise _GivenUpError(text, "broken")
        except _GivenUpError as error:
            return [LostRead(str(error), host.uri, failure=error.failure)]

    def _check_site(self, site: str) -> None:
        """Raises _GivenUpError if no worker has had the site's resource for a while, or ever.
        Raises TargetError if the scheduler is lost."""
        self._look()
        with self._lock:
            if self._answered - self._seen.get(site, self._began) <= self._patience:
                return
        text = f"the scheduler {self._address} has no workers; start some with `dask worker`"
        if site:
            text = (
                f"no worker of the scheduler {self._address} has the resource {site!r}, the site "
                f"of this host; start one with `dask worker {self._address} --resources {site}=16`"
            )
        raise _GivenUpError(text, "unreachable")

    def _answer(self, order: bytes, site: str) -> bytes | BaseException | None:
        """The value of a task, or the error that it ended with; None: the scheduler has lost it.
        Raises _GivenUpError if that takes too long, and as :meth:`_check_site`."""
        resources = {site: 1.0} if site else None
        try:
            future = self._client.submit(self._task, order, pure=False, resources=resources)
        except (OSError, RuntimeError):
            return None
        end = time.monotonic() + self._deadline + _GRACE
        try:
            while (left := end - time.monotonic()) > 0:
                try:
                    error = future.exception(timeout=min(left, LOOK_SECONDS))
                    return future.result(timeout=_CALL_SECONDS) if error is None else error
                except (self._distributed.TimeoutError, TimeoutError):
                    self._check_site(site)
                except (self._distributed.CancelledError, OSError, RuntimeError):
                    return None
            text = f"no answer from the cluster within {self._deadline + _GRACE:g} s"
            raise _GivenUpError(text, "deadline")
        except _GivenUpError:
            future.cancel()
            raise
        finally:
            future.release()

    def close(self) -> None:
        """Abandon running tasks, and disconnect from the cluster."""
        self._closed = True
        with suppress(OSError, RuntimeError, TimeUpError):
            DaemonCall("close", lambda: self._client.close(_CALL_SECONDS)).result(_CALL_SECONDS)


def _reason(error: Exception) -> str:
    """The error and its cause: for a refused certificate, Dask itself only reports a timeout."""
    last: BaseException = error
    while last.__cause__ is not None:
        last = last.__cause__
    texts = [(str(one).splitlines() or [type(one).__name__])[0] for one in (error, last)]
    return ": ".join(dict.fromkeys(texts))


def _misfit(answer: bytes | BaseException) -> str:
    """Why a worker cannot be used; empty: it can."""
    if isinstance(answer, BaseException):
        return f"not a vnicaudit worker ({type(answer).__name__})"
    try:
        decoded(answer, type(None))
    except OtherVersionError as error:
        return f"vnicaudit {error}, but this is {__version__}"
    except ValueError:
        return "not a vnicaudit that this version understands"
    return ""


def _items(answer: bytes | BaseException) -> list[HostItem]:
    """The items in a worker's answer. Raises _GivenUpError, also for a task that failed outside
    vnicaudit: its workers died, or cannot import it."""
    if isinstance(answer, BaseException):
        name = type(answer).__name__
        if name == "KilledWorker":
            raise _GivenUpError(
                "every worker that read it died, because of it or of another host read at the "
                "same time", "internal",
            )  # fmt: skip
        if isinstance(answer, ImportError | AttributeError):
            text = f"a worker cannot load vnicaudit ({name}); {SAME_VERSION}"
            raise _GivenUpError(text, "broken")
        raise _GivenUpError(f"a worker failed: {name}: {answer}", "broken")
    try:
        told = decoded(answer, HostAnswer)
        items = told.decoded_items()
    except OtherVersionError as error:
        text = f"a worker has vnicaudit {error}, not {__version__}; {SAME_VERSION}"
        raise _GivenUpError(text, "broken") from None
    except (ValueError, IndexError):
        raise _GivenUpError("a worker's answer made no sense", "broken") from None
    if told.refused:
        raise _GivenUpError(f"the worker on {told.worker}: {told.refused}", "broken")
    return items
