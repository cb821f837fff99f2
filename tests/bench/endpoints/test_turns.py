"""Two measurements at one end find each other."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pytest

from tests.adapters import open_endpoint
from tests.bench.endpoints.left import until
from tests.not_run import not_run
from vnicaudit.bench.endpoints.addresses import place_of
from vnicaudit.bench.endpoints.turns import TurnState, wait_for_turns
from vnicaudit.errors import EndpointError

_ANOTHER = """
import sys, time
from tests.adapters import open_endpoint
from vnicaudit.bench.endpoints.turns import wait_for_turns
end = open_endpoint(sys.argv[1], lease=3.0)
wait_for_turns([(("here",), end)], lambda text: None)
print("measures", flush=True)
time.sleep(300)
"""


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """URL of a network namespace of its own: nobody else measures there."""
    if os.getuid() != 0 or shutil.which("ip") is None or shutil.which("flock") is None:
        not_run("tests", "network namespaces need root, iproute2 and flock")
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield f"netns://{name}"
    subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.fixture
def place() -> Iterator[str]:
    """As that, one for a test."""
    with namespace(f"vnw{os.getpid()}") as url:
        yield url


@contextmanager
def another(place: str) -> Iterator[subprocess.Popen[str]]:
    """Another program that measures there."""
    process = subprocess.Popen(
        [sys.executable, "-c", _ANOTHER, place], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "measures\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_second_waits_for_the_first(place: str) -> None:
    said: list[str] = []
    with closing(open_endpoint(place)) as end, another(place) as other:
        with pytest.raises(EndpointError) as error:
            wait_for_turns([(place_of(end), end)], said.append, seconds=0.0)
        assert f"(process {other.pid} at " in str(error.value)
        assert said == []
        other.send_signal(signal.SIGKILL)  # the lock is let go when its lease ends
        wait_for_turns([(place_of(end), end)], said.append, pause=0.05)
    assert len(said) <= 1  # it may have been gone already
    assert all(text.startswith(f"waiting for {place}: ") for text in said)


def test_who_measures_elsewhere_on_the_machine_is_no_holder_here(place: str) -> None:
    """Neither told as one, nor, where it is ourselves, taken for having the lock here too."""
    with namespace(f"vnx{os.getpid()}") as elsewhere, closing(open_endpoint(elsewhere)) as ours:
        wait_for_turns([(place_of(ours), ours)], pytest.fail, seconds=0.0)
        with (
            closing(open_endpoint(place)) as end,
            another(place) as other,
            pytest.raises(EndpointError) as error,
        ):
            wait_for_turns([(place_of(end), end)], pytest.fail, seconds=0.0)
    assert f"(process {other.pid} at " in str(error.value)
    assert f"process {os.getpid()} " not in str(error.value)


def test_a_lock_dies_with_its_session(place: str) -> None:
    said: list[str] = []
    for _ in range(2):
        with closing(open_endpoint(place)) as end:
            assert end.take_turn("other somebody").held
    with closing(open_endpoint(place)) as end:
        wait_for_turns([(place_of(end), end)], said.append, seconds=0.0)
    assert said == []
    until(lambda: "vnicaudit-turn" not in _commands(place), "nothing holds the lock any more")


def _commands(place: str) -> str:
    listed = subprocess.run(["ip", "netns", "pids", place[8:]], capture_output=True, check=True)
    found = ""
    for pid in listed.stdout.split():
        try:
            with open(f"/proc/{int(pid)}/cmdline", encoding="utf-8", errors="replace") as file:
                found += file.read()
        except OSError:  # ended meanwhile
            continue
    return found


def test_ends_of_one_measurement_may_be_one_place(place: str) -> None:
    with closing(open_endpoint(place)) as first, closing(open_endpoint(place)) as second:
        assert place_of(first) == place_of(second)
        ends = [(("a",), first), (("b",), second)]
        wait_for_turns(ends, pytest.fail, seconds=0.0)


class Place:
    """An endpoint that answers as it is told to."""

    def __init__(self, url: str, answers: Sequence[TurnState], asked: list[str]) -> None:
        self.url, self._answers, self._asked = url, list(answers), asked

    def take_turn(self, text: str) -> TurnState:
        assert " process " in text
        self._asked.append(self.url)
        return self._answers.pop(0)


def test_each_place_once_and_in_the_order_of_their_identities() -> None:
    asked: list[str] = []
    said: list[str] = []
    busy = TurnState(False, ("0123 process 7 at kvm7, since now\x1b[2J",))
    target = Place("b", [busy, busy, TurnState(True)], asked)
    peer = Place("a", [TurnState(None)], asked)
    ends = [(("2",), target), (("2",), target), (("1",), peer)]
    wait_for_turns(ends, said.append, pause=0.0)  # type: ignore[arg-type]
    assert asked == ["a", "b", "b", "b"]
    assert said == [
        "a cannot be locked, so other measurements there would go unnoticed",
        "waiting for b: another measurement is running there (process 7 at kvm7, since now [2J)",
    ]


def test_who_has_it_cannot_be_seen() -> None:
    with pytest.raises(EndpointError, match="its owner is not visible"):
        wait_for_turns(
            [(("1",), Place("a", [TurnState(False)], []))],  # type: ignore[list-item]
            pytest.fail,
            seconds=0.0,
        )
