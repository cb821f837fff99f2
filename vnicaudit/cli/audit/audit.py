"""``vnicaudit audit``: findings."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from vnicaudit.audit.reading.targets import unique_targets
from vnicaudit.audit.run import AuditRun
from vnicaudit.base.deadlines import timestamp
from vnicaudit.cli.audit.fixing import FixCounts, fix
from vnicaudit.cli.audit.reporting import (
    Reports,
    RequestedSubjects,
    audit_work,
    end_of,
    exit_code,
    number_gone_from_baseline,
    reported_results,
    tell_filtered,
    tell_unread,
    unjudged_sentence,
)
from vnicaudit.cli.audit.request import (
    AuditOptions,
    AuditRequest,
    check_fleet,
    request_of,
)
from vnicaudit.cli.options.candidates import targets as target_words
from vnicaudit.cli.options.records import SectionedCommand, takes
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.output.reading_progress import Progress
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import RefusedError
from vnicaudit.model.report import Summary, TargetResult
from vnicaudit.reports.formats import FORMATS
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writers import Replacements

if TYPE_CHECKING:
    from vnicaudit.remedy.offered import OfferedFixes


def audit(request: AuditRequest) -> int:
    """Fix what is requested, audit and report; returns the exit code."""
    with ExitStack() as stack:
        reports = Reports(request, stack, replacements=_replacements(request))
        by_nic = bool(request.finding_filter.nics)
        done = fix(request, audit_work(request, for_report=False, with_rows=by_nic))
        rows = by_nic or any(FORMATS[name].needs_rows for name, _place in request.outputs)
        work = audit_work(request, for_report=True, with_rows=rows)
        progress = Progress(enabled=not request.quiet)
        run = AuditRun(work, request.reading.options, progress, done.input)
        reports.start(timestamp("seconds"))
        products = run.items(target.name for target in request.targets)
        whole = not _is_filtered(request)
        named = RequestedSubjects(request)
        audited = reported_results(run, products, work.suppressor, named, whole=whole)
        reports.add(audited, progress.clear)
        progress.clear()
        named.check(run.results)
        end = replace(end_of(run, _summary(run, request, done)), not_fixed=done.not_fixed)
        end = reports.finish(end)
    tell_unread(end, request)
    if not request.quiet:
        _tell_not_judged(end.targets, run.undecided, request)
    tell_filtered(end.summary.filtered, request)
    if done.refused and not end.is_partial:
        return RefusedError.exit_code
    return 0 if reports.writes_baseline and not end.is_partial else exit_code(run, request)


def _replacements(request: AuditRequest) -> Replacements | None:
    """How findings are fixed in files, for reports that show it; the files are read again for that.
    None if reports are redacted."""
    if request.redactor is not None:
        return None

    @cache
    def offered() -> OfferedFixes:
        # imported here: most reports do not need it
        from vnicaudit.remedy.offered import OfferedFixes

        return OfferedFixes(audit_work(request, for_report=False), request.platforms.writer)

    return lambda finding: offered().of(finding)


def _tell_not_judged(
    results: tuple[TargetResult, ...], undecided: dict[str, int], request: AuditRequest
) -> None:
    """Print which rules and which parts of files were not judged, if no report lists them."""
    if any(FORMATS[name].names_not_judged for name, _place in request.outputs):
        return
    if why := unjudged_sentence(results, undecided, places=True):
        tell(safe(f"{why}; --format text shows why"))


def _summary(run: AuditRun, request: AuditRequest, done: FixCounts) -> Summary:
    return replace(
        run.summary,
        baseline_gone=number_gone_from_baseline(request, run, whole=not _is_filtered(request)),
        fixed=done.problems,
        fixed_files=done.files,
        refused=done.refused,
    )


def _is_filtered(request: AuditRequest) -> bool:
    """True if only selected servers are read, or domains or NICs reported."""
    wanted = request.finding_filter
    return bool(request.reading.options.servers.values_by_kind or wanted.domains or wanted.nics)


_EPILOG = """\b
Examples:
  vnicaudit audit qemu:///system
  vnicaudit audit qemu+ssh://root@kvm1/system qemu+ssh://root@kvm2/system
  vnicaudit audit /etc/libvirt/qemu --select VNIC00 --level high
  vnicaudit audit ssh://root@kvm1                        the host itself, and its guests
  vnicaudit audit openstack:prod                         servers, images and flavors
  vnicaudit audit openstack:prod --project web --project mail --zone az1
  vnicaudit audit kube:prod kube:lab/web                 a cluster, a namespace of another one
  vnicaudit audit openstack:prod qemu+ssh://cmp1/system nodes/cmp1/nova.conf
  vnicaudit audit definitions/ --level high --group-by domain
  vnicaudit audit qemu:///system --domain mail-01 --nic 0
  vnicaudit audit definitions/ --format concise          one line per finding
  vnicaudit audit definitions/ --view full               each finding with its fix
  vnicaudit audit definitions/ --format text --format sarif --output - --output vnic.sarif
  vnicaudit audit qemu:///system --assume-qemu 10.0      before an upgrade
  vnicaudit audit definitions/ --write-baseline known.json
  vnicaudit audit definitions/ --baseline known.json     new findings only
  vnicaudit audit definitions/ --diff                    what --fix would change
  vnicaudit audit qemu:///system --redact -o report.json  to share with others
  vnicaudit audit -i fleet.toml --format json -o fleet.json
  vnicaudit audit -i hosts.ini -i openstack:prod --limit 'zone_a,!kvm7'
  vnicaudit audit -i fleet.toml --sample 5%              a quick daily check
  vnicaudit audit -i fleet.toml --traffic 30             with counters, for fleet top
  vnicaudit audit -i fleet.toml --resume                 after Ctrl-C or a crash

