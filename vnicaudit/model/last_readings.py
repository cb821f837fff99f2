"""Findings that the last reading of each host left open in the history, and their place in a
plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from vnicaudit.model.ranking import GainEstimate


class LastReading(msgspec.Struct, frozen=True, kw_only=True):
    """A host as an audit last read it, at ``read_at`` (UTC, RFC 3339). ``findings``: how many are
    open there; accepted ones do not count. ``rules``: those that the audit asked of all of the
    host; empty where it read only a part of it, or a sample of its NICs."""

    host: str
    read_at: str
    domains: int
    nics: int
    findings: int
    rules: frozenset[str]


class OpenMark(NamedTuple):
    """Where a finding is open (empty: on a host that was not asked for), and when it was first seen
    (UTC, RFC 3339)."""

    host: str
    first_seen: str
    is_accepted: bool


class LastReadings(NamedTuple):
    """``hosts``, by name: those that were ever read. ``marks``, by fingerprint: those of the
    findings asked for that are open on any host."""

    hosts: Mapping[str, LastReading]
    marks: Mapping[str, OpenMark]


class StepHistory(NamedTuple):
    """Facts about the findings of one step. ``new``: how many were not in the last audit of
    the host; ``first_seen``: of the oldest of those that were (UTC, RFC 3339; empty: none was)."""

    findings: int
    new: int = 0
    first_seen: str = ""
    gain: GainEstimate | None = None


class UnreadHost(NamedTuple):
    """A host that could not be read for a plan, and its last reading; None: no audit read it."""

    name: str
    last: LastReading | None


class PlanHistory(msgspec.Struct, frozen=True):
    """The part of a plan that comes from the history. ``steps``: by the ids of steps, those of
    which anything is known. ``open_findings``: open on the hosts that were read, at their last
    audit; the plan has a step for ``planned`` of them."""

    steps: Mapping[str, StepHistory] = {}
    unread: tuple[UnreadHost, ...] = ()
    open_findings: int = 0
    planned: int = 0


NO_HISTORY = PlanHistory()
"""Nothing is known."""
