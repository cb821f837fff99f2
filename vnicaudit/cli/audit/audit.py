"""``vnicaudit audit``: findings."""

from __future__ import annotations

import click

from vnicaudit.cli.audit.request import AUDIT_OPTIONS, AuditOptions
from vnicaudit.cli.audit.run import audit_with
from vnicaudit.cli.options.candidates import targets as target_words
from vnicaudit.cli.options.records import as_record, together
from vnicaudit.cli.options.sections import SectionedCommand
from vnicaudit.cli.wiring import Wiring, pass_wiring

_EPILOG = """\b
Examples:
  vnicaudit audit qemu:///system
  vnicaudit audit qemu+ssh://root@kvm1/system qemu+ssh://root@kvm2/system
  vnicaudit audit /etc/libvirt/qemu --select VNIC00 --fail-on high
  vnicaudit audit openstack:prod                         servers, images and flavors
  vnicaudit audit openstack:prod --project web --project mail --zone az1
  vnicaudit audit openstack:prod qemu+ssh://cmp1/system nodes/cmp1/nova.conf
  vnicaudit audit definitions/ --severity high,error --group-by domain
  vnicaudit audit definitions/ --format concise          one line per finding
  vnicaudit audit definitions/ --view full               each finding with its fix
  vnicaudit audit definitions/ --format text --format sarif --output - --output vnic.sarif
  vnicaudit audit qemu:///system --assume-qemu 10.0      before an upgrade
  vnicaudit audit definitions/ --write-baseline known.json
  vnicaudit audit definitions/ --baseline known.json     new findings only
  vnicaudit audit definitions/ --diff                    what --fix would change
  vnicaudit audit qemu:///system --redact -o report.json  to share with others

\b
Exit codes: 0 clean, 1 findings at or above --fail-on and --fail-confidence,
2 usage or configuration, 3 internal error or a rule crashed, 4 a target could not be read,
5 a fix was not made."""


@click.command("audit", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, shell_complete=target_words)
@together(*AUDIT_OPTIONS)
@pass_wiring
@as_record(AuditOptions)
def command(options: AuditOptions, wiring: Wiring) -> int:
    """Audit virtual NICs and report findings.

    A TARGET is a file or folder (libvirt domain XML, QEMU command lines and logs, ps output,
    nova.conf, KubeVirt manifests, image and flavor definitions; recognised by content), - for
    standard input, /proc for the QEMU processes on this host, a libvirt URI, or openstack:CLOUD
    with a name from clouds.yaml (openstack:envvars for the OS_* variables). If the hosts of a cloud
    are targets as well, its servers are matched with their domains and nova.conf. Connections are
    read-only, and only --fix changes files.
    """
    if not options.targets and not options.nova.nova_config:
        raise click.UsageError("Missing argument 'TARGET...'.")
    return audit_with(options, wiring)
