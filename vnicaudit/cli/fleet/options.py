"""Options of the fleet commands: which hosts there are, and how they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import click
import msgspec

from vnicaudit.base.deadlines import standard_input
from vnicaudit.base.wording import word
from vnicaudit.cli.fleet.dask_worker import read_host, version
from vnicaudit.cli.options.records import (
    Decorator,
    Number,
    group,
    number_option,
    seconds_option,
    trust_uri_option,
)
from vnicaudit.cli.output.progress import awaited_input
from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.own_format import DEFAULT_URI, Inventory, LimitedHosts
from vnicaudit.fleet.inventory.sources import STDIN, Sources, read_inventory
from vnicaudit.fleet.plan_history import AuditSample, SampleOf
from vnicaudit.fleet.running.engines.dask import (
    Cluster,
    Dask,
    TlsFiles,
)
from vnicaudit.fleet.running.engines.threads import Threads
from vnicaudit.fleet.running.host_reading import ReadingLimits
from vnicaudit.model.fleet import InventoryHost, LiveOptions

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met
    from vnicaudit.fleet.running.engines.threads import ReadHost, ReadingEngine
    from vnicaudit.reports.redaction.records import Redactor

TRAFFIC_SECONDS = 10.0
"""Seconds between the two readings of counters."""


class InventoryOptions(msgspec.Struct, frozen=True):
    """Where the hosts of a fleet are listed, which of them are selected, the URI of hosts that have
    none of their own, and the URIs that may start programs."""

    inventories: tuple[str, ...]
    limit: str | None
    uri: str
    trusted_uris: tuple[str, ...]


class RunningOptions(msgspec.Struct, frozen=True):
    """How many hosts are read at once, for how long, and with how many retries."""

    parallel: int
    per_site: int
    host_deadline: float
    retries: int


class SampleOptions(msgspec.Struct, frozen=True):
    """The random sample of a fleet."""

    sample: float | None
    sample_of: SampleOf
    sample_seed: int | None


def _share(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Parse ``5%`` or ``0.05``."""
    if value is None:
        return None
    try:
        share = float(value[:-1]) / 100 if value.endswith("%") else float(value)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise click.BadParameter("write the share as 5% or 0.05", context, parameter)
    return share


inventory_options = group(
    "inventory",
    InventoryOptions,
    click.option(
        "-i",
        "--inventory",
        "inventories",
        envvar="VNICAUDIT_INVENTORY",
        multiple=True,
        required=True,
        metavar="SOURCE",
        help="Read hosts from SOURCE: a file (vnicaudit TOML or YAML, Ansible INI or YAML, or one "
        "libvirt URI per line), an Ansible folder or inventory script, openstack:CLOUD, a libvirt "
        "URI, HOST,HOST, or - for standard input. Repeatable.",
    ),
    click.option(
        "-l",
        "--limit",
        envvar="VNICAUDIT_LIMIT",
        metavar="PATTERN",
        help="Use only matching hosts and groups, as with Ansible: 'zone_a,!kvm7', 'web:&prod', "
        "globs, ~REGEX, @FILE.",
    ),
    click.option(
        "--uri",
        default=DEFAULT_URI,
        show_default=True,
        metavar="TEMPLATE",
        help="URI for hosts without their own; {host} is the address, {name} the name.",
    ),
    trust_uri_option(
        "Allow this libvirt URI in an inventory, although it may start a program (the ext "
        "transport, command= or similar).  [repeatable]"
    ),
)
"""Options of every command on a fleet."""

parallel_option = number_option(
    "--parallel",
    least=1,
    most=1000,
    default=ReadingLimits().parallel,
    text="Read up to N hosts at once.",
)
"""How many hosts are read at once."""

running_options = group(
    "running",
    RunningOptions,
    parallel_option,
    click.option(
        "--per-site",
        envvar="VNICAUDIT_PER_SITE",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Read at most N hosts of one site at once; 0 means no limit.",
    ),
    seconds_option(
        "--host-deadline",
        least=0.1,
        most=86_400,
        default=ReadingLimits().host_deadline,
        text="Stop reading a host after this time and keep what was read.",
    ),
    number_option(
        "--retries",
        least=0,
        most=20,
        default=ReadingLimits().retries,
        text="Retry a host N times after a failure that may be temporary: no connection, no "
        "answer, a broken connection. A refusal is final.",
    ),
)
"""Options for how hosts are read."""

