"""Hosts are read by the workers of a Dask cluster.

A worker must have the site of a host as a resource, because not every host can be reached from
everywhere. Dask repeats a task whose worker died, so a host may be read twice; only one result is
used. Nothing stays in Dask's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vnicaudit import __version__
from vnicaudit.base.deadlines import TimeUpError
from vnicaudit.errors import UsageError
from vnicaudit.fleet.running.engines.dask_cluster import (
    Cluster,
    NoWorkerError,
    ResubmitError,
)
from vnicaudit.fleet.running.engines.wire import (
    HostAnswer,
    HostOrder,
    OtherVersionError,
    check_version,
    decoded,
    encoded,
)
from vnicaudit.model.fleet import FailureKind, InventoryHost
from vnicaudit.model.live import LiveOptions
from vnicaudit.model.report import LostRead

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met

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
        place = f"--scheduler {self._cluster.address}"
        if not told:
            raise UsageError(f"{place}: it has no workers; start them with `dask worker`")
        wrong = [f"{at}: {text}" for at, answer in told.items() if (text := _misfit(answer))]
        if wrong:
            more = f" (and {len(wrong) - 3:,} more workers)" if len(wrong) > 3 else ""
            listed = "; ".join(wrong[:3])
            raise UsageError(f"{place}: {listed}{more}: {_SAME_VERSION}, and restart them")

    def attempt(self, host: InventoryHost) -> list[Met]:
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

    def _met(self, host: InventoryHost, answer: bytes | BaseException) -> list[Met]:
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
