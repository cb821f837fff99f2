"""Programs of this machine by which other places are reached (``ssh``, ``docker``, ``ip netns``),
and the transport that puts such a program, word for word, before a command."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, NamedTuple, Protocol

from vnicaudit.errors import EndpointError, UsageError

# A transport: carries a command to the place where it runs, and the output back.
#
# Commands are short: long-running ones are started by a supervisor there, which is polled for them
# (``bench/endpoints/session.py``). The schemes of URLs are in a table (``opening.py``).


class TransportOutput(NamedTuple):
    """Exit code and output of a command. ``code`` may come from the transport or from the
    command."""

    code: int
    stdout: bytes
    stderr: bytes


class Transport(Protocol):
    """Access to one place. Both methods may be called from several threads at once."""

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        """Run a command there to its end, with empty input; ``argv`` arrives word for word. Raises
        EndpointError if there is no answer in time."""

    def close(self) -> None:
        """Disconnect. May be called twice; never raises."""


class EndpointUrl(NamedTuple):
    """The parts of an endpoint's URL. ``name`` is the part before the options, with user and port;
    ``options`` are those of the transport."""

    url: str
    scheme: str
    name: str
    options: Mapping[str, str]

    def flag(self, option: str) -> bool:
        """True if an option is ``true``. Raises UsageError if it is neither true nor false."""
        value = self.options.get(option, "false").lower()
        if value not in ("true", "false"):
            raise UsageError(f"{self.url}: {option}= must be true or false, not {value!r}")
        return value == "true"


class UrlForm(NamedTuple):
    """How the URLs of a scheme are written. ``form``: for messages; ``options``: names that may
    follow the question mark."""

    form: str
    options: tuple[str, ...]


class Scheme(NamedTuple):
    """A transport by the scheme of its URLs. ``connect`` raises UsageError if the URL is invalid,
    EndpointError if the place cannot be reached."""

    url: UrlForm
    connect: Callable[[EndpointUrl], Transport]


_Handler = Callable[[int, FrameType | None], object]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals whose handlers end what is running, by an exception."""


@contextmanager
def signals_held() -> Iterator[None]:
    """Call the handlers of signals that come inside this context at its end. An exception of theirs
    within ``subprocess.Popen`` would come after the program has started and before anybody knows
    its process: nobody could end it. They are not blocked (``pthread_sigmask``), because the
    program would inherit that.

    Signals without a handler in Python do what they always do. Only the main thread calls handlers:
    in others there is nothing to hold.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: found for each in _ENDING if callable(found := signal.getsignal(each))}
    came: dict[int, FrameType | None] = {}
    is_over = False

    def hold(number: int, frame: FrameType | None) -> None:
        if is_over:  # one that came before has kept this one from being set back
            before[signal.Signals(number)](number, frame)
        else:
            came[number] = frame

    try:
        for each in before:
            signal.signal(each, hold)
        yield
    finally:
        is_over = True
        try:
            for each, handler in before.items():
                signal.signal(each, handler)
        finally:
            _call(before, came)


def _call(handlers: Mapping[signal.Signals, _Handler], came: dict[int, FrameType | None]) -> None:
    """Call the handler of each signal that came, though another one raises; not of those that are
    ignored by now, as the handler of TERM does with HUP."""
    if not came:
        return
    number = next(iter(came))
    frame = came.pop(number)
    try:
        if callable(signal.getsignal(number)):
            handlers[signal.Signals(number)](number, frame)
    finally:
        _call(handlers, came)


ANSWER_MAX = 8 * 2**20
"""Maximum size of an answer in bytes: many times what the supervisor answers at once."""
_POLL_SECONDS = 0.05
_SOON_SECONDS = 0.001
_GRACE_SECONDS = 0.5


def run_here(
    argv: Sequence[str],
    seconds: float,
    most: int = ANSWER_MAX,
    *,
    folder: str | None = None,
    variables: Mapping[str, str] | None = None,
    memory: int | None = None,
) -> TransportOutput:
    """Run a program to its end, with empty input and no terminal: ssh and sudo cannot ask, and
    Ctrl-C does not reach it. ``folder``: where it starts. ``variables``: added to its environment.
    ``memory``: bytes that it may have. Raises EndpointError if it is missing, prints more than
    ``most`` bytes, or has not ended in time.

    The output goes to files: a pipe would stay open as long as any process that the program left in
    the background.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = None
        try:
            with signals_held():
                process = _started(argv, out, err, folder, variables)
            if memory is not None:
                _limit_memory(process, memory)
            code = _end_of(process, seconds, (out, err), most)
        except BaseException:
            if process is not None:
                _let_end(process)
            raise
        if code is None:
            raise EndpointError(f"{argv[0]} got no answer within {seconds:g} s")
        return TransportOutput(code, _output(out, most), _output(err, most))


