"""``vnicaudit doctor``: what can be audited from this machine, and what would not be judged."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Literal

import click
import msgspec

from vnicaudit import __version__
from vnicaudit.cli.doctor import machine_checks as here
from vnicaudit.cli.doctor.machine_checks import DoctorCheck, check_extras, is_complete
from vnicaudit.cli.options.output import (
    Format,
    OutputOptions,
    format_option,
    output_options,
    screen_options,
)
from vnicaudit.cli.options.records import SectionedCommand, as_record, state_folder
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.wiring.adapters import this_machine
from vnicaudit.errors import TargetError
from vnicaudit.reports.safe import safe

SCHEMA: Literal["vnicaudit.doctor/1"] = "vnicaudit.doctor/1"

_EPILOG = """\b
Examples:
  vnicaudit doctor                  before the first audit
  sudo vnicaudit doctor             as the user who will run the audit
  vnicaudit doctor -q               problems only
  vnicaudit doctor --format json

\b
Exit codes: 0, or 4 if something on this machine would not be judged."""

_MARKS = {"ok": "ok", "absent": "-", "problem": "problem"}
_INDENT = " " * 26


class DoctorOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit doctor``."""

    format: Format
    state: str | None
    output: OutputOptions


class DoctorReport(msgspec.Struct, frozen=True):
    """``vnicaudit.doctor/1``. ``complete``: an audit from this machine would judge everything on
    it."""

    schema: Literal["vnicaudit.doctor/1"]
    version: str
    complete: bool
    checks: tuple[DoctorCheck, ...]


@click.command("doctor", cls=SectionedCommand, epilog=_EPILOG)
@format_option
@output_options
@as_record(DoctorOptions)
def command(options: DoctorOptions) -> int:
    """Check what can be audited from this machine, and show what would not be judged and why.

    It checks the optional packages, libvirt's sockets, QEMU in /proc, /dev/vhost-net, clouds.yaml
    and the state directory. It connects to nothing and changes nothing.
    """
    checks = tuple(_checks(state_folder(options.state)))
    complete = is_complete(checks)
    if options.format == "json":
        report = DoctorReport(SCHEMA, __version__, complete, checks)
        emit(msgspec.json.format(msgspec.json.encode(report)).decode() + "\n")
    else:
        width = screen_options(options.output).width
        for check in checks:
            if check.result == "problem" or not options.output.quiet:
                emit("".join(f"{line}\n" for line in _lines(check, width)))
    return 0 if complete else TargetError.exit_code


def _checks(state: str) -> Iterator[DoctorCheck]:
    machine = this_machine()
    yield here.check_libvirt()
    yield here.check_qemu(machine)
    yield here.check_vhost_net(machine)
    yield here.check_clouds()
    yield here.check_state(state)
    yield from check_extras()


def _lines(check: DoctorCheck, width: int) -> Iterator[str]:
    """Text lines of a check: its result, name and message, then its consequences and remedy."""
    room = max(20, width - len(_INDENT))
    first, *more = wrap(safe(check.message), room)
    yield f"{_MARKS[check.result]:<8} {check.name:<16} {first}"
    for text in more:
        yield _INDENT + text
    if check.not_judged:
        for text in wrap(f"not judged: {safe(check.not_judged)}", room):
            yield _INDENT + text
    if check.remedy:
        for text in wrap(f"to do: {check.remedy}", room):
            yield _INDENT + text
