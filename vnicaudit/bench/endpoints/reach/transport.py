"""A transport: carries a command to the place where it runs, and the output back.

Commands are short: the supervisor (``session.py``) starts long-running ones, and is polled for
them. The schemes of URLs are in a table (``opening.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from vnicaudit.errors import UsageError
from vnicaudit.model.host import GuestInterface
from vnicaudit.remedy.hypervisor import ConnectHypervisor


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


@runtime_checkable
class Interfaces(Protocol):
    """A place that can list its network interfaces without running a program."""

    def interfaces(self) -> list[GuestInterface] | None:
        """Return all interfaces; None: it cannot list them. Raises EndpointError if there is no
        answer."""


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


class Scheme(NamedTuple):
    """A transport by the scheme of its URLs. ``form``: of its URLs, for messages; ``options``:
    names that may follow the question mark. ``connect`` raises UsageError if the URL is invalid,
    EndpointError if the place cannot be reached; the second argument connects to a host of
    guests."""

    form: str
    options: tuple[str, ...]
    connect: Callable[[EndpointUrl, ConnectHypervisor], Transport]
