"""``vnicaudit explain``: one vNIC, layer by layer."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import click
import msgspec

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.explain import ExplainWork
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.wording import close_to, mac_hint
from vnicaudit.cli.audit.nics import complain_about, note
from vnicaudit.cli.options.candidates import targets as target_words
from vnicaudit.cli.options.output import (
    FormatOption,
    OutputOptions,
    RedactionOptions,
    redactor_of,
    screen_options,
)
from vnicaudit.cli.options.reading import (
    ClusterOptions,
    LaunchersOption,
    ReadingOptions,
    reading_of,
)
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.output.files import emit, flush
from vnicaudit.cli.output.reading_progress import Progress
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.reports.explain import explanation_json, explanation_text

_EPILOG = """\b
Examples:
  vnicaudit explain guest.xml                    its only NIC
  vnicaudit explain guest.xml --nic 0
  vnicaudit explain qemu:///system --nic 52:54:00:12:34:56
  vnicaudit explain qemu:///system --domain mail-01 --nic 1
  vnicaudit explain qemu:///system --nic vnet3 --assume-qemu 10.0
  vnicaudit explain openstack:prod --domain web-1 --nic 0
  vnicaudit explain kube:prod --domain shop/web --exec
  vnicaudit explain openstack:prod qemu+ssh://cmp1/system nodes/cmp1/nova.conf \\
      --nic fa:16:3e:12:34:56                    everything that affects a server's NIC"""


_FEW = 3
"""Number of NICs listed where there are several."""


class ExplainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit explain``."""

    targets: tuple[str, ...]
    nic: Annotated[
        str | None,
        option(
            "NIC to explain: its MAC address, its index in the domain (from 0), or its tap.  "
            "[default: the only one]",
            metavar="MAC|INDEX|DEV",
        ),
    ] = None
    domain: Annotated[
        str | None,
        option(
            "Domain or server of the NIC, if there are several candidates.", metavar="NAME|UUID"
        ),
    ] = None
    format: FormatOption = "text"
    redaction: RedactionOptions
    reading: ReadingOptions
    launchers: LaunchersOption = False
    output: OutputOptions


@click.command("explain", cls=SectionedCommand, epilog=_EPILOG)
@click.argument(
    "targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=target_words
)
@pass_wiring
@takes(ExplainOptions)
def command(options: ExplainOptions, wiring: Wiring) -> int:
    """Explain one virtual NIC layer by layer: declared values, which one wins, and why.

    Several TARGETs are combined: an OpenStack server with nova.conf of its host, with its libvirt
    domain and with its QEMU process.
    """
    redactor = redactor_of(options.redaction)
    verbose = options.output.verbose and redactor is None
    clusters = ClusterOptions(launchers=options.launchers)
    reading = reading_of(
        options.reading,
        options.targets,
        verbose=verbose,
        clusters=clusters,
        domain=options.domain,
    )
    catalogue = reading.catalogue
    rules = catalogue.ids
    suppressor = Suppressor(reading.settings.suppressions, date.today(), rules, catalogue)
    judge = AuditWork(
        rules, reading.assumptions, suppressor, {}, wiring.platforms(), catalogue, for_report=True
    )
    work = ExplainWork(judge, reading.assumptions, options.nic, options.domain)
    progress = Progress(enabled=not options.output.quiet)
    run = AuditRun(work, reading.options, progress)
    for product in run.items(options.targets):
        work.take(product)
    progress.clear()
    if options.nic is None:
        _check_only(work, lists=redactor is None)
    style = screen_options(options.output)
    found, results = work.found, run.results
    if redactor is not None:
        found = list(map(redactor.record, found))
        results = tuple(map(redactor.record, results))
    for number, explanation in enumerate(found):
        if options.format == "json":
            emit(explanation_json(explanation))
        else:
            emit("\n" * bool(number) + explanation_text(explanation, style))
    flush()
    note(results, style)
    code = complain_about(results)
    return code if work.found or code else _not_found(work, options.nic, options.domain)


def _check_only(work: ExplainWork, *, lists: bool) -> None:
    """Raises UsageError if there are several NICs: one is to be named. ``lists``: some are."""
    several = {(one.nic.domain, one.nic.index): one.nic.mac for one in work.found}
    if len(several) > 1:
        names = dict.fromkeys(mac or f"{domain} {at}" for (domain, at), mac in several.items())
        some = f" ({', '.join(list(names)[:_FEW])}{', …' if len(names) > _FEW else ''})" * lists
        raise UsageError(f"there are several NICs{some}: name one with --nic")


def _not_found(work: ExplainWork, nic: str | None, domain: str | None) -> int:
    if work.bare:
        raise TargetError("; ".join(work.bare))
    if domain and work.names and not work.has_domain:
        hint = close_to(domain, sorted(work.names)) or "; `vnicaudit nics` lists them all"
        raise TargetError(f"there is no domain {domain!r} in these targets{hint}")
    where = f" of domain {domain!r}" if domain else ""
    if nic is None:
        raise TargetError(f"there is no NIC{where} in these targets")
    hint = mac_hint(nic, work.macs)
    if not hint and 0 < len(work.macs) <= _FEW:
        hint = f"; {'it has' if domain else 'they have'} {', '.join(sorted(work.macs))}"
    hint = hint or "; `vnicaudit nics` lists all NICs"
    raise TargetError(f"there is no NIC {nic!r}{where} in these targets{hint}")
