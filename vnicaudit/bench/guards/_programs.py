"""How a program that a guard rail needs came out, where it did not do its work."""

from __future__ import annotations

from vnicaudit.model.measurement import Ran

_NOT_FOUND = 127
"""Exit code of shells, env(1) and ssh for a program that is not there."""

_PACKAGES = {
    "ping": "iputils-ping (apt), iputils (dnf)",
    "tracepath": "iputils-tracepath (apt), iputils (dnf)",
    "ip": "iproute2 (apt), iproute (dnf)",
}


def missing(ran: Ran) -> bool:
    """Whether the program is not there."""
    return ran.code == _NOT_FOUND


def why_not(ran: Ran) -> str:
    """Why a program told nothing, with the package it is in where it is not there."""
    program = ran.command[0].rpartition("/")[2]
    if missing(ran):
        return f"{program} is not installed: {_PACKAGES.get(program, program)}"
    if ran.code is None:
        return f"{program} did not end in time"
    said = " ".join((ran.stderr.strip() or ran.stdout.strip()).split())[:200]
    return f"{program} ended with exit code {ran.code}: {said}" if said else f"{program} failed"
