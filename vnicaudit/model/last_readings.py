"""Findings that the last reading of each host left open in the history, and their place in a
plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from vnicaudit.model.ranking import GainEstimate


class LastReading(msgspec.Struct, frozen=True, kw_only=True):
    """The last reading of a host, at ``read_at`` (UTC, RFC 3339). ``findings``: how many are open
    there, not counting accepted ones. ``rules``: those that the audit checked on all of the host;
    empty if it read only a part of it, or a sample of its NICs."""

    host: str
    read_at: str
    domains: int
    nics: int
    findings: int
    rules: frozenset[str]


class OpenMark(NamedTuple):
    """The host on which a finding is open (empty: one that was not requested), and when it was
    first seen (UTC, RFC 3339)."""

    host: str
    first_seen: str
    is_accepted: bool


class LastReadings(NamedTuple):
    """``hosts``, by name: those that were ever read. ``marks``, by fingerprint: those of the
    requested findings that are open on any host."""

    hosts: Mapping[str, LastReading]
    marks: Mapping[str, OpenMark]


class StepHistory(NamedTuple):
    """Facts about the findings of one step. ``new``: how many were not in the last audit of the
    host; ``first_seen``: time of the oldest of the others (UTC, RFC 3339; empty: there are
    none)."""

    findings: int
    new: int = 0
    first_seen: str = ""
    gain: GainEstimate | None = None


class UnreadHost(NamedTuple):
    """A host that could not be read for a plan, and its last reading; None: no audit read it."""

    name: str
    last: LastReading | None


class PlanHistory(msgspec.Struct, frozen=True):
    """The part of a plan that comes from the history. ``steps``: by the ids of steps.
    ``open_findings``: open on the hosts that were read, at their last audit; the plan has a step
    for ``planned`` of them."""

    steps: Mapping[str, StepHistory] = {}
    unread: tuple[UnreadHost, ...] = ()
    open_findings: int = 0
    planned: int = 0


NO_HISTORY = PlanHistory()
"""The history without any facts."""
