"""A transport: carries a command to the place where it runs, and its answer back.

A file in ``transports/`` is one; its name is the scheme of its URLs. Those into containers are a
table (``hosts.py``). Commands are short: the supervisor (``session.py``) starts long-running ones,
and is polled for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from vnicaudit.errors import UsageError
from vnicaudit.model.machine import GuestInterface
from vnicaudit.remedy.hypervisor import ConnectHypervisor


class TransportOutput(NamedTuple):
    """Exit code and output of a command. ``code`` is as much the transport's as the command's."""

    code: int
    stdout: bytes
    stderr: bytes


class Transport(Protocol):
    """Reaches one place. Both may be called from several threads at once."""

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        """Run a command to its end there, with nothing to read; ``argv`` arrives word for word.
        Raises EndpointError where there is no answer in time."""

    def close(self) -> None:
        """Leave. May be called twice; raises nothing."""


@runtime_checkable
class Interfaces(Protocol):
    """A place that can list its network interfaces without a program of its own."""

    def interfaces(self) -> list[GuestInterface] | None:
        """Return all interfaces; None: it cannot list them. Raises EndpointError where there is no
        answer."""


class EndpointUrl(NamedTuple):
    """An endpoint's URL, taken apart. ``name`` is what stands before the options, with user and
    port; ``options`` are those of the transport."""

    url: str
    scheme: str
    name: str
    options: Mapping[str, str]

    def flag(self, option: str) -> bool:
        """True where an option is ``true``. Raises UsageError where it is neither true nor
        false."""
        value = self.options.get(option, "false").lower()
        if value not in ("true", "false"):
            raise UsageError(f"{self.url}: {option}= must be true or false, not {value!r}")
        return value == "true"


class TransportConnections(NamedTuple):
    """The connections that a transport may go through. ``hypervisor``: to a host of guests."""

    hypervisor: ConnectHypervisor


class TransportModule(Protocol):
    """The members of a file in ``transports/``."""

    @property
    def FORM(self) -> str:
        """How its URLs look, for messages."""

    @property
    def OPTIONS(self) -> tuple[str, ...]:
        """Names that may stand behind the question mark."""

    def connect(self, where: EndpointUrl, reach: TransportConnections, /) -> Transport:
        """Raises UsageError where ``where`` cannot be meant so, EndpointError where it cannot be
        reached."""
