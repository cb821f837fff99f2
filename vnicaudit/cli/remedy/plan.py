"""``vnicaudit plan``: plan changes and write them down for review."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.reading.targets import expanded_targets, unique_targets
from vnicaudit.audit.work import AuditWork
from vnicaudit.cli.audit.request import rules_of
from vnicaudit.cli.options.candidates import targets as target_words
from vnicaudit.cli.options.filters import check_filters, wanted_of
from vnicaudit.cli.options.reading import ReadingRequest, reading_of
from vnicaudit.cli.options.records import SectionedCommand, takes
from vnicaudit.cli.output.reading_progress import Progress
from vnicaudit.cli.remedy.plan_options import PlanCommandOptions, planning_options
from vnicaudit.cli.remedy.plan_output import print_plan, write_owner_files
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import TargetError
from vnicaudit.remedy.planning.run import PlanRequest, make_plan

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.platforms import PlatformRegistry

_EPILOG = """\b
Examples:
  vnicaudit plan qemu:///system -o plan.json      review it, then: vnicaudit apply plan.json
  vnicaudit plan qemu:///system --agent -o plan.json
  vnicaudit plan qemu+ssh://root@kvm7/system --domain mail-01 -o plan.json
  vnicaudit plan definitions/ --include-unsafe -o plan.json
  vnicaudit plan qemu:///system --nic 52:54:00:12:34:56 \\
      --to vdpa --vdpa-device /dev/vhost-vdpa-0 -o plan.json
  vnicaudit plan openstack:prod -o plan.json
  vnicaudit plan openstack:prod nodes/ qemu+ssh://cmp1/system -o plan.json
  vnicaudit plan openstack:prod --nic fa:16:3e:12:34:56 --to vdpa
  vnicaudit plan -i fleet.toml -o plan.json
  vnicaudit plan -i hosts.ini --limit 'zone_a,!kvm7' --group-by host -o plan.json

\b
Exit codes: 0 planned (or nothing to change), 2 usage, configuration or a mistake in an inventory,
4 a target could not be read (each is explained), or --history failed once the hosts were read; the
rest is planned."""


@click.command("plan", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, shell_complete=target_words)
@pass_wiring
@takes(PlanCommandOptions)
def command(options: PlanCommandOptions, wiring: Wiring) -> int:
    """Plan changes to the NICs of the TARGETs, shown as diffs and in words.

    A TARGET is a libvirt URI, a file or folder of domain XML, or openstack:CLOUD with a name from
    clouds.yaml. Nothing is changed; connections are read-only. Suppressed findings are left out,
    and so are guests that may not be ready for virtio. Definitions owned by Nova, KubeVirt or oVirt
    are never changed: the plan says what to do in those systems. For a cloud, the plan changes
    images and the properties that Nova keeps for its servers. Add nova.conf of the compute nodes
    and their libvirt URIs as targets to learn more about the servers. For a host (ssh://HOST), it
    changes settings of the host, at once and with files that keep them beyond the next boot. For a
    cluster (kube:CONTEXT), it patches virtual machines, networks and the KubeVirt object, unless
    another program keeps them.

    With -i, the hosts of an inventory are read in parallel. If there is a history of audits, the
    plan also tells how old its findings are, how many are new, and what is open on hosts that could
    not be read. The history is only read.
    """
    platforms = wiring.platforms()
    kinds = platforms.targets
    wanted = planning_options(options, kinds)
    quiet = options.output.quiet
    read = reading_of(
        options.reading,
        options.targets,
        verbose=options.output.verbose,
        servers=wanted_of(options.servers),
    )
    settings = read.settings.settings
    wanted = replace(
        wanted,
        policy=settings.policy,
        gitops=frozenset(settings.treat_as_gitops),
        owned=frozenset(settings.treat_as_owned),
    )
    progress = Progress(enabled=not quiet)
    work, all_rules_work = works_of(options.selected, options.ignored, read, platforms)
    request = PlanRequest(work, all_rules_work, wanted, wiring.adapters(), read.options, progress)
    if options.inventory.are_used(options.targets):
        # imported here: most commands read no inventory
        from vnicaudit.cli.remedy.plan_fleet import plan_fleet

        return plan_fleet(options, request, read.environment, wiring)
    if not options.targets:
        raise click.UsageError("Missing argument 'TARGET...', or -i INVENTORY.")
    check_filters(read.options.servers, options.targets, kinds)
    named = unique_targets(options.targets, kinds)
    progress.waits_for_live(named)
    targets = expanded_targets(named, kinds, read.options.live)
    plan = make_plan(targets, platforms.planners, request)
    progress.clear()
    print_plan(plan, options.plan_file, options.group_by, options.output,
               "vnicaudit apply {}".format, diff=options.diff)  # fmt: skip
    if options.patches is not None:
        write_owner_files(plan, options.patches)
    return TargetError.exit_code if plan.errors else 0


def works_of(
    selected: tuple[str, ...],
    ignored: tuple[str, ...],
    read: ReadingRequest,
    platforms: PlatformRegistry,
) -> tuple[AuditWork, AuditWork]:
    """Work by the selected rules, and work by all rules; the same object if all are selected."""
    settings, every = read.settings.settings, read.catalogue.ids
    rules = rules_of(selected, ignored, settings, read.catalogue)
    work = _work(rules, read, platforms)
    return work, work if rules == every else _work(every, read, platforms)


def _work(rules: tuple[str, ...], read: ReadingRequest, platforms: PlatformRegistry) -> AuditWork:
    suppressor = Suppressor(read.settings.suppressions, date.today(), rules, read.catalogue)
    return AuditWork(rules, read.assumptions, suppressor, {}, platforms, read.catalogue)
