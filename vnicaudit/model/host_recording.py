"""``vnicaudit.host-facts/1``: the recording of a visit to a host."""

from __future__ import annotations

from typing import Literal

import msgspec

RECORDING_SCHEMA: Literal["vnicaudit.host-facts/1"] = "vnicaudit.host-facts/1"


class RecordedSection(msgspec.Struct, frozen=True):
    """Text that the host printed under a name. ``code``: how its command ended; None: there is no
    command."""

    name: str
    text: str
    code: int | None = None


class HostRecording(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one visit read, with secrets masked. ``version``: of this program, whose
    script asked for the sections; ``recorded``: UTC, RFC 3339; ``place``: the URL of the place,
    without options."""

    schema: Literal["vnicaudit.host-facts/1"] = RECORDING_SCHEMA
    version: str
    recorded: str
    place: str
    sections: tuple[RecordedSection, ...]
