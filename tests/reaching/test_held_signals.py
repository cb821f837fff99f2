"""Signals that come while a program is being started."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from vnicaudit.errors import EndpointError
from vnicaudit.reaching.process import run_here, signals_held

Handler = Callable[[int, Any], Any] | int


@contextmanager
def handled(handler: Handler, *numbers: signal.Signals) -> Iterator[None]:
    """A handler of these signals; a job of a shell may ignore SIGINT."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@pytest.fixture
def heard() -> list[int]:
    """The signals whose handler was called."""
    return []


@pytest.fixture
def raises(heard: list[int]) -> Handler:
    """A handler that ends what is running."""

    def handler(number: int, _frame: object) -> None:
        heard.append(number)
        raise SystemExit(number)

    return handler


def test_a_program_is_ended_though_the_signal_comes_before_it_is_known(
    monkeypatch: pytest.MonkeyPatch, raises: Handler, heard: list[int]
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    try:
        with handled(raises, signal.SIGINT), pytest.raises(SystemExit):
            run_here(["sleep", "300"], 300)
        assert heard == [signal.SIGINT]
        (program,) = started
        assert program.wait(60) == -signal.SIGKILL
    finally:
        for program in started:
            program.kill()
            program.wait()


def _send_held(numbers: Iterable[signal.Signals], heard: list[int]) -> None:
    with signals_held():
        for number in numbers:
            signal.raise_signal(number)
        assert heard == []


def test_one_that_cannot_be_started_keeps_no_signal_back(
    monkeypatch: pytest.MonkeyPatch, raises: Handler
) -> None:
    def refused(*_given: object, **_named: object) -> None:
        signal.raise_signal(signal.SIGINT)
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "Popen", refused)
    with handled(raises, signal.SIGINT):
        with pytest.raises(SystemExit) as ended:
            run_here(["no-such-program"], 20)
        assert isinstance(ended.value.__context__, EndpointError)
        assert signal.getsignal(signal.SIGINT) is raises


def test_each_is_called_once_when_it_is_over(raises: Handler, heard: list[int]) -> None:
    """Those behind one that raises too; and the handlers are what they were."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    with handled(raises, *numbers):
        with pytest.raises(SystemExit):
            _send_held(numbers, heard)
        assert heard == list(numbers)
        assert {signal.getsignal(number) for number in numbers} == {raises}


def test_one_within_another_waits_for_the_end_of_both(raises: Handler, heard: list[int]) -> None:
    def both() -> None:
        with signals_held():
            _send_held([signal.SIGTERM], heard)
            assert heard == []

    with handled(raises, signal.SIGTERM):
        with pytest.raises(SystemExit):
            both()
        assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is raises


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_has_no_handler_is_left_as_it_is(handler: Handler) -> None:
    with handled(handler, signal.SIGHUP):
        with signals_held():
            assert signal.getsignal(signal.SIGHUP) == handler
        assert signal.getsignal(signal.SIGHUP) == handler


def test_what_is_ignored_by_the_handler_before_is_not_called(heard: list[int]) -> None:
    """A terminal that closes sends HUP twice: the second must not interrupt the way back."""

    def terminated(number: int, _frame: object) -> None:
        heard.append(number)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with handled(terminated, signal.SIGTERM, signal.SIGHUP):
        with signals_held():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGHUP)
        assert heard == [signal.SIGTERM]


def test_one_that_comes_while_handlers_are_set_back_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, raises: Handler, heard: list[int]
) -> None:
    """Its exception leaves the others as they are held: they are let through."""
    real = signal.signal

    def set_back(number: signal.Signals, handler: Handler) -> Any:
        done = real(number, handler)
        if handler is raises:
            signal.raise_signal(number)
        return done

    with handled(raises, signal.SIGINT, signal.SIGTERM):
        monkeypatch.setattr(signal, "signal", set_back)
        with pytest.raises(SystemExit), signals_held():
            signal.raise_signal(signal.SIGTERM)
        monkeypatch.undo()
        assert heard == [signal.SIGINT, signal.SIGTERM]
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGINT, signal.SIGTERM, signal.SIGTERM]


def test_other_threads_hold_nothing(raises: Handler) -> None:
    """They cannot set handlers, and are not interrupted."""
    seen: list[object] = []

    def held() -> None:
        with signals_held():
            seen.append(signal.getsignal(signal.SIGTERM))

    with handled(raises, signal.SIGTERM):
        thread = threading.Thread(target=held)
        thread.start()
        thread.join(60)
    assert seen == [raises]


def test_a_handler_that_is_not_of_python_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """``getsignal`` cannot tell which it is, and nobody could set it back."""
    was_set: list[object] = []
    monkeypatch.setattr(signal, "getsignal", lambda _number: None)
    monkeypatch.setattr(signal, "signal", lambda number, _handler: was_set.append(number))
    with signals_held():
        pass
    assert was_set == []
