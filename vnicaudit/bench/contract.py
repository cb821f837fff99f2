"""What engines, guard rails and facts ask of endpoints, and what the runner asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from vnicaudit.model.measurement import Ran, Workload


class Started(Protocol):
    """A program that was started and runs on."""

    def running(self) -> bool:
        """Whether it still runs."""

    def wait(self, seconds: float) -> Ran:
        """How it ended; one that has not by then is stopped, and its ``code`` is None."""

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

    def start(self, argv: Sequence[str], *, seconds: float) -> Started:
        """Start a program in the background; it is ended after ``seconds`` whatever happens."""

    def put(self, name: str, data: bytes) -> str:
        """Keep a file there, in a folder of this session's own; its path."""

    def close(self) -> None:
        """Stop what runs, remove what was put there, leave. May be called twice."""


class Tool(msgspec.Struct, frozen=True):
    """A program that has to be there. ``packages``: package manager -> package."""

    program: str
    packages: Mapping[str, str]


class Needs(NamedTuple):
    """Tools of each end."""

    target: tuple[Tool, ...] = ()
    peer: tuple[Tool, ...] = ()


class Ends(NamedTuple):
    """Both ends of a path, opened. ``address``: where the target is reached from the peer.
    ``seed``: for what an engine draws by chance."""

    target: Endpoint
    peer: Endpoint
    address: str
    seed: int = 0


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine found in one run. ``values``: metric -> value, empty where ``error`` says what
    went wrong."""

    values: dict[str, float] = {}
    details: dict[str, str | float | int | bool | None] = {}
    error: str = ""
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
    histogram: str | None = None
    raw: tuple[Ran, ...] = ()


class Engine(Protocol):
    """A module in ``bench/engines/``; its name is the file's."""

    PATTERNS: Mapping[str, tuple[str, ...]]
    """Pattern -> the metrics it can be judged by, the usual one first."""

    def needs(self, workload: Workload) -> Needs:
        """The programs that have to be there."""

    def check(self, workload: Workload) -> None:
        """Raises UsageError where this cannot be run as written (UDP messages over 65507 B)."""

    def measure(self, workload: Workload, ends: Ends) -> Measured:
        """One run. A measurement that failed is a Measured with ``error``; EndpointError where an
        end is lost. Nothing it started is left running, whatever happens."""
