"""``vnicaudit.profiles/1``: one profile per line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from vnicaudit.bench.profiles.profile import Profile, estimate
from vnicaudit.reports.encode import encode_items

PROFILES_SCHEMA: Literal["vnicaudit.profiles/1"] = "vnicaudit.profiles/1"


class ProfileEntry(Profile, frozen=True, kw_only=True):
    """A profile with its estimated duration."""

    seconds: tuple[float, ...]
    """Estimated seconds for two arms, up to each of the looks."""


class ProfilesReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.profiles/1``: the available profiles."""

    schema: Literal["vnicaudit.profiles/1"] = PROFILES_SCHEMA
    profiles: tuple[ProfileEntry, ...]


def to_json(profiles: Sequence[Profile]) -> str:
    """The document, in the given order."""
    items = encode_items([_entry(profile) for profile in profiles])
    return f'{{"schema":"{PROFILES_SCHEMA}",\n"profiles":[\n{items}]}}\n'


def _entry(profile: Profile) -> ProfileEntry:
    seconds = tuple(round(estimate(profile, 2, look), 1) for look in profile.looks)
    return ProfileEntry(**msgspec.structs.asdict(profile), seconds=seconds)
