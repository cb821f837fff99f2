"""The kinds of things that are judged: one row for each. A report counts, names and redacts a
subject as its row says.

A new kind is a row here, a scope in :mod:`vnicaudit.model.finding`, its record (for something
described in a file or a cloud a :class:`~vnicaudit.model.finding.Description`, which
:mod:`vnicaudit.audit.judging.judgement` judges as it is) and the platform that reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from vnicaudit.model.finding import AuditedScope, NamedKind
    from vnicaudit.model.ranking import PlaceKind


class SubjectRow(msgspec.Struct, frozen=True):
    """One kind of subject."""

    word: str
    """In a sentence that counts, and in messages."""
    title: str
    """In a heading, after its owner; empty: a heading names the owner alone."""
    pseudonym: Literal["vm", "host", "path", NamedKind]
    """The kind of name that a redacted report shows instead (``path``: of each of its parts)."""
    place: PlaceKind | None = None
    """The place where such a subject is changed, in a ranking of fixes; None: its guest."""


KINDS: dict[AuditedScope, SubjectRow] = {
    "domain": SubjectRow("guest", "", "vm"),
    "interface": SubjectRow("interface", "interface outside of a domain", "vm"),
    "host": SubjectRow("host", "host", "host", "host"),
    "config": SubjectRow("file", "configuration", "path"),
    "image": SubjectRow("image", "image", "image", "image"),
    "flavor": SubjectRow("flavor", "flavor", "flavor", "flavor"),
    "preference": SubjectRow("preference", "preference", "preference", "preference"),
    "cluster": SubjectRow("cluster", "cluster", "cluster", "cluster"),
    "site": SubjectRow("compute node", "compute node", "host"),
    "mac": SubjectRow("NIC", "shared MAC address", "vm"),
}