traffic_option = click.option(
    "--traffic",
    envvar="VNICAUDIT_TRAFFIC",
    type=Number(min=0.1, max=3600),
    is_flag=False,
    flag_value=TRAFFIC_SECONDS,
    metavar="[SECONDS]",
    help="Also read the counters of running NICs, twice, SECONDS apart "
    f"(default: {TRAFFIC_SECONDS:g}), for `vnicaudit fleet top`.",
)
"""Read traffic counters too."""

sample_options = group(
    "sampling",
    SampleOptions,
    click.option(
        "--sample",
        envvar="VNICAUDIT_SAMPLE",
        callback=_share,
        metavar="SHARE",
        help="Audit a random part of the fleet only, such as 5%.",
    ),
    click.option(
        "--sample-of",
        type=click.Choice(["hosts", "nics"]),
        default="hosts",
        show_default=True,
        help="Sample hosts, or NICs of every host (guest by guest).",
    ),
    click.option(
        "--sample-seed",
        type=click.IntRange(0, 2**32 - 1),
        metavar="N",
        help="Repeat the sample of an earlier audit.  [default: random]",
    ),
)
"""The part of the fleet that is audited."""


class ChosenHosts(msgspec.Struct, frozen=True):
    """An inventory, and the hosts of it selected by ``--limit``. ``unmatched``: patterns of
    ``--limit`` that match nothing."""

    inventory: Inventory
    hosts: tuple[InventoryHost, ...]
    unmatched: tuple[str, ...] = ()


def chosen_hosts(
    options: InventoryOptions, sources: Sources, *, quiet: bool = False
) -> ChosenHosts:
    """Read the inventory and apply ``--limit``. Raises UsageError if no host is left."""
    given = msgspec.structs.replace(
        sources,
        stdin=standard_input(),
        template=options.uri,
        trusted=frozenset(options.trusted_uris),
    )
    with awaited_input(quiet=quiet) if STDIN in options.inventories else nullcontext():
        inventory = read_inventory(options.inventories, given)
    if not options.limit:
        return ChosenHosts(inventory, inventory.hosts)
    limited = LimitedHosts(inventory.hosts, inventory.groups)
    return ChosenHosts(inventory, limited.limited(options.limit), tuple(limited.unmatched))


def inventory_words(options: InventoryOptions, limit: str = "") -> str:
    """Options for another command on the same inventory, each preceded by a blank. ``FILE`` stands
    for standard input, which that command cannot read again."""
    words = [f" -i {'FILE' if one == STDIN else word(one)}" for one in options.inventories]
    if options.uri != DEFAULT_URI:
        words.append(f" --uri {word(options.uri)}")
    words += [f" --trust-uri {word(one)}" for one in options.trusted_uris]
    if limit:
        words.append(f" --limit {word(limit)}")
    return "".join(words)


def limits_of(options: RunningOptions) -> ReadingLimits:
    """How hosts are read."""
    return ReadingLimits(options.parallel, options.per_site, options.host_deadline, options.retries)


def check_traffic(traffic: float | None, options: RunningOptions) -> float | None:
    """Seconds between the two readings of counters. Raises UsageError if that is not shorter than a
    host's deadline."""
    if traffic is not None and traffic >= options.host_deadline:
        raise UsageError(
            f"--traffic {traffic:g}: counters are read twice, {traffic:g} s apart, but "
            f"--host-deadline allows only {options.host_deadline:g} s for a host; make it longer"
        )
    return traffic


def sample_of(options: SampleOptions) -> AuditSample:
    """The sample to draw. Raises UsageError if only part of its options are used."""
    if options.sample is None:
        if options.sample_seed is not None:
            raise UsageError("--sample-seed needs --sample")
        return AuditSample()
    seed = options.sample_seed
    drawn = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    return AuditSample(options.sample, options.sample_of, drawn)


def inventory_notes(chosen: ChosenHosts, redactor: Redactor | None = None) -> Iterable[str]:
    """Notes on an inventory, and on patterns of ``--limit`` that match nothing."""
    if redactor is not None:
        redactor = redactor.knowing(chosen.inventory.hosts)
    for note in chosen.inventory.notes:
        yield note if redactor is None else redactor.text(note)
    for pattern in chosen.unmatched:
        shown = pattern if redactor is None else redactor.pattern(pattern)
        yield f"--limit: {shown!r} matches no host or group"


# Options for where hosts are read: by this process, or by a Dask cluster.


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
    engine = Dask(cluster, read_host, plain, deadline)
    try:
        engine.check_workers(version)
    except UsageError:
        engine.close()
        raise
    return engine
