"""Lines about the domains of a run, and for how long their states last."""

import io
from contextlib import closing, redirect_stderr

import pytest

from tests.cli.output.test_progress import Terminal
from vnicaudit.cli.output.progress import Rewritten, tell
from vnicaudit.cli.output.run_progress import RunningStates, RunTelling

_OFF, _BOOT = "shutting down", "waiting for the guest"


def test_a_terminal_sees_for_how_long_the_oldest_state_lasts() -> None:
    now = [0.0]
    with redirect_stderr(Terminal()) as terminal:
        states = RunningStates(enabled=True, clock=lambda: now[0])
        states.changes("mail-01", _OFF)
        now[0] = 2.0
        states.show()
        now[0] = 3.0
        states.show()
        states.changes("web-01", _OFF)
        states.changes("mail-01", _BOOT)
        now[0] = 7.0
        states.show()
        states.changes("web-01", "")
        now[0] = 60.0
        states.show()
        states.clear()
        now[0] = 90.0
        states.show()
    assert [part for part in terminal.getvalue().split("\r\x1b[K") if part] == [
        "mail-01: shutting down: 3 s",
        "web-01: shutting down: 4 s (2 in progress)",
        "mail-01: waiting for the guest: 57 s",
    ]


def test_a_log_has_a_line_now_and_then() -> None:
    now = [0.0]
    with redirect_stderr(io.StringIO()) as log:
        states = RunningStates(enabled=True, clock=lambda: now[0])
        states.changes("mail-01", _OFF)
        for second in range(1, 121):
            now[0] = second
            states.show()
        states.clear()
    assert log.getvalue().splitlines() == [
        f"mail-01: shutting down: {seconds} s" for seconds in (30, 60, 120)
    ]


def test_a_line_of_its_own_takes_the_place_of_one_that_rewrites_itself() -> None:
    with redirect_stderr(Terminal()) as terminal:
        line = Rewritten()
        line.show("mail-01: shutting down: 3 s")
        tell("mail-01: applied")
        tell("Undo: vnicaudit rollback")
    assert terminal.getvalue() == (
        "\r\x1b[Kmail-01: shutting down: 3 s\r\x1b[Kmail-01: applied\nUndo: vnicaudit rollback\n"
    )


def test_a_line_that_rewrites_itself_is_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with redirect_stderr(Terminal()) as terminal:
        Rewritten().show("x" * 200)
        tell("")
    assert terminal.getvalue() == f"\r\x1b[K{'x' * 38}…\r\x1b[K\n"


@pytest.mark.parametrize("quiet", [False, True])
def test_outcomes_are_counted_and_quietly_nothing_is_told(quiet: bool) -> None:
    with (
        redirect_stderr(io.StringIO()) as log,
        closing(RunTelling(quiet=quiet, total=2, undoing=True)) as say,
    ):
        say("mail-01", _OFF)
        say("mail-01", "applied: in effect")
    told = f"mail-01: {_OFF}\n[1/2] mail-01: undone\n"
    assert log.getvalue() == ("" if quiet else told)
