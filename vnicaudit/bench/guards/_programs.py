"""Programs that guard rails need, reasons why one gave no result, and how much of their output is
kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from vnicaudit.bench.contract import Endpoint, one_line
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran

_NOT_FOUND = 127
"""Exit code of shells, env(1) and ssh for a program that is not there."""

_PACKAGES = {
    "ping": "iputils-ping (apt), iputils (dnf)",
    "tracepath": "iputils-tracepath (apt), iputils (dnf)",
    "ip": "iproute2 (apt), iproute (dnf)",
}


def output_of(endpoint: Endpoint, argv: Sequence[str]) -> str:
    """The output of a program. Raises MeasureError if it failed, or is missing."""
    ran = endpoint.run(argv)
    if ran.code != 0:
        raise MeasureError(failure_reason(ran))
    return ran.stdout


def kept_state(read: Callable[[], msgspec.Struct]) -> str:
    """The state at this moment, as text to be kept; empty if it cannot be read."""
    try:
        return msgspec.json.encode(read()).decode()
    except MeasureError:
        return ""


def is_missing(ran: Ran) -> bool:
    """True if the program is missing."""
    return ran.code == _NOT_FOUND


def failure_reason(ran: Ran) -> str:
    """Why a program gave no result, with the package to install if it is missing."""
    program = ran.command[0].rpartition("/")[2]
    if is_missing(ran):
        return f"{program} is not installed: {_PACKAGES.get(program, program)}"
    if ran.code is None:
        return f"{program} did not end in time"
    said = one_line(ran.stderr.strip() or ran.stdout)
    return (
        f"{program} ended with exit code {ran.code}: {said}"
        if said
        else f"{program} ended with exit code {ran.code}"
    )
