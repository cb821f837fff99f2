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
    "fleet": CommandEntry("Show the hosts of an inventory, rank changes, serve a page.", "fleet"),
    "host": CommandEntry("Show who uses the CPUs of a host; CPU masks, table sizes.", "host.group"),
    "advise": CommandEntry("Advise which network fits which flow, and why.", "advise.group"),
    "bench": CommandEntry("Measure network performance before and after a change.", "bench.group"),
    "history": CommandEntry("Show the stored audits of a fleet.", "history"),
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
