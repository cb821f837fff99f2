"""The memory of a fleet: what is told of its audits, and of what changed between them."""

from __future__ import annotations

from typing import Literal

import msgspec

FindingState = Literal[
    "new", "known", "reopened", "returned", "moved", "suppressed", "not looked at", "fixed", "gone"
]
"""Of a finding, as an audit left it. ``new``: never known before; ``known``: as it was, or told in
other words; ``reopened``: it had been fixed; ``returned``: what it is about was gone, and is back;
``moved``: it was known on another host; ``suppressed``: somebody accepted it; ``not looked at``: it
is open as far as is known, and the audit did not look; ``fixed``: looked at, and not there any
more; ``gone``: what it was about is not there any more."""


class StoredAudit(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an audit that was to be stored. ``is_new`` False: it had been stored before,
    and all counts are 0. Hosts: ``ok``, ``partial``, ``failed``, and ``unchanged`` of those that
    were read; findings: ``new``, ``reopened``, ``fixed``, ``gone``."""

    id: str
    number: int
    is_new: bool
    ok: int = 0
    partial: int = 0
    failed: int = 0
    unchanged: int = 0
    new: int = 0
    reopened: int = 0
    fixed: int = 0
    gone: int = 0
