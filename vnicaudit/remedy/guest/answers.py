"""Run a guest's programs, and decode their JSON answers.

A guest may answer anything, at any length: an answer is decoded into records, and refused if it
does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from vnicaudit.errors import RefusedError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.machine import GuestExit, GuestInterface
from vnicaudit.remedy.guest.words import excerpt

T = TypeVar("T")

_ANSWER_MAX = 8 * 1024 * 1024
"""Maximum size of an answer. A route takes some 150 bytes, so this is far more than is ever
restored."""
_INSTALL = "install iproute2 4.17 or later in the guest (busybox's ip will not do)"


class Guest(Protocol):
    """A running guest, through its agent. Both methods raise GuestError if it does not answer."""

    def interfaces(self) -> list[GuestInterface]:
        """The guest's network interfaces. An address's label may appear as an interface of its
        own."""

    def execute(self, argv: Sequence[str], stdin: bytes = b"") -> GuestExit:
        """Run a program to its end, without a shell."""


def ask(guest: Guest, argv: Sequence[str], kind: type[T]) -> list[T]:
    """The objects that ``ip -j`` (or another program of iproute2) prints; empty ones, which some
    versions print for filtered objects, are left out. Raises RefusedError."""
    ran = guest.execute(argv)
    command = " ".join(argv)
    if ran.code:
        said = excerpt(ran.stderr or ran.stdout)
        raise RefusedError(f"{command} failed in the guest ({said}): {_INSTALL}")
    return decoded(ran.stdout, command, kind)


def decoded(answer: bytes, command: str, kind: type[T]) -> list[T]:
    """An answer -> records. Raises RefusedError if it does not have that shape."""
    if len(answer) > _ANSWER_MAX:
        raise RefusedError(f"the guest's answer to {command} is too long ({len(answer) >> 20} MiB)")
    try:
        objects = json_as(answer.strip() or b"[]", list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        raise RefusedError(f"the guest's {command} did not answer in JSON: {_INSTALL}") from None
    try:
        return [json_as(one, kind) for one in objects if bytes(one) != b"{}"]
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        said = excerpt(str(error))
        raise RefusedError(f"the guest's {command} did not answer as expected: {said}") from None
