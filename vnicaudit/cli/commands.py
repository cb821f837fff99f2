"""The commands. Each is loaded only when it runs; ``--help`` loads none."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click

from vnicaudit import __version__
from vnicaudit.base.wording import close_to
from vnicaudit.cli.options import COMPLETES
from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError
from vnicaudit.reports.safe import message

if TYPE_CHECKING:
    from vnicaudit.cli.wiring import Wiring


COMMANDS = {
    "audit": CommandEntry("Audit NICs and report findings.", "audit.audit"),
    "nics": CommandEntry("List every NIC with its declared and effective settings.", "audit.nics"),
    "explain": CommandEntry(
        "Explain one NIC layer by layer: declared values, and which one wins.", "audit.explain"
    ),
    "rules": CommandEntry("List all rules, or show one rule's manual page.", "audit.rules"),
    "plan": CommandEntry("Plan changes, shown as diffs and in words.", "remedy.plan"),
    "apply": CommandEntry(
        "Apply a plan: redefine, restart or hot-swap, then verify.", "remedy.apply"
    ),
    "rollback": CommandEntry("Undo a previous run.", "remedy.rollback"),
    "runs": CommandEntry("List previous runs and their outcomes.", "remedy.runs"),
    "fleet": CommandEntry(
        "Show the hosts of an inventory, rank changes, serve a page.", "commands:fleet"
    ),
    "host": CommandEntry(
        "Show who uses the CPUs of a host; CPU masks, table sizes.", "commands:host"
    ),
    "advise": CommandEntry("Advise which network fits which flow, and why.", "commands:advise"),
    "bench": CommandEntry(
        "Measure network performance before and after a change.", "commands:bench"
    ),
    "history": CommandEntry("Show the stored audits of a fleet.", "commands:history"),
    "diff": CommandEntry("Compare two audits: what is new, worse, fixed or gone.", "diff"),
    "doctor": CommandEntry("Check what can be audited from this machine.", "doctor"),
    "completion": CommandEntry("Print or install shell completion.", "completion"),
}


_EPILOG = """\b
Examples:
  vnicaudit audit qemu:///system                 this hypervisor, read-only
  vnicaudit audit qemu+ssh://root@kvm7/system    another one
  vnicaudit audit /etc/libvirt/qemu              a folder of domain XML
  virsh dumpxml mail-01 | vnicaudit audit -      standard input
  vnicaudit nics /proc                           the NICs of every running QEMU
  vnicaudit audit openstack:prod                 the servers of a cloud in clouds.yaml
  vnicaudit explain qemu:///system --nic 52:54:00:12:34:56
  vnicaudit rules VNIC001                        a rule's manual page
  vnicaudit plan qemu:///system -o plan.json     plan changes and review them
  vnicaudit apply plan.json                      apply the plan
  vnicaudit bench profiles                       list the built-in measurements

