"""Connections that are not shared, and what a broken one means."""

import threading
from collections.abc import Callable
from unittest.mock import Mock

import libvirt
import pytest

from tests.platforms.libvirt.errors import libvirt_error
from vnicaudit.errors import ActionError, NoResponseError
from vnicaudit.platforms.libvirt.control import ConnectionPool, PooledConnection
from vnicaudit.text.targets import parse

DEADLINE = 60.0


class Host:
    """Stands for libvirt: counts connections, each of which may break."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.connections: list[Mock] = []
        self.reachable = True
        monkeypatch.setattr(libvirt, "open", self._open)
        self.pool = ConnectionPool(parse("qemu:///system"))
        self.pool.connect(DEADLINE)

    def ask(self, function: Callable[[PooledConnection], str], seconds: float = DEADLINE) -> str:
        """One call."""
        return self.pool.call(seconds, "say something", function)

    def breaks(self, _line: PooledConnection) -> str:
        """libvirtd is ended."""
        self.connections[-1].isAlive.return_value = 0
        raise libvirt_error("End of file while reading data")

    def _open(self, uri: str) -> Mock:
        del uri
        if not self.reachable:
            raise libvirt_error("Failed to connect socket")
        connection = Mock()
        connection.isAlive.return_value = 1
        self.connections.append(connection)
        return connection


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def refused(_line: PooledConnection) -> str:
    """libvirt says no."""
    raise libvirt_error("no")


def test_one_after_the_other_share_a_connection(host: Host) -> None:
    assert [host.ask(lambda _line: "a") for _ in range(3)] == ["a"] * 3
    assert len(host.connections) == 1


def test_at_once_each_has_its_own(host: Host) -> None:
    """Whoever waits for a slow answer keeps nobody else from theirs."""
    answered = threading.Event()
    begun = threading.Event()
    used: list[PooledConnection] = []

    def slow(pooled: PooledConnection) -> str:
        used.append(pooled)
        begun.set()
        answered.wait(DEADLINE)
        return "late"

    with pytest.raises(NoResponseError, match=r"did not answer within 0.1 s when asked to say"):
        host.ask(slow, seconds=0.1)
    begun.wait(DEADLINE)
    assert host.ask(lambda pooled: "a" if pooled not in used else "shared") == "a"
    answered.set()


def test_a_refusal_leaves_the_connection_as_it_is(host: Host) -> None:
    with pytest.raises(ActionError, match="cannot say something: no") as raised:
        host.ask(refused)
    assert not isinstance(raised.value, NoResponseError)
    host.ask(lambda _line: "a")
    assert len(host.connections) == 1


def test_a_connection_that_broke_means_that_nobody_knows(host: Host) -> None:
    """What was asked for may have been done; the next question goes over another one."""
    with pytest.raises(NoResponseError) as raised:
        host.ask(host.breaks)
    assert str(raised.value) == (
        "libvirt closed the connection when asked to say something: End of file while "
        "reading data; it may have done so"
    )
    assert host.ask(lambda _line: "a") == "a"
    assert len(host.connections) == 2


@pytest.mark.parametrize("question", ["report the domain's state", "read the running definition"])
def test_a_question_that_was_not_answered_may_not_have_done_anything(
    question: str, host: Host
) -> None:
    with pytest.raises(NoResponseError) as raised:
        host.pool.call(DEADLINE, question, host.breaks)
    assert str(raised.value) == (
        f"libvirt closed the connection when asked to {question}: End of file while reading data"
    )


def test_a_host_that_is_gone(host: Host) -> None:
    with pytest.raises(NoResponseError):
        host.ask(host.breaks)
    host.reachable = False
    with pytest.raises(
        NoResponseError, match="libvirt closed the connection when asked to say something"
    ):
        host.ask(lambda _line: "a")


def test_domains_are_found_once_for_each_connection(host: Host) -> None:
    for _ in range(2):
        host.ask(lambda pooled: str(pooled.domain("uuid")))
    (connection,) = host.connections
    connection.lookupByUUIDString.assert_called_once_with("uuid")


def test_closing(host: Host) -> None:
    host.pool.close(DEADLINE)
    (connection,) = host.connections
    connection.close.assert_called_once_with()
