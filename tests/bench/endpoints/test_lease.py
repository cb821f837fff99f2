"""What becomes of a session whose process does not close it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.adapters import open_endpoint
from tests.bench.endpoints.left import gone, listens, marked, until
from tests.not_run import not_run
from tests.ports import free_port
from vnicaudit.bench.endpoints.session import EndpointSession
from vnicaudit.errors import EndpointError
from vnicaudit.reaching.process import TransportOutput

ROOT = Path(__file__).parents[3]
SHORT = 12.0
"""Seconds. Who holds it renews it every third of that: no stall of a busy machine lasts so long."""
LONG = 600.0


@pytest.fixture
def port() -> int:
    """One that is free, and has ``iperf3`` to listen on it."""
    if shutil.which("iperf3") is None:
        not_run("tests", "iperf3 is not installed")
    return free_port()


@contextmanager
def held(lease: float, port: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that holds a session on this machine, and the session's folder."""
    command = [sys.executable, "-m", "tests.bench.endpoints.holder", "local", str(lease), str(port)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            folder = process.stdout.readline().strip()
            until(lambda: listens(port), "the server listens")
            until(lambda: len(marked(folder, "program")) >= 4, "all programs run")
            yield process, folder
        finally:
            process.kill()


def test_it_ends_by_itself_when_its_process_was_killed(port: int) -> None:
    with held(SHORT, port) as (process, folder):
        os.killpg(process.pid, signal.SIGKILL)
        until(lambda: gone(folder), "nothing is left")
        assert not listens(port)


def test_it_goes_on_for_as_long_as_its_process_is_there(port: int) -> None:
    """Though nothing is asked of it, and the lease is short."""
    with held(SHORT, port) as (process, folder):
        renewed: set[int] = set()
        while len(renewed) < 4:  # each is more than a third of a lease after the one before
            with suppress(FileNotFoundError):  # its watch takes it away
                renewed.add(Path(folder, "lease").stat().st_mtime_ns)
            assert process.poll() is None
            assert marked(folder)
            time.sleep(0.02)
        assert listens(port)


@pytest.mark.parametrize("whole_group", [True, False], ids=["terminal", "process"])
def test_ctrl_c_ends_it(port: int, *, whole_group: bool) -> None:
    """A terminal sends it to all processes of the group."""
    with held(LONG, port) as (process, folder):
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
        assert process.wait(120) != 0
        assert process.stderr is not None
        assert "KeyboardInterrupt" in process.stderr.read()
        until(lambda: gone(folder), "nothing is left")
        assert not listens(port)


def test_an_end_by_the_session_manager_is_left_to_the_lease(port: int) -> None:
    with held(SHORT, port) as (process, folder):
        process.send_signal(signal.SIGTERM)
        process.wait(120)
        until(lambda: gone(folder), "nothing is left")


class Lost:
    """A connection that is lost after the session was made."""

    def __init__(self, session: EndpointSession) -> None:
        self.whole = session._transport
        session._transport = self

    def run(self, argv: object, seconds: float) -> TransportOutput:
        """Nothing comes back."""
        del argv, seconds
        raise EndpointError("the connection is lost")

    def close(self) -> None:
        """Nothing to leave."""


def test_a_lost_connection_ends_it() -> None:
    session = open_endpoint("local", lease=SHORT)
    session.start(["sleep", "600"], seconds=600)
    lost = Lost(session)
    with pytest.raises(EndpointError, match=r"^local: the connection is lost$"):
        session.run(["true"])
    until(lambda: gone(session.folder), "nothing is left")
    session._transport = lost.whole
    with pytest.raises(EndpointError) as error:
        session.run(["true"])
    assert str(error.value) == (
        f"local: the programs started there are gone: it was unreachable for {SHORT:g} s, "
        "or was restarted"
    )
    session.close()
