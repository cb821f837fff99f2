"""Records of runs: one execution of a plan, domain by domain (or server by server)."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.plan import Mode

Outcome = Literal[
    "applied", "already", "gone", "refused", "failed", "rolled-back", "unfinished", "not-reached"
]
"""``applied``: done and verified. ``already``: it was done before. ``gone``: somebody deleted it,
so there is nothing left to do. ``refused``: nothing was done. ``failed``: it could not be done or
verified, and the message says how far it was undone. ``rolled-back``: done, found to make things
worse, and undone. ``unfinished``: the run ended in the middle of it. ``not-reached``: the run
stopped before it."""

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


ForeseenOutcome = Literal["would-change", "already", "gone", "refused", "failed"]
"""``failed``: it could not be determined. The others are the outcomes of a run."""

WELL: frozenset[ForeseenOutcome] = frozenset({"would-change", "already"})
"""Outcomes without an obstacle."""


class Foreseen(msgspec.Struct, frozen=True):
    """The outcome that a unit would have; nothing was changed. ``message`` says why work on it
    would not start, ``codes`` say the same for programs; ``steps``: the plan's steps on it.
    ``place`` is its file, or else its target."""

    name: str
    outcome: ForeseenOutcome
    message: str = ""
    codes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    place: str = ""
