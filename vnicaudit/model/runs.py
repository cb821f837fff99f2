"""Runs of a plan, and the state of the cloud objects that they change."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from vnicaudit.model.plan import Mode

# Records of runs: one execution of a plan, domain by domain (or server by server).


Outcome = Literal[
    "applied", "already", "gone", "refused", "failed", "rolled-back", "unfinished", "not-reached"
]
"""``applied``: done and verified. ``already``: it was done before. ``gone``: somebody deleted it,
so there is nothing left to do. ``refused``: nothing was done. ``failed``: it could not be done or
verified, and the message says how far it was undone. ``rolled-back``: done, found to make things
worse, and undone. ``unfinished``: the run ended in the middle of it. ``not-reached``: the run
stopped before it."""

TimerState = Literal["", "disarmed", "undoing", "undone"]
"""The state of a timer that sets a host back by itself; empty: there is none of that name, or the
host was started since."""

Verdict = Literal["ok", "failed", "unknown"]


class Check(msgspec.Struct, frozen=True):
    """One check after the change. ``unknown``: it could not be made, and ``detail`` says what it
    needs."""

    name: str
    verdict: Verdict
    detail: str = ""


class UnitRun(msgspec.Struct, frozen=True):
    """The outcome of one domain (or file, or server, image or flavor of a cloud): all steps on it
    are done together."""

    name: str
    uuid: str | None
    target: str
    steps: tuple[str, ...]
    macs: tuple[str, ...]
    outcome: Outcome
    message: str = ""
    checks: tuple[Check, ...] = ()
    downtime: float | None = None
    """Seconds from the beginning of the restart or hot swap until all checks passed; None if the
    guest was not interrupted, or the program was in between."""
    kind: str = "domain"
    """``domain``, ``file``, ``server``, ``image`` or ``flavor``; a platform may bring its own."""
    waiting: bool = False
    """It is defined, but takes effect only when the running guest has been powered off and on. A
    run does not see that happen."""
    codes: tuple[str, ...] = ()
    """If it was refused, the reasons, for machines (docs/reference/refusals.md)."""
    undone_by: str | None = None
    """The id of the run that has undone it since."""


class RunRecord(msgspec.Struct, frozen=True):
    """One execution of a plan or of a rollback."""

    id: str
    kind: Literal["apply", "rollback"]
    started: str
    finished: str | None
    """None: the run ended before its time, or has not ended."""
    plan: str
    """Digest of the plan; for a rollback, the id of the run that it undoes."""
    mode: Mode
    targets: tuple[str, ...]
    outcome: Literal["done", "failed", "rolled-back", "unfinished"]
    steps: tuple[UnitRun, ...]
    damage: tuple[str, ...] = ()
    """Damage to the run's folder: one sentence each, with the file's name."""


PreviewOutcome = Literal["would-change", "already", "gone", "refused", "failed"]
"""``failed``: it could not be determined. The others are the outcomes of a run."""

WELL: frozenset[PreviewOutcome] = frozenset({"would-change", "already"})
"""Outcomes without an obstacle."""


class Preview(msgspec.Struct, frozen=True):
    """The outcome that a unit would have; nothing was changed. ``message`` says why work on it
    would not start, ``codes`` say the same for programs; ``steps``: the plan's steps on it.
    ``place`` is its file, or else its target."""

    name: str
    outcome: PreviewOutcome
    message: str = ""
    codes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    place: str = ""


StateName = Literal["in-effect", "waiting", "differs", "gone", "moved", "unknown", "taken-back"]
"""State of a unit. ``waiting``: defined, but not in effect until the guest is powered off and on.
``differs``: not as planned, or the guest has problems with it. ``moved``: the unit is now in
another place of the run. ``taken-back``: undone by a later run."""


class UnitState(NamedTuple):
    """A unit, checked after its run. ``unreachable``: its host or cloud could not be reached."""

    name: str
    state: StateName
    detail: str = ""
    checks: tuple[Check, ...] = ()
    unreachable: bool = False


# Current state of the cloud objects that may be changed: the facts that decide whether a change is
# allowed.


# A host of a cloud that runs its servers.


class ComputeNode(msgspec.Struct, frozen=True):
    """One host by its ``name`` in the cloud; its ``address`` and ``zone`` are empty if they are
    unknown. ``up``: its service answers."""

    name: str
    address: str = ""
    zone: str = ""
    aggregates: tuple[str, ...] = ()
    up: bool = True


class ServerState(msgspec.Struct, frozen=True):
    """The current state of a server. ``stored_properties`` are the image properties that Nova keeps
    for it (reported from microversion 2.98, except for servers that boot from a volume); None: not
    reported."""

    id: str
    name: str
    status: str
    vm_state: str = ""
    task_state: str | None = None
    power_state: int | None = None
    locked: bool | None = None
    locked_reason: str = ""
    host: str | None = None
    host_status: str = ""
    """Status of its nova-compute: ``UP``, ``DOWN``, ``UNKNOWN``, ``MAINTENANCE``; empty: not
    reported, since only admins see it (``host_status``, microversion 2.16)."""
    instance_name: str | None = None
    zone: str = ""
    project: str = ""
    stored_properties: dict[str, str] | None = None
    has_image: bool | None = None
    """True: it was created from an image, so shelving it creates a snapshot; False: it boots from a
    volume; None: unknown."""
    fault: str = ""
    """Nova's error message for a server in state ERROR."""


class PortState(msgspec.Struct, frozen=True):
    """The current state of a server's port in Neutron. ``status``: ``ACTIVE``, ``DOWN``,
    ``BUILD``…"""

    id: str
    mac: str
    status: str


class FlavorState(msgspec.Struct, frozen=True):
    """The current state of a flavor, with its extra specs."""

    id: str
    name: str
    properties: dict[str, str] = {}
