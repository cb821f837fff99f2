"""Programs of this machine by which endpoints are reached."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.bench.endpoints.left import until
from vnicaudit.errors import EndpointError
from vnicaudit.reaching.process import ANSWER_MAX, run_here


def test_a_program_is_run_word_for_word() -> None:
    answer = run_here(
        ["sh", "-c", 'cat; printf "<%s>" "$@"; echo err >&2; exit 3', "sh", "a b"], 20
    )
    assert answer == (3, b"<a b>", b"err\n")


def test_what_it_leaves_in_the_background_is_not_waited_for() -> None:
    """ssh leaves its connection, with its output open."""
    answer = run_here(["sh", "-c", "echo said; sleep 30 & exit 0"], 20)
    assert answer.stdout == b"said\n"


def test_it_has_no_terminal() -> None:
    assert run_here(["sh", "-c", "exec 3</dev/tty"], 20).code != 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["no-such-program"], "^no-such-program is not installed on this machine$"),
        (["/etc"], "^/etc cannot be run here: Permission denied$"),
        (["echo", "a\0b"], "^echo cannot be run here: embedded null byte$"),
        (["echo", "a" * 200_000], "^echo cannot be run here: Argument list too long$"),
    ],
)
def test_one_that_cannot_be_run_is_an_error(argv: list[str], message: str) -> None:
    with pytest.raises(EndpointError, match=message):
        run_here(argv, 20)


def test_one_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "child"
    script = f"sleep 300 & echo $! >{note}.new; mv {note}.new {note}; sleep 300"
    for seconds in (0.5, 5, 60):  # a busy machine may not have begun it by then
        with pytest.raises(EndpointError, match=rf"^sh got no answer within {seconds:g} s$"):
            run_here(["sh", "-c", script], seconds)
        if note.exists():
            break
    child = Path("/proc", note.read_text().strip())
    until(lambda: not (child / "exe").exists(), "the child is gone")


@pytest.mark.parametrize("program", [["cat"], ["head", "-c", str(ANSWER_MAX + 1)]])
def test_one_that_says_too_much(program: list[str]) -> None:
    """Whether it goes on, or has ended before it was looked at."""
    with pytest.raises(EndpointError, match=r"^its answer is longer than 8 MiB$"):
        run_here([*program, "/dev/zero"], 60)


def test_one_that_says_as_much_as_it_may() -> None:
    assert len(run_here(["head", "-c", str(ANSWER_MAX), "/dev/zero"], 60).stdout) == ANSWER_MAX


def test_ctrl_c_gives_it_a_moment_and_then_ends_it(tmp_path: Path) -> None:
    """As long as it takes to note that a session has begun."""
    code = (
        "import sys; from vnicaudit.reaching.process import run_here\n"
        'script = \'echo $$ >"$0.new"; mv "$0.new" "$0"; sleep 60\'\n'
        "run_here(['sh', '-c', script, sys.argv[1]], 60)"
    )
    note = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", code, note], stderr=subprocess.PIPE) as process:
        until(note.exists, "it runs")
        process.send_signal(2)
        _out, err = process.communicate(timeout=120)
    assert b"KeyboardInterrupt" in err
    # killed is not yet ended, on a busy machine
    program = Path("/proc", note.read_text().strip(), "exe")
    until(lambda: not program.exists(), "the program is gone")


def test_threads_do_not_meet() -> None:
    said: set[bytes] = set()
    threads = [
        threading.Thread(target=lambda n=n: said.add(run_here(["echo", str(n)], 20).stdout))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert said == {f"{n}\n".encode() for n in range(8)}
