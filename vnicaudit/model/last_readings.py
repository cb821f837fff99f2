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
    """One host on which a finding is open (empty: a host that was not requested), and when it was
    first seen there (UTC, RFC 3339)."""

    host: str
    first_seen: str
    is_accepted: bool


class LastReadings(NamedTuple):
    """``hosts``, by name: those that were ever read. ``marks``, by fingerprint: where the requested
    findings are open; several hosts if a guest is defined on several."""

    hosts: Mapping[str, LastReading]
    marks: Mapping[str, tuple[OpenMark, ...]]


class StepHistory(NamedTuple):
    """Facts about the findings of one step. ``known``: how many of them are open in the history,
    the oldest since ``first_seen`` (UTC, RFC 3339; empty: none is known); ``new``: how many were
    not in the last audit of the host. The others are unknown because that audit did not check their
    rules on all of the host."""

    findings: int
    known: int = 0
    new: int = 0
    first_seen: str = ""
    gain: GainEstimate | None = None


class UnreadHost(NamedTuple):
    """A host that could not be read for a plan, and its last reading; None: no audit read it."""

    name: str
    last: LastReading | None


class PlanHistory(msgspec.Struct, frozen=True):
    """The part of a plan that comes from the history. ``steps``: by the ids of steps.
    ``read``: number of hosts that were read now (0: the history knows nothing about the plan);
    ``audited``: those of them that an audit read
    before; ``partly``: those of which the last audit did not check everything that is planned
    there. ``open_findings``: open on the audited hosts at their last audit; the plan has a step for
    ``planned`` of them."""

    steps: Mapping[str, StepHistory] = {}
    unread: tuple[UnreadHost, ...] = ()
    read: int = 0
    audited: int = 0
    partly: int = 0
    open_findings: int = 0
    planned: int = 0


NO_HISTORY = PlanHistory()
"""The history without any facts."""
