"""The request of a run, saved before the run starts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from vnicaudit.base.identifiers import UUID
from vnicaudit.base.private_files import write_private
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.plan import Mode, Step
from vnicaudit.model.refs import mac_of
from vnicaudit.remedy.cloud import MANAGE_SECONDS
from vnicaudit.remedy.replacing import read_file

NAME = "run.json"
SCHEMA: Literal["vnicaudit.run/1"] = "vnicaudit.run/1"


class RunLimits(msgspec.Struct, frozen=True):
    """``guest_deadline``: seconds a guest may take to shut down, and to come back. ``force_off``:
    power off a guest that does not shut down. ``manage_seconds``: how long a nova-manage call may
    take, and how long one with unknown result may still be working."""

    guest_deadline: float = 300.0
    force_off: bool = False
    manage_seconds: float = MANAGE_SECONDS


class UnitIdentity(msgspec.Struct, frozen=True):
    """``kind`` is the name of its ``Kind``; ``uuid`` or ``file`` identify the unit within its
    kind."""

    kind: str
    key: str
    target: str
    uuid: str | None = None
    file: str | None = None


class UnitRequest(msgspec.Struct, frozen=True):
    """One unit of a run (a domain, a file, a server …), in the order in which they are to be
    changed. ``uuid`` or ``file`` identify it within its kind."""

    key: str
    name: str
    target: str
    steps: tuple[str, ...]
    macs: tuple[str, ...]
    kind: str
    """The name of its :class:`Kind`."""
    uuid: str | None = None
    file: str | None = None
    exclusive: tuple[str, ...] = ()
    """Server groups and the like that it shares with other units, of which one is changed at a
    time."""

    @property
    def identity(self) -> UnitIdentity:
        """The fields that identify the unit; the line that begins it records them."""
        return UnitIdentity(self.kind, self.key, self.target, self.uuid, self.file)

    @property
    def place(self) -> str:
        """The file that it is in, or else its target."""
        return self.file or self.target

    @property
    def is_unique(self) -> bool:
        """True if the unit is identified however it is reached: by its UUID, or by its file on this
        machine."""
        return self.file is not None or UUID.fullmatch(self.uuid or "") is not None

    def file_holds(self, content: bytes) -> bool:
        """True if the unit is a file with exactly this content. Raises RefusedError if the file
        cannot be read."""
        return self.file is not None and content == read_file(self.file, len(content) + 1)


class RunRequest(msgspec.Struct, frozen=True):
    """``plan`` is the digest of the plan's file; of a rollback, the id of the run it undoes."""

    id: str
    kind: Literal["apply", "rollback"]
    started: str
    plan: str
    mode: Mode
    units: tuple[UnitRequest, ...]
    limits: RunLimits = RunLimits()
    schema: Literal["vnicaudit.run/1"] = SCHEMA
    host_by_host: bool = False
    """For a fleet: each host is opened, and locked, only while there is work on it."""
    without_host_lock: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of its units, each once."""
        return tuple(dict.fromkeys(unit.target for unit in self.units))


def write_request(folder: Path, request: RunRequest) -> None:
    """Save the request in the run's folder."""
    write_private(folder / NAME, msgspec.json.format(msgspec.json.encode(request), indent=1))


def read_request(folder: Path) -> RunRequest | None:
    """The run's request; None for a run that ended before the request was written. Raises
    UsageError for a file that is unreadable or not a request."""
    path = folder / NAME
    try:
        return json_as(path.read_bytes(), RunRequest)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{path}: not the request of a run: {error}") from None


def unit_of(
    key: str,
    steps: tuple[Step, ...],
    kind: str,
    name: str,
    *,
    macs: tuple[str, ...] | None = None,
    file: str | None = None,
    exclusive: tuple[str, ...] = (),
) -> UnitRequest:
    """The unit of a kind that all these steps are on, identified by its UUID, or by its file if it
    is in one. ``macs``: its NICs, if the steps are not on one NIC each."""
    first = steps[0]
    if macs is None:
        macs = tuple(mac_of(step.about) or "" for step in steps)
    return UnitRequest(
        key, name, first.target, tuple(step.id for step in steps), macs, kind,
        uuid=first.about.id if file is None else None, file=file, exclusive=exclusive,
    )  # fmt: skip
