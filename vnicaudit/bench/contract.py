"""The contracts of a measurement: what engines, guard rails and facts ask of endpoints, and what
the runner asks of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from vnicaudit.bench.readable import one_line
from vnicaudit.errors import MeasureError, SilenceError
from vnicaudit.model.measurement import End, Failure, GuardRail, Path, Ran, Workload


class StartedProgram(Protocol):
    """A program that was started and runs on."""

    def running(self) -> bool:
        """Tell whether the program still runs."""

    def wait(self, seconds: float) -> Ran:
        """Wait for the end of the program. One that still runs after ``seconds`` is stopped, and
        its ``code`` is None."""

    def stop(self) -> Ran:
        """End it (TERM, then KILL) and all its children; what it said."""


class Endpoint(Protocol):
    """A place where programs run. Everything that was started or put there is gone after
    :meth:`close`, and by itself a while after the connection was lost.

    Methods raise EndpointError where the place cannot be reached or does not do it; a program that
    fails is no error, its ``Ran`` says so.
    """

    url: str

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        """Run a program to its end, without a shell; after ``seconds`` it is ended."""

    def start(self, argv: Sequence[str], *, seconds: float) -> StartedProgram:
        """Start a program in the background; it is ended after ``seconds`` whatever happens."""

    def put_file(self, name: str, data: bytes) -> str:
        """Keep a file there, in a folder of this session's own; its path."""

    def close(self) -> None:
        """Stop what runs, remove what was put there, leave. May be called twice."""


class RequiredTool(msgspec.Struct, frozen=True):
    """A program that has to be there. ``packages``: package manager -> package."""

    program: str
    packages: Mapping[str, str]


class Needs(NamedTuple):
    """Tools of each end."""

    target: tuple[RequiredTool, ...] = ()
    peer: tuple[RequiredTool, ...] = ()


class Ends(NamedTuple):
    """Both ends of a path, opened. ``address``: where the target is reached from the peer.
    ``seed``: for what an engine draws by chance."""

    target: Endpoint
    peer: Endpoint
    address: str
    seed: int = 0


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run of an engine. ``values``: metric -> value, empty where ``error`` says
    what went wrong."""

    values: dict[str, float] = {}
    details: dict[str, str | float | int | bool | None] = {}
    error: str = ""
    failure: Failure = "tool"
    """How it failed, where ``error`` says that it did."""
    seconds: float | None = None
    """How long was measured in fact, without the warm-up."""
    load_seconds: float | None = None
    """How long there was load in fact, with the warm-up; None: the warm-up that was asked for, and
    ``seconds``."""
    bytes: float | None = None
    """Payload carried while measured, both ways; for CPU per Gbit."""
    transactions: float | None = None
    """Requests answered while measured; for CPU per transaction."""
    generator_cpu: float | None = None
    generator_limited: bool = False
    cpu_waits: Mapping[End, float] = {}
    """Per cent of the time that a process of the generator was ready to run and had no CPU, at each
    end, of the one that waited longest; where the engine itself measures it."""
    histogram: str | None = None
    raw: tuple[Ran, ...] = ()


class SettledWorkload(NamedTuple):
    """A workload whose options say what was left open until its ends were known. ``note``: what a
    user should know of the choice; empty: nothing."""

    workload: Workload
    note: str = ""


def as_written(workload: Workload, ends: Sequence[Ends]) -> SettledWorkload:  # noqa: ARG001
    """``settled`` of an engine that leaves nothing open."""
    return SettledWorkload(workload)


def failed_run(
    error: MeasureError,
    raw: Sequence[Ran] = (),
    details: Mapping[str, str | float | int | bool | None] | None = None,
) -> Measured:
    """The result of a run that failed, and how: by its tool, unless nothing got through."""
    return Measured(
        error=one_line(str(error)),
        failure="silent" if isinstance(error, SilenceError) else "tool",
        details=dict(details or {}),
        raw=tuple(raw),
    )


class Engine(Protocol):
    """A module in ``bench/engines/``; its name is the file's."""

    @property
    def PATTERNS(self) -> Mapping[str, tuple[str, ...]]:
        """Pattern -> the metrics it can be judged by, the usual one first."""

    def needs(self, workload: Workload) -> Needs:
        """The programs that have to be there."""

    def check(self, workload: Workload) -> None:
        """Raises UsageError where this cannot be run as written (UDP messages over 65507 B)."""

    def settled(self, workload: Workload, ends: Sequence[Ends]) -> SettledWorkload:
        """Choose what a workload leaves open, once for all ``ends`` that it is run on and before
        its first run: everything after that is given what this returns. Raises EndpointError where
        an end is lost."""

    def measure(self, workload: Workload, ends: Ends) -> Measured:
        """One run. A measurement that failed is a Measured with ``error``; EndpointError where an
        end is lost. Nothing it started is left running, whatever happens."""


class Guard(Protocol):
    """A module in ``bench/guards/``; its name is the file's."""

    def before(self, ends: Ends, path: Path) -> str:
        """Read the state before the measurement: JSON text to be kept for :meth:`after`, empty
        where there is nothing to keep. Raises EndpointError where an end is lost."""

    def after(self, ends: Ends, path: Path, before: str) -> GuardRail:
        """Judge the guard rail after the measurement; its arm is the path's name. What cannot be
        told is ``unknown``, and says what would tell."""

    def trouble(self, before: str) -> str:
        """Say what was wrong already when :meth:`before` read this state (not an empty one), for
        whoever wonders why the runs come to nothing; empty where there is nothing to say. May raise
        MeasureError for a state that :meth:`before` did not write."""
