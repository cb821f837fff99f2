"""What a run was asked to do, written down before it begins."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.plan import Mode, Step
from vnicaudit.model.runs import CloudObject, UnitKind
from vnicaudit.remedy.applying.means import Limits
from vnicaudit.remedy.applying.state import write_private
from vnicaudit.remedy.digests import digest

NAME = "run.json"
SCHEMA = "vnicaudit.run/2"
"""From 2 on each task is kept in a file of its own as well, before it is begun."""
_OF_CLOUDS = "openstack:"


class UnitSheet(msgspec.Struct, frozen=True):
    """One domain (or file, or server, image or flavor of a cloud) of a run, in the order in which
    they are to be done."""

    key: str
    name: str
    target: str
    steps: tuple[str, ...]
    macs: tuple[str, ...]
    uuid: str | None = None
    file: str | None = None
    object: CloudObject | None = None
    """What it is, of a cloud."""
    apart: tuple[str, ...] = ()
    """What it shares with others, of which one is worked on at a time: server groups."""

    @property
    def guest(self) -> bool:
        """Whether a guest may be interrupted for it: of images and flavors there is none."""
        return self.object in (None, "server")

    @property
    def kind(self) -> UnitKind:
        """What it is."""
        return self.object or ("domain" if self.file is None else "file")


class RunSheet(msgspec.Struct, frozen=True):
    """``plan`` is the digest of the plan's file; of a rollback, the id of the run it undoes."""

    id: str
    kind: Literal["apply", "rollback"]
    started: str
    plan: str
    mode: Mode
    units: tuple[UnitSheet, ...]
    limits: Limits = Limits()
    schema: str = SCHEMA

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of its units, each once."""
        return tuple(dict.fromkeys(unit.target for unit in self.units))


def unit_sheets(steps: Iterable[Step]) -> list[UnitSheet]:
    """The steps by domain or file, in their order; images and flavors before all others, so that
    nobody makes a server of the old ones meanwhile. Raises UsageError for a step that an edit made
    one of two kinds."""
    steps = tuple(steps)
    for step in steps:
        _check_kind(step)
    units = [_unit(key, group) for key, group in by_unit(steps).items()]
    return sorted(units, key=lambda unit: unit.guest)


def _check_kind(step: Step) -> None:
    in_cloud = step.target.startswith(_OF_CLOUDS)
    if in_cloud != (step.cloud is not None) or (in_cloud and step.file is not None):
        raise UsageError(
            f"step {step.id}: a step has a target {_OF_CLOUDS}NAME, a part cloud and no file, or "
            "no part cloud and another target: put back what was edited, or make a new plan"
        )


def steps_of(unit: UnitSheet, steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps on that domain or file."""
    return tuple(step for step in steps if _key(step) == unit.key)


def by_unit(steps: Iterable[Step]) -> dict[str, tuple[Step, ...]]:
    """Key of a unit -> its steps: for many units, where :func:`steps_of` would look through all
    steps for each."""
    found: dict[str, list[Step]] = {}
    for step in steps:
        found.setdefault(_key(step), []).append(step)
    return {key: tuple(steps_of_one) for key, steps_of_one in found.items()}


def _unit(key: str, steps: tuple[Step, ...]) -> UnitSheet:
    first, part = steps[0], steps[0].cloud
    macs = tuple(step.nic.mac or "" for step in steps) if part is None else part.macs
    return UnitSheet(
        key,
        name_of(steps),
        first.target,
        tuple(step.id for step in steps),
        macs,
        first.nic.uuid if first.file is None else None,
        first.file,
        None if part is None else part.object,
        () if part is None else part.groups,
    )


def name_of(steps: tuple[Step, ...]) -> str:
    """How a unit is called: a file after its domain, but not where several are changed in it, which
    are put back together: whoever names one of them means no other."""
    first = steps[0]
    if first.file is not None and len({(one.nic.domain, one.nic.uuid) for one in steps}) > 1:
        return first.file
    return first.nic.domain or first.file or (first.nic.uuid if first.cloud else "") or ""


def _key(step: Step) -> str:
    """Two hosts may have a domain of one UUID: after a migration that left its definition."""
    if step.cloud is not None:  # ids of flavors may be anything
        which = f"{step.target}\n{step.nic.uuid}".encode()
        return f"{step.cloud.object}-{digest(which).removeprefix('sha256:')[:24]}"
    if step.file is not None:
        return f"file-{digest(step.file.encode()).removeprefix('sha256:')[:24]}"
    return f"{step.nic.uuid}-{digest(step.target.encode()).removeprefix('sha256:')[:8]}"


def write_sheet(folder: Path, sheet: RunSheet) -> None:
    """Keep it in the run's folder."""
    write_private(folder / NAME, msgspec.json.format(msgspec.json.encode(sheet), indent=1))


def read_sheet(folder: Path) -> RunSheet | None:
    """What was kept; None for a run that was ended before it could be. Raises UsageError for a
    file that is no sheet."""
    path = folder / NAME
    try:
        return json_as(path.read_bytes(), RunSheet)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{path}: not the sheet of a run: {error}") from None
