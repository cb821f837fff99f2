"""What apply and rollback have in common: ask, tell, and say how it ended."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.reading import screen
from vnicaudit.cli.remedy_options import state_folder
from vnicaudit.cli.stdout import discard, emit, flush
from vnicaudit.cli.telling import tell
from vnicaudit.errors import ReaderGoneError, RefusedError, UsageError, VnicauditError
from vnicaudit.text.own_commands import command
from vnicaudit.text.shell import word

if TYPE_CHECKING:
    from vnicaudit.model.runs import RunRecord, UnitRun
    from vnicaudit.remedy.applying.runner import Ended

ROLLED_BACK = 6
"""Exit code: something made things worse and was taken back."""
_NAMED = 20
"""Guests that are named one by one."""


def asked(question: str, *, yes: bool) -> None:
    """Ask, unless that was answered on the command line. Raises UsageError where nobody can
    answer, click.exceptions.Exit (130) for a no."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked: give --yes")
    try:
        sure = click.confirm(question, err=True)
    except OSError as error:
        raise UsageError(f"nobody can be asked: {error.strerror}; give --yes") from None
    if not sure:
        tell("Nothing was changed.")
        raise click.exceptions.Exit(130)


def dry_run(looked_at: list[tuple[str, str]], words: str) -> int:
    """Say what would be done to each domain, or why not; the exit code."""
    from vnicaudit.remedy.applying.engine import ALREADY
    from vnicaudit.reports.safe import safe

    for name, reason in looked_at:
        emit(f"{safe(name)}: {safe(reason) or words}\n")
    refused = any(reason not in ("", ALREADY) for _name, reason in looked_at)
    return RefusedError.exit_code if refused else 0


def show_change(name: str, diff: str) -> None:
    """Print how the text of one domain, or file, would change."""
    from vnicaudit.reports.safe import safe

    emit(f"{safe(name)}:\n")
    for line in diff.splitlines():
        emit(f"  {safe(line)}\n")


def tell_damage(damage: Iterable[str]) -> None:
    """Name what of a run's folder is damaged."""
    from vnicaudit.reports.safe import safe

    with suppress(UsageError):  # that the folder cannot be read is told by who needs it
        for text in damage:
            tell(safe(f"Warning: {text}; what else is known of the run is used all the same"))


def print_result(pieces: Callable[[], Iterable[str]]) -> None:
    """Print what came of work that is done. Where that cannot be, what was done still decides the
    exit code."""
    if sys.stdout is None:
        return
    try:
        for text in pieces():
            emit(text)
        flush()
    except ReaderGoneError:
        discard()
    except VnicauditError as error:
        discard()
        tell(f"Error: {error}")


def ended(done: Ended, given: dict[str, Any], *, refused: bool = False) -> int:
    """Print how a run went; the exit code."""
    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.runs.text import render_one
    from vnicaudit.reports.safe import safe

    def pieces() -> Iterator[str]:
        options = screen(given)
        return render_one(done.run, options, Paint(color=options.color))

    print_result(pieces)
    if not given["quiet"]:
        _tell_next(done.run, given)
    if done.stopped:
        tell(safe(f"Stopped: {done.stopped}"))
    if done.run.outcome == "unfinished" and not done.lost:
        back = f", {_again(f'rollback {done.run.id}', done.run, given)} takes it back"
        tell(
            f"Run {done.run.id} is unfinished: the same command goes on with it"
            + ("" if done.taken_back else back)
        )
    return code_of_undone(done.run) if done.taken_back else code_of(done.run, refused=refused)


def _tell_next(run: RunRecord, given: dict[str, Any]) -> None:
    """Who still waits for a power cycle, and how the run is taken back."""
    from vnicaudit.reports.safe import safe

    waiting = [unit.name for unit in run.steps if unit.waiting]
    if waiting:
        more = f" and {len(waiting) - _NAMED:,} more" if len(waiting) > _NAMED else ""
        names = f"{', '.join(waiting[:_NAMED])}{more}"
        tell(safe(f"Waiting to be powered off and on: {names}"))
        tell(f"Look later: {_again(f'runs --verify {run.id}', run, given)}")
    if any(unit.outcome == "applied" and unit.undone_by is None for unit in run.steps):
        again = "Undo that" if run.kind == "rollback" else "Take it back"
        tell(f"{again}: {_again(f'rollback {run.id}', run, given)}")


def _again(words: str, run: RunRecord, given: dict[str, Any]) -> str:
    """A command on a run, as it works after this one: with what is known from options alone."""
    from vnicaudit.cli.nova_manage import given_for

    words = command(words, state_folder(given))
    for uri in given.get("trusted_uris") or ():
        words += f" --trust-uri {word(uri)}"
    on_servers = any(unit.kind == "server" for unit in run.steps)
    return words + (given_for(given) if on_servers else "")


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
