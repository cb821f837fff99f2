"""Reasons why something is not planned, cannot be applied, is refused or is not possible, as codes
for machines.

``docs/reference/reasons.md`` lists them all, ``refusals.md`` those of a unit of a run. A code never
changes; the sentence beside it may be reworded.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

NotPlannedCode = Literal[
    "already",
    "cannot-be-changed",
    "comes-by-itself",
    "live-only",
    "no-definition",
    "no-interface",
    "no-property",
    "no-proposal",
    "not-known",
    "owner-decides",
    "rule-crashed",
    "template",
    "too-many-nics",
    "unsafe",
]


OPTIONS: dict[str, str] = {"unsafe": "--include-unsafe plans it"}
"""Hints on an option for the person who makes the plan, by code."""

BlockedCode = Literal[
    "behind-libvirt",
    "brings-up-error",
    "busy",
    "by-hand",
    "device-driver",
    "device-in-use",
    "device-missing",
    "device-not-given",
    "device-not-seen",
    "does-not-start",
    "in-a-file",
    "locked",
    "mac-missing",
    "mac-not-unique",
    "managed-save",
    "memory-snapshot",
    "nic-type",
    "no-definition",
    "not-known",
    "not-supported",
    "nova-too-old",
    "operator-only",
    "other-project",
    "owner-changes-it",
    "prerequisite",
    "server-state",
    "shared-memory",
    "teamed",
    "version-not-known",
    "version-too-old",
]

ModeCode = Literal[
    "definition-only",
    "in-a-file",
    "needs-stop",
    "new-servers",
    "no-agent",
    "not-foreseen",
    "off",
    "server-state",
    "shares-slot",
    "shelved",
    "virtio-only",
    "waits-for-socket",
    "windows",
]


NotAppliedCode = Literal["loss", "unsafe"]
"""Reason why a step that is not blocked is not applied."""


class Reason(NamedTuple):
    """A code, and the sentence for people."""

    code: NotPlannedCode
    text: str


class Blocked(NamedTuple):
    """The reason why a step cannot be applied as it is: a code (empty: the plan is older than
    codes), and the sentence for people."""

    code: BlockedCode | Literal[""]
    text: str


RefusalCode = Literal[
    "agent", "backend", "busy", "drift", "edited", "group", "held", "in-use", "kept-original",
    "locked", "measuring", "mode", "moved", "node-down", "not-begun", "nova-manage",
    "nova-release", "other", "owner", "plan", "power", "saved-memory", "shelved", "state",
    "transient", "unreachable", "unreadable", "whole-only",
]  # fmt: skip
"""Reason why a unit of a run was refused. The sentence beside it says more."""
