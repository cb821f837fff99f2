"""What apply and rollback have in common: ask, tell, and say how it ended."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.reading import screen
from vnicaudit.cli.stdout import emit, flush
from vnicaudit.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from vnicaudit.model.runs import RunRecord, UnitRun
    from vnicaudit.remedy.applying.runner import Ended

ROLLED_BACK = 6
"""Exit code: something made things worse and was taken back."""


def asked(question: str, *, yes: bool) -> None:
    """Ask, unless that was answered on the command line. Raises UsageError where nobody can
    answer, click.exceptions.Exit (130) for a no."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked: give --yes")
    if not click.confirm(question, err=True):
        click.echo("Nothing was changed.", err=True)
        raise click.exceptions.Exit(130)


def telling(*, quiet: bool) -> Callable[[str, str], None]:
    """Says on standard error what happens to which domain, one line each."""
    from vnicaudit.reports.safe import safe

    lock = threading.Lock()

    def tell(name: str, text: str) -> None:
        if not quiet:
            with lock:
                click.echo(safe(f"{name}: {text}"), err=True)

    return tell


def dry_run(looked_at: list[tuple[str, str]], words: str) -> int:
    """Say what would be done to each domain, or why not; the exit code."""
    from vnicaudit.remedy.applying.engine import ALREADY
    from vnicaudit.reports.safe import safe

    for name, reason in looked_at:
        emit(f"{safe(name)}: {safe(reason) or words}\n")
    refused = any(reason not in ("", ALREADY) for _name, reason in looked_at)
    return RefusedError.exit_code if refused else 0


def ended(done: Ended, given: dict[str, Any], *, refused: bool = False) -> int:
    """Print how a run went; the exit code."""
    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.runs.text import render_one
    from vnicaudit.reports.safe import safe

    options = screen(given)
    for text in render_one(done.run, options, Paint(color=options.color)):
        emit(text)
    flush()
    if done.stopped:
        click.echo(safe(f"Stopped: {done.stopped}"), err=True)
    if done.run.outcome == "unfinished":
        click.echo(
            f"Run {done.run.id} is unfinished: the same command goes on with it, vnicaudit "
            f"rollback {done.run.id} takes it back",
            err=True,
        )
    return code_of_undone(done.run) if done.taken_back else code_of(done.run, refused=refused)


def code_of_undone(run: RunRecord) -> int:
    """Of a run that was left in the middle, and was to be undone: that is no failure."""
    outcomes = {unit.outcome for unit in run.steps}
    return RefusedError.exit_code if outcomes & {"failed", "unfinished"} else 0


def code_of(run: RunRecord, *, refused: bool) -> int:
    """What was left half done or could not be verified weighs most, then what was rolled back."""
    outcomes = {unit.outcome for unit in run.steps}
    if outcomes & {"failed", "unfinished"} or any(map(_unverified, run.steps)):
        return RefusedError.exit_code
    if "rolled-back" in outcomes:
        return ROLLED_BACK
    if any(unit.outcome == "gone" and unit.kind == "domain" for unit in run.steps):
        refused = True  # it may run elsewhere as it was: of a server, Nova knows that it does not
    return RefusedError.exit_code if refused or outcomes & {"refused", "not-reached"} else 0


def _unverified(unit: UnitRun) -> bool:
    """Something was looked at, and nothing proves that the guest is there again."""
    proofs = [check for check in unit.checks if check.name in ("guest", "traffic")]
    return (
        unit.outcome == "applied"
        and bool(proofs)
        and not any(check.verdict == "ok" for check in proofs)
    )
