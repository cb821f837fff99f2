"""The command group, and the only place that turns errors into messages and exit codes."""

from __future__ import annotations

import os
import re
import sys

import click

from vnicaudit import __version__
from vnicaudit.base.wording import close_to
from vnicaudit.cli.commands import COMMANDS, lazy_group
from vnicaudit.cli.completion import COMPLETES
from vnicaudit.cli.output.process import prepare
from vnicaudit.cli.output.stderr import tell
from vnicaudit.cli.output.stdout import discard, flush
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import ReaderGoneError, UsageError, VnicauditError

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
    standard input, /proc for the QEMU processes on this host, a libvirt URI, or openstack:CLOUD.
    Everything is read-only, except `apply` and `rollback`, which ask first, `audit --fix`, which
    changes files, and `bench`, which puts load on a network path.
    """


def run(arguments: list[str] | None = None, wiring: Wiring | None = None) -> int:
    """Run the command line; returns the exit code. Never raises, and prints a traceback only if
    VNICAUDIT_DEBUG is set."""
    prepare()
    try:
        return _run(arguments, wiring or Wiring())
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        _tell_usage_error(error)
        return 2
    except (click.Abort, KeyboardInterrupt):
        tell("Interrupted.")
        return 130
    except ReaderGoneError as error:
        discard()
        return error.exit_code
    except VnicauditError as error:
        discard()
        _tell_error(str(error))
        return error.exit_code
    except Exception as error:
        if os.environ.get("VNICAUDIT_DEBUG"):
            _trace(error)
        _tell_error(f"internal error: {type(error).__name__}: {error}")
        tell("Set VNICAUDIT_DEBUG=1 for a traceback, and please report it.")
        return 3


def _run(arguments: list[str] | None, wiring: Wiring) -> int:
    if COMPLETES in os.environ:
        from vnicaudit.cli.completion.shells import register

        register()
    _check_files_like_options(sys.argv[1:] if arguments is None else arguments)
    result: object = cli.main(arguments, prog_name="vnicaudit", standalone_mode=False, obj=wiring)
    if sys.stdout is not None:
        flush()
    return result if isinstance(result, int) else 0


def _check_files_like_options(arguments: list[str]) -> None:
    """Raises UsageError for an option that is also the name of a file: it may come from a shell's
    ``*`` or a hook, and somebody else may have named the file."""
    if "--" in arguments:
        return
    for word in arguments:
        if word.startswith("-") and len(word) > 1 and os.path.lexists(word):
            raise UsageError(
                f"{word}: this is an option, but there is also a file of that name. For the file, "
                f"write ./{word} or put -- before the file names"
            )


def _tell_error(text: str) -> None:
    from vnicaudit.reports.safe import message

    tell(f"Error: {message(text)}")


def _tell_usage_error(error: click.ClickException) -> None:
    """Print the error like click, but made safe: what was typed may be somebody's file name, or
    contain a password."""
    from vnicaudit.reports.safe import message

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


def _trace(error: Exception) -> None:
    """Print the traceback, made safe: its messages may quote a file."""
    import traceback

    from vnicaudit.reports.safe import message

    for line in "".join(traceback.format_exception(error)).rstrip("\n").split("\n"):
        tell(message(line))
