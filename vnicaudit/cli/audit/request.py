"""Request of ``vnicaudit audit``: its options merged with the settings, and checked."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

import click
import msgspec

from vnicaudit.audit.accepting.baseline import FindingFilter, load_baseline
from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.audit.reading.targets import Target, expanded_targets
from vnicaudit.base.wording import path_word, word
from vnicaudit.cli.options.filters import (
    FindingOptions,
    ServerOptions,
    check_filters,
    filter_of,
    options_of,
    owners_of,
    wanted_of,
)
from vnicaudit.cli.options.output import (
    Color,
    OutputOptions,
    RedactionOptions,
    ReportingOptions,
    pairs,
    redactor_of,
)
from vnicaudit.cli.options.reading import (
    ClusterOptions,
    FileOptions,
    HostVisitOptions,
    InventoryOptions,
    NovaOptions,
    ReadingOptions,
    ReadingRequest,
    reading_of,
)
from vnicaudit.cli.options.records import Number, is_on_command_line, option
from vnicaudit.cli.output.files import STDOUT, check_different, check_not_compressed, formats_of
from vnicaudit.cli.output.reading_progress import Progress
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import Confidence
from vnicaudit.reports.formats import formats
from vnicaudit.reports.writers import Options

if TYPE_CHECKING:
    from vnicaudit.audit.accepting.baseline import Baseline
    from vnicaudit.audit.settings.keys import Level, Settings
    from vnicaudit.cli.wiring.platforms import PlatformRegistry
    from vnicaudit.reports.redaction import Redactor


# ``--fix`` and ``--diff``.


class FixOptions(msgspec.Struct, frozen=True):
    """The options ``--fix`` and ``--diff`` of ``vnicaudit audit``."""

    fix: Annotated[
        bool,
        option(
            "Apply safe fixes in place to nova.conf, KubeVirt manifests and offline domain XML, "
            "then report the remaining findings."
        ),
    ] = False
    diff: Annotated[
        bool,
        option(
            "Print the changes that --fix would make (with --fix: those it makes) instead of the "
            "report."
        ),
    ] = False
    include_unsafe: Annotated[
        bool, option("With --fix or --diff: include fixes that may harm a guest.")
    ] = False
    backup: Annotated[
        bool,
        option("With --fix: keep a copy of each changed file beside it, FILE.vnicaudit.bak."),
    ] = False

    @property
    def is_on(self) -> bool:
        """True if files are changed, or their changes shown."""
        return self.fix or self.diff


def check_fixing(fixing: FixOptions, nova: NovaOptions, targets: Iterable[Target]) -> None:
    """Raises UsageError if these targets cannot be fixed, or options conflict."""
    if fixing.include_unsafe and not fixing.is_on:
        raise UsageError("--include-unsafe needs --fix or --diff")
    if fixing.backup and not fixing.fix:
        raise UsageError("--backup needs --fix: it copies the files that --fix changes")
    if fixing.is_on and nova.nova_config:
        raise UsageError(
            "--fix and --diff do not change files named with --nova-config: name them as TARGETs"
        )
    for target in targets if fixing.is_on else ():
        if target.kind == "stdin" and fixing.fix:
            raise UsageError(
                "standard input cannot be fixed in place: name a file, or use --diff without --fix"
            )
        if target.kind not in ("stdin", "path"):
            raise UsageError(
                f"{target.name}: --fix and --diff work on files only; an audit never changes a "
                "live host or cloud"
            )


def beside_diff(
    fixing: FixOptions, outputs: list[tuple[str, str]], formats: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Reports to write. With ``--diff``, standard output is used for the diff, so the default text
    report is dropped. Raises UsageError if another report was requested there."""
    if not fixing.diff:
        return outputs
    if formats and any(place == STDOUT for _format, place in outputs):
        raise UsageError(
            "--diff writes to standard output: send the report elsewhere with --output"
        )
    return [output for output in outputs if output[1] != STDOUT]


