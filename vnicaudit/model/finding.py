"""A judgement on one thing, and the edit it proposes."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.fix import Fix
from vnicaudit.model.location import Location
from vnicaudit.model.owner import Keeper
from vnicaudit.model.refs import Ref

Severity = Literal["info", "low", "medium", "high", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high", "error")
"""From lowest to highest. ``error``: it will not start, or is insecure."""

Confidence = Literal["low", "medium", "high"]
"""Strength of the evidence: ``high`` read from what runs, or follows from the definition alone;
``medium`` inferred; ``low`` a hint."""
CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")
"""From lowest to highest."""


class Change(msgspec.Struct, frozen=True):
    """A proposed edit in model terms, never in XML or YAML. ``old`` None: not set before;
    ``new`` None: to be removed. ``reason`` says why the edit is safe or unsafe."""

    field: str
    old: str | None
    new: str | None
    safe: bool
    reason: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One instance of one rule.

    ``fix`` is worded for ``owner``: the place where the definition is kept. ``fixes`` are the
    values that ``fix`` was worded from. ``fingerprint`` identifies the finding across audits (from
    rule, domain UUID and MAC, or file and xpath without those; never from a line number).
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    about: Ref
    location: Location
    owner: Keeper
    change: Change | None
    fingerprint: str
    fix: str = ""
    related: tuple[Location, ...] = ()
    """Other places involved, such as one that overrides the finding's own place or contradicts
    it."""
    fixes: tuple[Fix, ...] = ()


INVALID_SUPPRESSION = "SUPP003"
"""The ``rule`` of findings about suppressions that cannot be used."""

EVERY_RULE = "*"
"""The ``rule`` of a Skipped entry that stands for all rules (a domain that is not QEMU's)."""
ALL_BUT_THE_MODEL = "*-model"
"""The ``rule`` of a Skipped entry that stands for all rules except those on a NIC's model (a
template decides the rest)."""


class Skipped(msgspec.Struct, frozen=True):
    """A rule that could not be judged. ``needs`` names the missing fact and a source for it."""

    rule: str
    about: Ref
    needs: str


class Crashed(msgspec.Struct, frozen=True):
    """A rule that failed. It does not count as passed: the run ends with exit code 3."""

    rule: str
    about: Ref
    error: str