def _started(
    argv: Sequence[str],
    out: IO[bytes],
    err: IO[bytes],
    folder: str | None,
    variables: Mapping[str, str] | None,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [os.fsencode(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            cwd=folder,
            env=None if variables is None else {**os.environ, **variables},
        )
    except FileNotFoundError:
        raise EndpointError(f"{argv[0]} is not installed on this machine") from None
    except OSError as error:
        raise EndpointError(f"{argv[0]} cannot be run here: {error.strerror}") from None
    except ValueError as error:
        raise EndpointError(f"{argv[0]} cannot be run here: {error}") from None


def _limit_memory(process: subprocess.Popen[bytes], most: int) -> None:
    with suppress(OSError):  # it has ended
        resource.prlimit(process.pid, resource.RLIMIT_AS, (most, most))


def _end_of(
    process: subprocess.Popen[bytes], seconds: float, streams: Sequence[IO[bytes]], most: int
) -> int | None:
    """The exit code; None: it was stopped because its time was over. At first its end is checked
    for often: most programs are short."""
    began = time.monotonic()
    while process.poll() is None:
        elapsed = time.monotonic() - began
        if elapsed > seconds:
            _kill(process)
            return None
        if any(_size(stream) > most for stream in streams):
            _kill(process)  # without grace: it fills the disk
            raise _too_much(most)
        time.sleep(min(_POLL_SECONDS, _SOON_SECONDS + elapsed / 20))
    return process.returncode


def _let_end(process: subprocess.Popen[bytes]) -> None:
    """Give the program a moment to end by itself: the supervisor then still learns of a session
    that is being started."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)
    _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # sudo's children are root's
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)


def _output(stream: IO[bytes], most: int) -> bytes:
    """All of the output. Raises EndpointError if it is too long: a program may have printed that
    much before it was checked."""
    if _size(stream) > most:
        raise _too_much(most)
    stream.seek(0)
    return stream.read(most)


def _too_much(most: int) -> EndpointError:
    return EndpointError(f"its answer is longer than {most >> 20} MiB")


def _size(stream: IO[bytes]) -> int:
    return os.fstat(stream.fileno()).st_size


class Prefixed:
    """Runs commands with some words before them."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._words = tuple(words)

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        """Run a command to its end."""
        return run_here((*self._words, *argv), seconds)

    def close(self) -> None:
        """Do nothing: there is no connection to close."""


_NAMESPACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,254}")


def _local(where: EndpointUrl) -> Transport:
    if where.name:
        raise UsageError(f"{where.url}: expected {LOCAL.url.form}, without a name")
    return Prefixed(_sudo(where))


def _netns(where: EndpointUrl) -> Transport:
    if _NAMESPACE.fullmatch(where.name) is None:
        raise UsageError(
            f"{where.url}: not the name of a network namespace; expected {NETNS.url.form}"
        )
    return Prefixed((*_sudo(where), "ip", "netns", "exec", where.name))


def _sudo(where: EndpointUrl) -> tuple[str, ...]:
    """The words for ``sudo=true``; it does not ask for a password."""
    return ("sudo", "-n", "--") if where.flag("sudo") else ()


LOCAL = Scheme(UrlForm("local", ("sudo",)), _local)
"""This machine."""
NETNS = Scheme(UrlForm("netns://NAME", ("sudo",)), _netns)
"""A network namespace of this machine, by its name in ``ip netns``."""