# Options that need an inventory, or one target after the other.


TRAFFIC_SECONDS = 10.0
"""Seconds between the two readings of counters."""


_NEEDS_INVENTORY = ("sample", "sample_seed", "traffic", "resume")
_NOT_WITH_INVENTORY = (
    *FixOptions.__struct_fields__,
    *FileOptions.__struct_fields__,
    *ServerOptions.__struct_fields__,
    "nova_config",
)


def check_fleet(*, is_fleet: bool) -> None:
    """Raises UsageError for an option that is of no use with an inventory, or without one."""
    rejected = _NOT_WITH_INVENTORY if is_fleet else _NEEDS_INVENTORY
    for parameter in click.get_current_context().command.params:
        name = parameter.name or ""
        if name in rejected and is_on_command_line(name):
            why = "cannot be used with -i, which reads hosts" if is_fleet else "needs -i INVENTORY"
            raise UsageError(f"{parameter.opts[0]} {why}")


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


class FleetOptions(msgspec.Struct, frozen=True):
    """Which part of an inventory is audited, whether with traffic counters (seconds between the two
    readings), and whether an interrupted audit is resumed."""

    sample: Annotated[
        float | None,
        option(
            "Audit a random part of the inventory only, such as 5%.",
            env=True,
            callback=_share,
            metavar="SHARE",
        ),
    ] = None
    sample_of: Annotated[
        Literal["hosts", "nics"],
        option("Sample hosts, or NICs of every host (guest by guest)."),
    ] = "hosts"
    sample_seed: Annotated[
        int | None,
        option(
            "Repeat the sample of an earlier audit.  [default: random]",
            type=click.IntRange(0, 2**32 - 1),
            metavar="N",
        ),
    ] = None
    traffic: Annotated[
        float | None,
        option(
            "Also read the counters of running NICs, twice, SECONDS apart "
            f"(default: {TRAFFIC_SECONDS:g}), for `vnicaudit fleet top`.",
            env=True,
            type=Number(min=0.1, max=3600),
            is_flag=False,
            flag_value=TRAFFIC_SECONDS,
            metavar="[SECONDS]",
        ),
    ] = None
    resume: Annotated[
        bool,
        option(
            "Resume the last, interrupted audit of the inventory: read only the hosts that it had "
            "not read."
        ),
    ] = False


class AuditOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit audit``, in the order of ``--help``."""

    targets: tuple[str, ...]
    history: str | None
    state: str | None
    inventory: InventoryOptions
    fleet: FleetOptions
    reporting: ReportingOptions
    files: FileOptions
    findings: FindingOptions
    servers: ServerOptions
    fixes: FixOptions
    redaction: RedactionOptions
    nova: NovaOptions
    reading: ReadingOptions
    visits: HostVisitOptions
    clusters: ClusterOptions
    output: OutputOptions


class AuditRequest(msgspec.Struct, frozen=True):
    """Command line and settings, merged; the command line takes precedence."""

    targets: list[Target]
    platforms: PlatformRegistry
    reading: ReadingRequest
    rules: tuple[str, ...]
    selects_rules: bool
    """True with ``--select`` or ``--ignore``: the baseline then has findings of rules that do not
    run."""
    fail_on: Level
    strict: bool
    """The run fails if something was not judged."""
    baseline: Baseline
    baseline_file: str
    outputs: list[tuple[str, str]]
    write_baseline: str | None
    fixing: FixOptions
    redactor: Redactor | None
    color: Color
    finding_filter: FindingFilter
    report: Options
    """How reports are written, as far as it does not depend on their place."""
    quiet: bool


def request_of(
    options: AuditOptions, targets: list[Target], platforms: PlatformRegistry
) -> AuditRequest:
    """The audit requested by the options. Raises UsageError for conflicting options or invalid
    settings."""
    _check_record(options, targets, platforms)
    read = reading_of(
        options.reading,
        [target.name for target in targets],
        verbose=options.output.verbose and not options.redaction.redact,
        nova=options.nova,
        files=options.files,
        servers=wanted_of(options.servers),
        visits=options.visits,
        clusters=options.clusters,
    )
    reporting = options.reporting
    settings = read.settings.settings
    baseline = reporting.baseline or read.settings.baseline or ""
    fixing, redactor = options.fixes, _redactor(options)
    check_fixing(fixing, options.nova, targets)
    level, confidence = options.findings.level or settings.level, read.environment.confidence
    chosen = formats_of(reporting.formats, reporting.outputs, formats())
    outputs = beside_diff(fixing, pairs(chosen, reporting.outputs), reporting.formats)
    check_not_compressed(reporting.write_baseline or "")
    check_different([place for _, place in outputs] + [reporting.write_baseline or "/dev/null"])
    request = AuditRequest(
        targets=targets,
        platforms=platforms,
        reading=read,
        rules=rules_of(reporting.selected, reporting.ignored, settings, read.catalogue),
        selects_rules=bool(reporting.selected or reporting.ignored),
        fail_on=level or "low",
        strict=reporting.strict or settings.strict,
        baseline=_loaded_baseline(baseline, reporting.write_baseline),
        baseline_file=baseline,
        outputs=outputs,
        write_baseline=reporting.write_baseline,
        fixing=fixing,
        redactor=redactor,
        color=options.output.color,
        finding_filter=_filter(options, level, confidence, platforms),
        report=Options(
            verbose=options.output.verbose,
            quiet=options.output.quiet,
            fail_confidence=confidence or "medium",
            group_by=_grouping(reporting.group_by, outputs, targets),
            wordings=platforms.wordings,
            view=reporting.view,
            sort=reporting.sort,
            most=reporting.most,
            targets=_target_words(options),
            domain_words="".join(
                f" --domain {'NAME' if options.redaction.redact else word(name)}"
                for name in options.findings.domains
            ),
            quotes=reporting.view == "full" and redactor is None,
            docs_url=read.docs_url(redacted=redactor is not None),
        ),
        quiet=options.output.quiet,
    )
    _check_changed(request)
    _check_chosen(request)
    progress = Progress(enabled=not request.quiet)
    progress.waits_for_live(targets)
    every = expanded_targets(targets, platforms.targets, read.options.live)
    progress.clear()
    return msgspec.structs.replace(request, targets=every)


def _target_words(options: AuditOptions) -> str:
    """``-i hosts.ini --limit web`` for a fleet, ``TARGET`` if names are redacted; else empty."""
    if options.redaction.redact:
        return "TARGET"
    if options.targets:
        return ""
    named = options.inventory
    words = [f"-i {path_word(one)}" for one in named.inventories]
    return " ".join((*words, *([f"--limit {path_word(named.limit)}"] if named.limit else ())))


def _filter(
    options: AuditOptions,
    level: Level | None,
    confidence: Confidence | None,
    platforms: PlatformRegistry,
) -> FindingFilter:
    """The reported findings. The settings keep none out of a baseline that is written, unless each
    audit reports what is new since the last."""
    owners = owners_of(options.findings.owners, platforms)
    if options.reporting.write_baseline not in (None, options.reporting.baseline):
        level, confidence = options.findings.level, None
    return filter_of(options.findings, level or "info", confidence, owners)


def _redactor(options: AuditOptions) -> Redactor | None:
    """The redactor; None: no redaction. Raises UsageError if anything besides reports would be
    written or shown, since it would not be redacted."""
    if options.redaction.redact:
        if options.reporting.write_baseline:
            raise UsageError(
                "--write-baseline cannot be used with --redact: no audit could recognise "
                "redacted findings"
            )
        if options.fixes.fix or options.fixes.diff:
            raise UsageError(
                "--redact cannot be used with --fix or --diff, which show files unredacted"
            )
    return redactor_of(options.redaction)


def _check_record(
    options: AuditOptions, targets: list[Target], platforms: PlatformRegistry
) -> None:
    """Raises UsageError if there is not one host that can be recorded, or the recording would not
    be redacted as the report is."""
    if not options.visits.record:
        return
    kinds = [kind for target in targets if (kind := platforms.kind_of(target)) is not None]
    visited = [kind for kind in kinds if kind.kind == "host" or options.visits.host_facts]
    if len(targets) != 1 or not visited:
        raise UsageError(
            "--record is for one host: name one TARGET such as ssh://HOST, or one libvirt URI with "
            "--host-facts"
        )
    if options.redaction.redact:
        raise UsageError(
            "a recording has names and addresses: record without --redact, then redact the report "
            "that is made of the recording"
        )


def _loaded_baseline(baseline: str, written: str | None) -> Baseline:
    """The known findings. A baseline that this audit writes itself may be missing: it is the
    first of those that each report what is new since the last."""
    if not baseline or (baseline == written and not os.path.lexists(baseline)):
        return {}

    return load_baseline(baseline)


def _check_changed(request: AuditRequest) -> None:
    """Raises UsageError if ``--changed-since`` cannot tell what changed in a target, or would make
    the baseline incomplete."""
    changed = request.reading.options.selection.changed
    if changed is None:
        return
    if request.write_baseline:
        raise UsageError("--write-baseline with --changed-since would forget all unchanged files")
    for target in request.targets:
        if target.kind != "path" or not changed.covers(target.name):
            raise UsageError(
                f"--changed-since: {target.name} is not in the Git repository {changed.top}"
            )


def _grouping(group_by: str | None, outputs: list[tuple[str, str]], targets: list[Target]) -> str:
    """Raises UsageError if no output can be grouped, or no target can provide the group."""
    if group_by and not any(name in ("text", "markdown") for name, _place in outputs):
        raise UsageError(
            "--group-by needs --format text or markdown: other formats list each finding"
        )
    if group_by == "host" and targets and all(one.kind in ("path", "stdin") for one in targets):
        raise UsageError(
            "--group-by host: files do not say on which host a guest runs; use --group-by domain, "
            "or audit the hosts or their cloud"
        )
    return group_by or ""


def _check_chosen(request: AuditRequest) -> None:
    """Raises UsageError if servers are selected without a cloud, or if a baseline would contain
    only some servers, findings or rules. Rules excluded by the settings are excluded from every
    audit."""
    wanted = request.reading.options.servers
    names = (target.name for target in request.targets)
    check_filters(wanted, names, request.platforms.targets)
    if wanted.values_by_kind and request.write_baseline:
        raise UsageError(f"--write-baseline with {wanted} would forget all other servers")
    left_out = request.finding_filter
    if request.baseline_file == request.write_baseline:  # what is below the level is never told
        left_out = msgspec.structs.replace(left_out, level="info", confidence="low")
    if left_out and request.write_baseline:
        raise UsageError(
            f"--write-baseline with {options_of(left_out)} would forget all other findings"
        )
    if request.selects_rules and request.write_baseline:
        raise UsageError("--write-baseline with --select or --ignore would forget the findings of "
                         "all other rules (select and ignore in vnicaudit.toml still "
                         "apply)")  # fmt: skip


def rules_of(
    selected: tuple[str, ...],
    ignored: tuple[str, ...],
    settings: Settings,
    catalogue: Catalogue,
) -> tuple[str, ...]:
    """The rules left by ``--select`` and ``--ignore``, or by the settings. Raises UsageError if
    none is left."""
    rules = catalogue.select(
        _split(selected) or settings.select, _split(ignored) or settings.ignore
    )
    if not rules:
        raise UsageError("--select and --ignore leave no rule to run")
    return rules


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    """Split values at commas too: ``VNIC001,VNIC03`` is two."""
    return tuple(part.strip() for text in values for part in text.split(",") if part.strip())
