"""The contracts of a measurement: what endpoints provide to engines, guard rails and facts, and
what these provide to the runner.

Guard against output of an endpoint that its parser was not made for.

Parsers accept numbers of realistic sizes and raise MeasureError for others. But guests and tools
may print anything, and the next surprise should cost only a measurement, not the program nor a
guest whose change is in progress.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from vnicaudit.base.wording import one_line
from vnicaudit.errors import MeasureError, NoTrafficError
from vnicaudit.model.host import GuestInterface
from vnicaudit.model.measurement import End, Failure, Path, Ran, Workload

_ODD = (
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    LookupError,
    RecursionError,
    msgspec.MsgspecError,
)
"""Exceptions of Python and its libraries for a text or a number that is not as expected."""
_LONGEST = 200


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Raises MeasureError if the code inside fails on its input. ``what``: the beginning of a
    sentence."""
    try:
        yield
    except _ODD as error:
        why = f"{type(error).__name__}: {error}"[:_LONGEST]
        raise MeasureError(f"{what} cannot be read ({why})") from error


Transport = Literal["tcp", "udp", ""]


class StartedProgram(Protocol):
    """A program that was started in the background."""

    def running(self) -> bool:
        """True while the program runs."""

    def wait(self, seconds: float) -> Ran:
        """Wait for the end of the program. One that still runs after ``seconds`` is stopped, and
        its ``code`` is None."""

    def stop(self) -> Ran:
        """End it (TERM, then KILL) with all its children; returns its output."""


class Endpoint(Protocol):
    """A place where programs run. :meth:`close` removes everything that was started or stored
    there; if the connection is lost, that happens by itself some time later.

    Methods raise EndpointError if the place cannot be reached or fails; a program that fails is not
    an error but is reported in its ``Ran``.
    """

    url: str

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        """Run a program to its end, without a shell; it is stopped after ``seconds``."""

    def start(self, argv: Sequence[str], *, seconds: float) -> StartedProgram:
        """Start a program in the background; it is stopped after ``seconds`` at the latest."""

    def put_file(self, name: str, data: bytes) -> str:
        """Store a file there, in this session's own folder; returns its path."""

    def close(self) -> None:
        """Stop all programs, remove all files, and disconnect. May be called twice."""


@runtime_checkable
class Interfaces(Protocol):
    """A place that can list its network interfaces without running a program."""

    def interfaces(self) -> list[GuestInterface] | None:
        """Return all interfaces; None: it cannot list them. Raises EndpointError if there is no
        answer."""


class RequiredTool(msgspec.Struct, frozen=True):
    """A program that must be installed. ``packages``: package manager -> package."""

    program: str
    packages: Mapping[str, str]


class Needs(NamedTuple):
    """The tools needed at each end."""

    target: tuple[RequiredTool, ...] = ()
    peer: tuple[RequiredTool, ...] = ()


class Ends(NamedTuple):
    """Both ends of a path, opened. ``address``: the address by which the peer reaches the target.
    ``seed``: for an engine's random choices."""

    target: Endpoint
    peer: Endpoint
    address: str
    seed: int = 0


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run of an engine. ``values``: metric -> value, empty if there is an
    ``error``."""

    values: dict[str, float] = {}
    details: dict[str, str | float | int | bool | None] = {}
    error: str = ""
    failure: Failure = "tool"
    """The kind of failure, if there is an ``error``."""
    seconds: float | None = None
    """The actual duration of the measurement, without the warm-up."""
    load_seconds: float | None = None
    """The actual duration of the load, with the warm-up; None: the requested warm-up plus
    ``seconds``."""
    bytes: float | None = None
    """Payload carried during the measured time, in both directions; for CPU per Gbit."""
    transactions: float | None = None
    """Requests answered during the measured time; for CPU per transaction."""
    generator_limited: bool = False
    cpu_waits: Mapping[End, float] = {}
    """Per cent of the time that a process of the generator was ready to run but had no CPU: the
    longest wait at each end, if the engine itself measures it."""
    raw: tuple[Ran, ...] = ()


def nothing_to_prepare(workload: Workload, ends: Sequence[Ends]) -> str:  # noqa: ARG001
    """The ``prepare`` function of an engine whose tools only have to be installed."""
    return ""


def over_tcp(workload: Workload) -> Transport:  # noqa: ARG001
    """The ``transport`` function of an engine whose ends meet over TCP, if only to agree on a run
    by UDP."""
    return "tcp"


def failed_run(
    error: MeasureError,
    raw: Sequence[Ran] = (),
    details: Mapping[str, str | float | int | bool | None] | None = None,
) -> Measured:
    """The result of a failed run: the tool failed, or no traffic got through."""
    return Measured(
        error=one_line(str(error)),
        failure="silent" if isinstance(error, NoTrafficError) else "tool",
        details=dict(details or {}),
        raw=tuple(raw),
    )


class Engine(Protocol):
    """A module in ``bench/engines/``; its name is the file's."""

    @property
    def PATTERNS(self) -> Mapping[str, tuple[str, ...]]:
        """Pattern -> the metrics by which it can be judged, the usual one first."""

    def needs(self, workload: Workload) -> Needs:
        """The programs that must be installed."""

    def check(self, workload: Workload) -> None:
        """Raises UsageError for a workload that cannot be run as written (for example UDP messages
        over 65507 B)."""

    def prepare(self, workload: Workload, ends: Sequence[Ends]) -> str:
        """Bring what the workload needs to all ``ends`` that it runs on, before its first run;
        returns a remark for the user, such as why it will not be measured. Raises EndpointError if
        an end is lost, or can never measure it."""

    def transport(self, workload: Workload) -> Transport:
        """The transport without which a run comes to nothing; empty: it needs neither."""

    def measure(self, workload: Workload, ends: Ends) -> Measured:
        """Run once. A failed measurement returns a Measured with ``error``; raises EndpointError if
        an end is lost. Nothing that it started is left running, whatever happens."""


class RailCheck(NamedTuple):
    """The result of a guard rail: ``unknown`` if it cannot be judged, with the facts that are
    needed for it."""

    verdict: Literal["ok", "failed", "unknown"]
    detail: str = ""


class Guard(Protocol):
    """A guard rail (``bench/facts/guards.py``)."""

    def before(self, ends: Ends, path: Path) -> str:
        """Read the state before the measurement: JSON text to be kept for :meth:`after`, empty if
        there is nothing to keep. Raises EndpointError if an end is lost."""

    def after(self, ends: Ends, path: Path, before: str) -> RailCheck:
        """Judge the guard rail after the measurement. Raises EndpointError if an end is lost,
        MeasureError if it cannot be judged."""

    def trouble(self, before: str) -> str:  # noqa: ARG002  (others need it)
        """Describe problems that existed already when :meth:`before` read this state (not an empty
        one), to help explain failed runs; empty if there were none. May raise MeasureError for a
        state that :meth:`before` did not write."""
        return ""
