"""Why a unit of a run was refused: stable codes, for machines. The sentence beside says more."""

from __future__ import annotations

from typing import Literal, get_args

RefusalCode = Literal[
    "agent", "backend", "busy", "drift", "edited", "group", "held", "in-use", "kept-original",
    "locked", "measuring", "mode", "moved", "node-down", "not-begun", "nova-manage",
    "nova-release", "other", "owner", "plan", "power", "saved-memory", "shelved", "state",
    "transient", "unreachable", "unreadable", "whole-only",
]  # fmt: skip
"""Documented in docs/reference/refusals.md."""

REFUSAL_CODES: tuple[RefusalCode, ...] = get_args(RefusalCode)
