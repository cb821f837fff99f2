"""Options for where hosts are read: by this process, or by a Dask cluster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import click
import msgspec

from vnicaudit.cli.fleet import dask_worker
from vnicaudit.cli.options.records import Decorator, group
from vnicaudit.errors import UsageError
from vnicaudit.fleet.running.engines.dask import Dask
from vnicaudit.fleet.running.engines.dask_cluster import Cluster, TlsFiles
from vnicaudit.fleet.running.engines.threads import Threads
from vnicaudit.model.live import LiveOptions

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met
    from vnicaudit.fleet.running.engines.engine import ReadingEngine
    from vnicaudit.fleet.running.engines.one_try import ReadHost

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class EngineOptions(msgspec.Struct, frozen=True):
    """Where hosts are read. The files are for TLS to the scheduler."""

    engine: Literal["threads", "dask"]
    scheduler: str | None
    scheduler_ca: str | None
    scheduler_cert: str | None
    scheduler_key: str | None


def _tls_option(name: str, text: str) -> Decorator:
    return click.option(
        f"--scheduler-{name}",
        envvar=f"VNICAUDIT_SCHEDULER_{name.upper()}",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help=text,
    )


engine_options = group(
    "reading_engine",
    EngineOptions,
    click.option(
        "--engine",
        envvar="VNICAUDIT_ENGINE",
        type=click.Choice(["threads", "dask"]),
        default="threads",
        show_default=True,
        help="Read hosts from this machine, or from the workers of a Dask cluster. With dask, the "
        "site of a host is a resource that its worker must have.",
    ),
    click.option(
        "--scheduler",
        envvar="VNICAUDIT_SCHEDULER",
        metavar="ADDRESS",
        help="Scheduler of the Dask cluster, such as tls://dask.example.org:8786.",
    ),
    _tls_option("ca", "CA certificate that the scheduler must be signed by (PEM)."),
    _tls_option("cert", "Client certificate for the scheduler (PEM)."),
    _tls_option("key", "Private key of the client certificate (PEM)."),
)
"""Options for where hosts are read."""


def check_engine(options: EngineOptions) -> None:
    """Raises UsageError for conflicting options."""
    keys = (options.scheduler_ca, options.scheduler_cert, options.scheduler_key)
    if options.engine == "threads":
        if options.scheduler or any(keys):
            raise UsageError("--scheduler and its certificates need --engine dask")
    elif options.scheduler is None:
        raise UsageError("--engine dask needs --scheduler ADDRESS")
    elif odd := next((key for key in keys if key and not os.path.isfile(key)), None):
        raise UsageError(f"{odd}: not a regular file")
    elif any(keys) and not options.scheduler.startswith("tls://"):
        raise UsageError(
            f"--scheduler {options.scheduler}: certificates and keys need an address of the form "
            "tls://HOST:PORT"
        )


def is_exposed(options: EngineOptions) -> bool:
    """True if others can listen to the connection to the scheduler, or connect to it themselves."""
    if options.scheduler is None:
        return False
    address = urlsplit(
        options.scheduler if "://" in options.scheduler else f"tcp://{options.scheduler}"
    )
    return address.scheme != "tls" and address.hostname not in _LOOPBACK


def engine_of(
    options: EngineOptions, read: ReadHost[Met], plain: LiveOptions, deadline: float
) -> ReadingEngine[Met]:
    """The engine selected by the options. Raises MissingExtraError; UsageError if the cluster
    cannot be reached or its workers have another version."""
    if options.engine == "threads" or options.scheduler is None:
        return Threads(read, plain, deadline)

    tls = TlsFiles(options.scheduler_ca, options.scheduler_cert, options.scheduler_key)
    cluster = Cluster(options.scheduler, tls)
    engine = Dask(cluster, dask_worker.read_host, plain, deadline)
    try:
        engine.check_workers(dask_worker.version)
    except UsageError:
        engine.close()
        raise
    return engine
