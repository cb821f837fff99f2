"""Advice on networks: ``vnicaudit.advice/1``."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.scenario import AttachmentKind

ADVICE_SCHEMA: Literal["vnicaudit.advice/1"] = "vnicaudit.advice/1"

RowKind = Literal["hard", "decides", "depends", "tunes", "notes"]
"""``hard``: excludes attachments, and is always shown. ``decides``: chooses. ``depends``: the
sources contradict each other or do not say. ``tunes``: a setting. ``notes``: information."""
Answer = Literal["advised", "depends", "unknown"]
Rfs = Literal["on", "off", "depends", ""]
Placement = Literal["same-node", "apart", ""]


class FiredRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the decision table whose conditions hold."""

    row: str
    """``R06``."""
    kind: RowKind
    answer: str
    figure: str = ""
    """The source's own words; empty where the row has none, or where the platform is not the one
    that was measured."""
    direction: str = ""
    """Instead of a figure: the direction without a number, and what was not measured."""
    quotation: str = ""
    source: str
    """Title of the document."""
    section: str = ""
    limits: str = ""
    decides: str = ""
    """Rows of kind ``depends``: the fact that would decide."""
    command: str = ""
    """Command that measures it."""
    beaten_by: str = ""
    """Row that takes precedence or makes this one impossible, or need that it cannot meet
    (``flow.fixed_ip``): this one is shown as the other side."""


class Excluded(msgspec.Struct, frozen=True):
    """An attachment that a hard row excludes."""

    attachment: AttachmentKind
    row: str
    reason: str


class DecidingFact(msgspec.Struct, frozen=True):
    """A fact that decides, and the command that measures it."""

    fact: str
    """A name in the scenario (``flow.request``), or a few words."""
    command: str


class MissingFact(msgspec.Struct, frozen=True):
    """A fact that the scenario does not say and that could change the answer."""

    name: str
    """As in the scenario: ``platform.sdn``, ``needs.effort``, ``flow.nodes``."""
    rows: tuple[str, ...]
    """Rows that wait for it."""


class FlowAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one flow."""

    flow: str
    answer: Answer
    """``unknown``: facts are missing without which no row decides, or needs are ``unmet``."""
    attachments: tuple[AttachmentKind, ...] = ()
    """One if ``advised``; if it ``depends``, all that are possible. Never one that is excluded."""
    rfs: Rfs = ""
    """Receive flow steering; empty: no row says anything."""
    placement: Placement = ""
    infra_nodes: str = ""
    """``2-3``; empty: no row says anything."""
    rows: tuple[FiredRow, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    deciding: tuple[DecidingFact, ...] = ()
    missing: tuple[MissingFact, ...] = ()
    unmet: tuple[str, ...] = ()
    """Needs (``flow.fixed_ip``) that together no network meets, as far as the sources say, whatever
    else were said."""
    present: AttachmentKind | None = None
    present_advised_against: bool = False
    """True if a row excludes ``present``, or its source compared it with the advised attachment and
    found that better."""
    present_row: str = ""
    """That row."""


class NetworkAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """Advice for a scenario. ``general``: rows about the whole platform."""

    schema: Literal["vnicaudit.advice/1"] = ADVICE_SCHEMA
    flows: tuple[FlowAdvice, ...] = ()
    general: tuple[FiredRow, ...] = ()
