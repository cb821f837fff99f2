"""A Dask cluster of separate processes: a scheduler, and workers that have sites as resources. They
are forked from one that has imported Dask, which takes most of their start."""

import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.bench.endpoints.left import listens, until
from tests.ports import free_port

_SLOTS = 4
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "vnicaudit.cli.main"]
)


def _run(program: str, words: list[str], log: str, version: str) -> None:
    """Be a scheduler or a worker; of another ``version`` of vnicaudit, where one is given."""
    import vnicaudit

    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    vnicaudit.__version__ = version or vnicaudit.__version__
    if program == "scheduler":
        from distributed.cli.dask_scheduler import main
    else:
        from distributed.cli.dask_worker import main
    main(words)


class DaskCluster:
    """``keys``: a folder with keys for TLS, as of ``make_keys``."""

    def __init__(self, folder: Path, keys: Path | None = None) -> None:
        self.port = free_port()
        scheme = "tcp" if keys is None else "tls"
        self.address = f"{scheme}://127.0.0.1:{self.port}"
        self._folder = folder
        self._keys = keys
        self._scheduler: ForkServerProcess | None = None
        self.workers: dict[str, ForkServerProcess] = {}

    def start(self, *sites: str) -> None:
        """Start the scheduler, and a worker for each of the sites; ready once all are there."""
        self.start_scheduler()
        for site in sites:
            self.start_worker(site)
        self.wait_for_workers(*sites)

    def start_scheduler(self) -> None:
        """The scheduler, at the same address each time."""
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self._scheduler = self._started("scheduler", words)
        until(lambda: listens(self.port), "the scheduler listens")

    def start_worker(self, site: str, *, other_version: bool = False) -> None:
        """A worker; ``other_version``: of another version of vnicaudit."""
        words = [self.address, "--no-nanny", "--no-dashboard", "--host", "127.0.0.1",
                 "--nthreads", str(_SLOTS), "--resources", f"{site}={_SLOTS}",
                 "--memory-limit", "0", "--local-directory", str(self._folder)]  # fmt: skip
        self.workers[site] = self._started(site, words, "0.0.1" if other_version else "")

    def wait_for_workers(self, *sites: str) -> None:
        """Wait until each of these sites has a worker that has joined."""
        for site in sites:
            until(partial(self._has_joined, site), f"{site} joins")

    def _has_joined(self, site: str) -> bool:
        return b"Registered to" in self._log(site).read_bytes()

    def kill_worker(self, site: str) -> None:
        """SIGKILL."""
        self.workers[site].kill()
        self.workers[site].join()

    def kill_scheduler(self) -> None:
        """SIGKILL."""
        if self._scheduler is not None:
            self._scheduler.kill()
            self._scheduler.join()

    def stop(self) -> None:
        """All of it."""
        for site in self.workers:
            self.kill_worker(site)
        self.kill_scheduler()

    def _started(self, name: str, words: list[str], version: str = "") -> ForkServerProcess:
        if self._keys is not None:
            words += ["--tls-ca-file", f"{self._keys}/cacert.pem",
                      "--tls-cert", f"{self._keys}/servercert.pem",
                      "--tls-key", f"{self._keys}/serverkey.pem"]  # fmt: skip
        log = self._log(name)
        log.write_bytes(b"")
        process = _FORKS.Process(target=_run, args=(name, words, str(log), version), daemon=True)
        process.start()
        return process

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


@contextmanager
def dask_cluster(*sites: str, keys: Path | None = None) -> Iterator[DaskCluster]:
    """A running cluster with a worker for each of these sites."""
    with tempfile.TemporaryDirectory(prefix="vnicaudit-dask-") as folder:
        cluster = DaskCluster(Path(folder), keys)
        try:
            cluster.start(*sites)
            yield cluster
        finally:
            cluster.stop()