\b
Exit codes: 0 clean, 1 findings at or above --level (hints of low confidence do not count),
2 usage or configuration, 3 internal error or a rule crashed, 4 a target could not be read (the
rest is reported), 5 a fix was not made, or another audit of this fleet is under way, 130
interrupted."""


@click.command("audit", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, shell_complete=target_words)
@pass_wiring
@takes(AuditOptions)
def command(options: AuditOptions, wiring: Wiring) -> int:
    """Audit virtual NICs and report findings.

    A TARGET is a file or folder (libvirt domain XML, QEMU command lines and logs, ps output,
    nova.conf, KubeVirt manifests, image and flavor definitions; recognised by content), - for
    standard input, /proc for the QEMU processes on this host, a libvirt URI, a host itself with its
    links, CPUs and QEMU processes (ssh://HOST, docker://CONTAINER, podman://CONTAINER,
    kubectl://POD, netns://NAME, local), a copy of a host (a sosreport, or sysinfo.tgz of a
    must-gather; a folder or an archive), openstack:CLOUD with a name from clouds.yaml
    (openstack:envvars for the OS_* variables), or kube:CONTEXT[/NAMESPACE] of a kubeconfig. If the
    hosts of a cloud are targets as well, its servers are matched with their domains and nova.conf.
    Connections are read-only, and only --fix changes files.

    With -i, the hosts of an inventory are read in parallel. If one cannot be read or stops
    answering, the others are still reported, and the exit code is 4. Results are saved in the state
    directory, so that an interrupted audit can be resumed, and stored in the history: see
    `vnicaudit history` and `diff`.
    """
    is_fleet = options.inventory.are_used(options.targets)
    check_fleet(is_fleet=is_fleet)
    if is_fleet:
        # imported here: most commands read no inventory
        from vnicaudit.cli.audit.fleet import audit_fleet

        return audit_fleet(options, wiring)
    if not options.targets and not options.nova.nova_config:
        raise click.UsageError("Missing argument 'TARGET...', or -i INVENTORY.")
    platforms = wiring.platforms()
    targets = unique_targets(options.targets, platforms.targets)
    # impossible combinations are rejected before anything is written
    return audit(request_of(options, targets, platforms))