\b
Exit codes: 0 clean, 1 findings, 2 usage, 3 internal error, 4 a target could not
be read, 5 a change was not made or not verified, 6 rolled back, 130 interrupted."""


@click.command(
    cls=lazy_group(COMMANDS),
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", message="vnicaudit %(version)s")
def cli() -> None:
    """Audit virtual NICs: compare what is declared with what runs, and report problems.

    A TARGET is a file or folder (libvirt domain XML, QEMU command lines and logs, ps output,
    nova.conf, KubeVirt manifests, image and flavor definitions; recognised by content), `-` for
    standard input, /proc for the QEMU processes on this host, a libvirt URI, openstack:CLOUD or
    kube:CONTEXT.
    Everything is read-only, except `apply` and `rollback`, which ask first, `audit --fix`, which
    changes files, and `bench`, which puts load on a network path.
    """


# The groups of commands.


_FLEET = {
    "inventory": CommandEntry(
        "Show the hosts of an inventory, and where each comes from.", "fleet.inventory"
    ),
    "top": CommandEntry("Rank the changes to make first, with reasons.", "fleet.top"),
    "serve": CommandEntry("Serve a web page and metrics of the fleet, read-only.", "fleet.serve"),
    "notify": CommandEntry("Notify channels of new and reopened findings.", "fleet.notify"),
}

_FLEET_EPILOG = """\b
Examples:
  vnicaudit fleet inventory -i hosts.ini --check
  vnicaudit fleet top --top 20
  vnicaudit fleet serve --metrics
  vnicaudit fleet notify --channels channels.toml"""


@click.command("fleet", cls=lazy_group(_FLEET), epilog=_FLEET_EPILOG)
def fleet() -> None:
    """Show the hosts of an inventory, and what the audits of them found.

    To audit and change them, use -i: `vnicaudit audit -i fleet.toml`, `plan -i`, `apply`.
    """


_HOST = {
    "cpus": CommandEntry("Draw which tasks may use which CPUs of a host.", "host.cpus"),
    "mask": CommandEntry("Convert a list of CPUs to a mask, or a mask to a list.", "host.mask"),
    "rfs": CommandEntry("Size the tables of receive flow steering (RFS).", "host.rfs"),
}

_HOST_EPILOG = """\b
Examples:
  vnicaudit host cpus ssh://root@kvm7
  vnicaudit host mask 0,1,3,6                   4b
  vnicaudit host mask 3,ffffffff                0-33
  vnicaudit host rfs --connections 20000 --queues 16"""


@click.command("host", cls=lazy_group(_HOST), epilog=_HOST_EPILOG)
def host() -> None:
    """Show who may use which CPUs of a host, and work out masks and sizes of tables for its network
    settings."""


_ADVISE = {
    "network": CommandEntry(
        "Choose a network for each flow between pods and VMs.", "advise.network"
    ),
}

_ADVISE_EPILOG = """\b
Examples:
  vnicaudit advise network --init -o scenario.toml
  vnicaudit advise network scenario.toml
  vnicaudit advise network kube:prod --flows flows.toml"""


@click.command("advise", cls=lazy_group(_ADVISE), epilog=_ADVISE_EPILOG)
def advise() -> None:
    """Answer design questions from measurements that others published, with their sources and
    limits."""


_BENCH = {
    "run": CommandEntry("Measure one path, or compare several paths or arms.", "bench.run"),
    "clean": CommandEntry("Remove generator pods that killed runs left.", "bench.clean"),
    "compare": CommandEntry("Compare two measurements.", "bench.compare"),
    "show": CommandEntry("List past measurements, or show one.", "bench.show"),
    "profiles": CommandEntry("List built-in profiles, or validate your own.", "bench.profiles"),
    "line-rate": CommandEntry("Show a link's theoretical maximum throughput.", "bench.line_rate"),
}

_BENCH_EPILOG = """\b
Examples:
  vnicaudit bench profiles                  list the profiles
  vnicaudit bench profiles quick            what one profile measures, and how long it takes
  vnicaudit bench run agent://web01 --profile smoke
  vnicaudit bench run agent://web01,ssh://root@192.0.2.9 -o before.json
  vnicaudit bench compare before.json after.json
  vnicaudit bench line-rate --speed 25G --mtu 9000"""


@click.command("bench", cls=lazy_group(_BENCH), epilog=_BENCH_EPILOG)
def bench() -> None:
    """Measure throughput, packet rate, DNS and latency before and after a change.

    A profile defines the workloads; a path between two endpoints defines where they run. The
    verdict is better, equal or worse, with its confidence.
    """


_HISTORY = {
    "status": CommandEntry(
        "List audits, the size of the history, and stale hosts.", "history.commands:status"
    ),
    "show": CommandEntry(
        "Show one audit: hosts not read, findings new and gone.", "history.commands:show"
    ),
    "trend": CommandEntry("Show findings over time.", "history.commands:trend"),
    "prune": CommandEntry("Remove old audits, NICs and findings.", "history.commands:prune"),
    "remove": CommandEntry("Remove the newest audit.", "history.commands:remove"),
    "copy": CommandEntry("Copy the history to another place.", "history.commands:copy"),
    "export": CommandEntry("Write the history as JSON lines.", "history.commands:export"),
    "import": CommandEntry("Add results of `vnicaudit bench`.", "history.commands:import_"),
    "sql": CommandEntry("Print how to connect, and the views.", "history.commands:sql"),
}

_HISTORY_EPILOG = """\b
Examples:
  vnicaudit history                         the stored audits
  vnicaudit history show latest
  vnicaudit history trend --by site --since 90d
  vnicaudit history prune --keep 400d
  vnicaudit history copy postgresql://audit@db.example.org/vnicaudit
  vnicaudit history sql                     how to use it with Grafana and SQL"""


@click.command("history", cls=lazy_group(_HISTORY, default="status"), epilog=_HISTORY_EPILOG)
def history() -> None:
    """Show the stored history of a fleet: audits, hosts, NICs and findings.

    Without a command, show the status.
    """


# Runs one of them.


def run_command(words: list[str], wiring: Wiring) -> int:
    """Have click parse the command line, and run the command; returns the exit code."""
    if COMPLETES in os.environ:
        from vnicaudit.cli.completion import register

        register()
    try:
        result: object = cli.main(words, prog_name="vnicaudit", standalone_mode=False, obj=wiring)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        _tell_usage_error(error)
        return UsageError.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else 0


def _tell_usage_error(error: click.ClickException) -> None:
    """Print the error like click, but made safe: what was typed may be somebody's file name, or
    contain a password."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        tell(context.get_usage())
        tell(f"Try '{context.command_path} {context.help_option_names[0]}' for help.\n")
    text = error.format_message()
    tell(f"Error: {message(text)}{_choice_hint(text)}")


def _choice_hint(text: str) -> str:
    """``; did you mean 'json'?``, to append to click's message on an invalid choice."""
    before, is_choice, choices = text.rpartition(" is not one of ")
    if not is_choice:
        return ""
    word = before.rstrip("'").rpartition("'")[2]
    hint = close_to(word, re.findall(r"'([^']*)'", choices))
    return f" {hint[2:].capitalize()}" if hint else ""
