"""``vnicaudit explain``: one vNIC, layer by layer."""

from __future__ import annotations

from datetime import date
from typing import Any

import click

from vnicaudit.audit.catalogue import rule_ids
from vnicaudit.audit.explain import ExplainWork
from vnicaudit.audit.run import Run
from vnicaudit.audit.suppressions import Suppressor
from vnicaudit.audit.work import AuditWork
from vnicaudit.cli.nics import complain_about, note
from vnicaudit.cli.options import format_option, output_options, reading_options
from vnicaudit.cli.reading import reading, screen
from vnicaudit.cli.stdout import emit, flush
from vnicaudit.errors import TargetError
from vnicaudit.reports.explain import explanation_json, explanation_text

_EPILOG = """\b
Examples:
  vnicaudit explain guest.xml --nic 0
  vnicaudit explain qemu:///system --nic 52:54:00:12:34:56
  vnicaudit explain qemu:///system --domain mail-01 --nic 1
  vnicaudit explain qemu:///system --nic vnet3 --assume-qemu 10.0
  vnicaudit explain openstack:prod --domain web-1 --nic 0
  vnicaudit explain openstack:prod qemu+ssh://cmp1/system nodes/cmp1/nova.conf \\
      --nic fa:16:3e:12:34:56                    all that has a say in a server's NIC"""


@click.command("explain", epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--nic",
    "nic",
    required=True,
    metavar="MAC|INDEX|DEV",
    help="Which NIC: its MAC address, its index in the domain (from 0), or its tap.",
)
@click.option(
    "--domain",
    metavar="NAME|UUID",
    help="Of which domain or server, where that is not clear.",
)
@format_option
@reading_options
@output_options
def command(targets: tuple[str, ...], **given: Any) -> int:
    """Show one virtual NIC layer by layer: who declares what, what wins and why, what is wrong.

    TARGETs that are given together are joined: a server of OpenStack with nova.conf of its host,
    with the domain that Nova made of it and with the QEMU that runs it.
    """
    plan = reading(given, jobs=1)
    suppressor = Suppressor(plan.settings.suppressions, date.today(), rule_ids())
    judge = AuditWork(rule_ids(), plan.assumptions, suppressor, {})
    work = ExplainWork(judge, plan.assumptions, given["nic"], given["domain"])
    run = Run(work, plan.options)
    for _ in run.items(targets):
        pass
    options = screen(given)
    for number, explanation in enumerate(work.found):
        if given["format_"] == "json":
            emit(explanation_json(explanation))
        else:
            emit("\n" * bool(number) + explanation_text(explanation, options))
    flush()
    note(run.results, options)
    code = complain_about(run.results)
    return code if work.found or code else _not_found(work, given["nic"], given["domain"])


def _not_found(work: ExplainWork, nic: str, domain: str | None) -> int:
    if work.bare:
        raise TargetError("; ".join(work.bare))
    where = f" in the domain {domain!r}" if domain else ""
    raise TargetError(f"no NIC {nic!r}{where} in what was read; `vnicaudit nics` lists them all")
