"""The way to a real host over ssh is cut by a change, or the program is killed: the host is back by
itself, and the run says so. With ``--long`` as often as that was promised."""

import time
from collections.abc import Iterator
from itertools import product

import pytest

from tests.remedy.applying.guarded_host import (
    JUMBO,
    MTU,
    GuardedHost,
    guarded_host,
    kill,
    until,
)

SMALL = 1400
LONG = 60
"""A deadline that a busy machine does not miss."""
DEADLINE, SLACK = 3, 2.0


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedHost]:
    with guarded_host(tmp_path_factory.mktemp("guarded")) as found:
        yield found


def killed(host: GuardedHost, state: str, value: int, line: int, delay: float) -> None:
    """Kill the program so many seconds after that line of its journal, and wait until the host is
    on its own no more."""
    process = host.start("apply", value, DEADLINE, state)
    until(lambda: host.lines(state) >= line or process.poll() is not None, "so many lines")
    time.sleep(delay)
    kill(process)
    if host.timer(state) in ("armed", "undoing"):
        took = until(lambda: host.mtu == MTU, "back")
        assert took < DEADLINE + SLACK
        until(lambda: host.timer(state) == "undone", "undone")


def test_a_new_connection_confirms(host: GuardedHost) -> None:
    before = host.seen()
    assert host.told("apply", SMALL, LONG, "kept") == ("applied", "until the next boot")
    assert (host.timer("kept"), host.mtu) == ("disarmed", SMALL)
    assert host.told("rollback", 0, LONG, "kept")[0] == "applied"
    assert host.seen() == before


def test_jumbo_frames_cut_the_way(host: GuardedHost, pytestconfig: pytest.Config) -> None:
    before = host.seen()
    for number in range(20 if pytestconfig.getoption("--long") else 1):
        outcome, message = host.told("apply", JUMBO, DEADLINE, f"cut{number}")
        assert outcome == "failed", message
        assert message.startswith("undone by the host: ")
        assert message.endswith("; its settings are as before")
        assert host.seen() == before


ARMING, SETTING = 3, 4
"""Lines of the journal of one unit."""
_DELAYS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)
EVERYWHERE = [*product((SMALL, JUMBO), range(ARMING, ARMING + 5), _DELAYS)]


def test_killed_with_a_timer(host: GuardedHost, pytestconfig: pytest.Config) -> None:
    before = host.seen()
    places = EVERYWHERE if pytestconfig.getoption("--long") else [(SMALL, SETTING, 0.3)]
    for number, (value, line, delay) in enumerate(places):
        state = f"killed{number}"
        killed(host, state, value, line, delay)
        timer = host.timer(state)
        outcome, message = host.told("apply", value, LONG if value == SMALL else DEADLINE, state)
        print(number, value, line, delay, timer, outcome, message)
        if outcome == "applied":
            host.told("rollback", 0, LONG, state)
        else:
            assert outcome == "failed", message
            assert "undone by the host" in message
        assert host.seen() == before
