"""Request of ``vnicaudit fleet audit``: its options, the settings and the inventory, checked."""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from pathlib import Path

import msgspec

from vnicaudit import __version__
from vnicaudit.audit.reading.targets import expanded_targets, unique_targets
from vnicaudit.cli.audit.fixing import FixOptions
from vnicaudit.cli.audit.request import AuditOptions, AuditRequest, request_of
from vnicaudit.cli.fleet.options import (
    ChosenHosts,
    EngineOptions,
    InventoryOptions,
    RunningOptions,
    SampleOptions,
    check_engine,
    check_traffic,
    chosen_hosts,
    limits_of,
    sample_of,
)
from vnicaudit.cli.options.filters import FindingOptions, ServerOptions
from vnicaudit.cli.options.output import OutputOptions, RedactionOptions, ReportingOptions
from vnicaudit.cli.options.reading import FileOptions, HistoryOptions, NovaOptions, ReadingOptions
from vnicaudit.cli.options.records import state_folder
from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.platforms import PlatformRegistry
from vnicaudit.errors import MissingExtraError, UsageError
from vnicaudit.fleet.inventory.own_format import SourceHost, SourceHosts
from vnicaudit.fleet.inventory.sources import Sources
from vnicaudit.fleet.plan_history import AuditSample
from vnicaudit.fleet.running.host_reading import ReadingLimits
from vnicaudit.model.fleet import Coverage, InventoryHost, LiveOptions
from vnicaudit.model.runs import ComputeNode

# Sources of inventories: platforms that can list the compute hosts of a cloud.


_NAMED = 10


def sources_of(live: LiveOptions, platforms: PlatformRegistry) -> Sources:
    """The inventory sources of these platforms."""
    return Sources(cloud=partial(_cloud_hosts, live, platforms))


def _cloud_hosts(live: LiveOptions, platforms: PlatformRegistry, name: str) -> SourceHosts:
    """The compute nodes of a cloud, in all its regions if requested."""
    kinds = platforms.targets
    nodes: list[tuple[str, ComputeNode]] = []
    for target in expanded_targets(unique_targets([name], kinds), kinds, live):
        kind = platforms.kind_of(target)
        if kind is None or kind.compute_nodes is None:
            raise UsageError(f"{name}: not a cloud that can list its hosts")
        nodes += [(target.name, node) for node in kind.compute_nodes(target.name, live)]
    hosts = tuple(_host(target, node) for target, node in nodes)
    groups = dict.fromkeys(group for host in hosts for group in host.groups)
    down = [node.name for _target, node in nodes if not node.up]
    return SourceHosts(hosts, tuple(groups), _notes(name, down))


def _host(target: str, node: ComputeNode) -> SourceHost:
    zone = (node.zone,) if node.zone else ()
    groups = tuple(dict.fromkeys((*zone, *node.aggregates)))
    return SourceHost(node.name, target, site=node.zone, groups=groups)


def _notes(name: str, down: list[str]) -> tuple[str, ...]:
    if not down:
        return ()
    more = f" and {len(down) - _NAMED:,} more" if len(down) > _NAMED else ""
    return (f"{name}: Nova has no sign of life of {', '.join(down[:_NAMED])}{more}",)


_NO_SERVERS = ServerOptions((), (), (), (), ())
_NO_FIXES = FixOptions(fix=False, diff=False, include_unsafe=False, backup=False)


class FleetAuditOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit fleet audit``."""

    inventory: InventoryOptions
    running: RunningOptions
    reading_engine: EngineOptions
    traffic: float | None
    sampling: SampleOptions
    resume: bool
    history: str | None
    state: str | None
    reporting: ReportingOptions
    redaction: RedactionOptions
    reading: ReadingOptions
    output: OutputOptions


class FleetRequest(msgspec.Struct, frozen=True):
    """The requested audit of a fleet. ``audit``: how its hosts are judged and reported.
    ``selection``: the inventory and its hosts that match ``--limit``. ``drawn``: those of them that
    will be read."""

    audit: AuditRequest
    selection: ChosenHosts
    drawn: tuple[InventoryHost, ...]
    limit: str
    limits: ReadingLimits
    sample: AuditSample
    state: Path
    history: HistoryOptions
    resume: bool
    engine: EngineOptions
    traffic: float | None = None
    """Seconds between the two readings of counters; None: they are not read."""

    def redacted(self, text: str) -> str:
        """A text for the user; with ``--redact``, without names and addresses."""
        if self.audit.redactor is None:
            return text
        return self.audit.redactor.knowing(self.selection.inventory.hosts).text(text)

    @property
    def coverage(self) -> Coverage:
        """The part of the fleet that will be audited."""
        sample = self.sample
        is_sample = sample.share < 1
        return Coverage(
            rules=self.audit.rules,
            limit=self.limit,
            host_share=sample.host_share,
            nic_share=sample.nic_share,
            seed=sample.seed if is_sample else None,
            hosts=len(self.drawn),
            inventory=len(self.selection.inventory.hosts),
        )


def fleet_request(options: FleetAuditOptions, wiring: Wiring) -> FleetRequest:
    """The audit requested by the options. Raises UsageError for conflicting options or an invalid
    setting or inventory; TargetError if a cloud cannot list its hosts."""
    check_engine(options.reading_engine)
    platforms = wiring.platforms()
    whole = AuditOptions(
        targets=(),
        reporting=options.reporting,
        files=FileOptions(),
        servers=_NO_SERVERS,
        findings=FindingOptions(),
        fixes=_NO_FIXES,
        redaction=options.redaction,
        nova=NovaOptions(),
        reading=options.reading,
        output=options.output,
    )
    audit = request_of(whole, [], platforms)
    sample = sample_of(options.sampling)
    sources = sources_of(audit.reading.options.live, platforms)
    selection = chosen_hosts(options.inventory, sources, quiet=options.output.quiet)
    check_hosts(selection.hosts, wiring)
    request = FleetRequest(
        audit=audit,
        selection=selection,
        drawn=sample.hosts(selection.hosts),
        limit=options.inventory.limit or "",
        limits=limits_of(options.running),
        sample=sample,
        state=Path(state_folder(options.state)),
        history=HistoryOptions(
            options.history,
            options.reading.config,
            options.reading.trusted_settings,
            options.state,
        ),
        resume=options.resume,
        engine=options.reading_engine,
        traffic=check_traffic(options.traffic, options.running),
    )
    _check_baseline(request)
    return request


def check_hosts(hosts: tuple[InventoryHost, ...], wiring: Wiring) -> None:
    """Raises UsageError if the URI of a host is not one that can be read live; MissingExtraError if
    reading it needs a package that is not installed."""
    platforms = wiring.platforms()
    for host in hosts:
        try:
            (target,) = unique_targets([host.uri], platforms.targets)
        except MissingExtraError:
            raise
        except UsageError as error:
            raise UsageError(f"{host.source}: {host.name}: {error}") from None
        kind = platforms.kind_of(target)
        if kind is None or kind.read is None:
            raise UsageError(
                f"{host.source}: {host.name}: {host.uri} is not a live host; use a libvirt URI, "
                "for example qemu+ssh://HOST/system"
            )


def digest_of(request: FleetRequest) -> str:
    """Digest of everything that decides what is judged, except the hosts and the random seed."""
    audit = request.audit
    read = audit.reading
    parts = (
        __version__,
        audit.rules,
        read.assumptions,
        read.settings.suppressions,
        read.settings.rules,
        sorted(audit.baseline),
        read.options.live.agent,
        request.limit,
        request.sample.share,
        request.sample.of,
    )
    encoded = msgspec.json.encode(parts, enc_hook=str)
    return blake2b(encoded, digest_size=16).hexdigest()


def _check_baseline(request: FleetRequest) -> None:
    """Raises UsageError if a new baseline would not cover all hosts."""
    if request.audit.write_baseline and not request.coverage.is_whole:
        raise UsageError("--write-baseline with --limit or --sample would forget all other hosts")
