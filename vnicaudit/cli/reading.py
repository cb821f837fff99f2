"""What the options and settings of a reading command mean: one place, so that audit, nics and
explain cannot disagree about the same input."""

from __future__ import annotations

from typing import Any

import msgspec

from vnicaudit.audit.options import LiveOptions, RunOptions
from vnicaudit.audit.selection import Changed, Exclusion, Selection
from vnicaudit.audit.settings import Loaded, load_settings
from vnicaudit.audit.work import Assumptions
from vnicaudit.cli.cloud_filters import wanted_of
from vnicaudit.cli.options import terminal_width, use_color
from vnicaudit.cli.stdout import stream
from vnicaudit.cli.telling import tell
from vnicaudit.model.host import DEADLINE, CloudLimits
from vnicaudit.model.nova_options import Release
from vnicaudit.model.version import Version
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writer import Options


class Reading(msgspec.Struct, frozen=True):
    """Settings, the versions to judge by, and how to read; the command line wins."""

    settings: Loaded
    assumptions: Assumptions
    options: RunOptions


def reading(given: dict[str, Any], *, jobs: int | None = None) -> Reading:
    """What ``reading_options`` gave, merged with the settings. ``jobs`` overrides ``--jobs``.

    Raises UsageError for whatever is wrong in the settings.
    """
    loaded = load_settings(given["config"], trusted=given["trusted_settings"])
    if loaded.file is not None and given.get("verbose"):
        tell(f"Settings: {safe(loaded.file)}")
    settings = loaded.settings
    assumptions = Assumptions(
        given["assume_qemu"] or _version(settings.assume_qemu),
        given["assume_libvirt"] or _version(settings.assume_libvirt),
        given.get("nova_release") or _release(settings.nova_release),
    )
    live = LiveOptions(
        deadline=given["deadline"] or settings.deadline or DEADLINE,
        agent=given["agent"],
        cloud=CloudLimits(given["max_rps"], given["cloud_deadline"] or CloudLimits().total),
        servers=wanted_of(given),
    )
    jobs = given["jobs"] if jobs is None else jobs
    options = RunOptions(jobs, live, _selection(given, loaded), given.get("nova_config", ()))
    return Reading(loaded, assumptions, options)


def _selection(given: dict[str, Any], loaded: Loaded) -> Selection:
    """Which files are read. Only ``audit`` has options other than ``--exclude``."""
    exclusions = [Exclusion(given["excluded"])] if given["excluded"] else []
    if loaded.exclusion is not None:
        exclusions.append(loaded.exclusion)
    return Selection(
        tuple(exclusions),
        _changed(given.get("changed_since")),
        given.get("force_exclude", False),
        given.get("skip_unrecognised", False),
    )


def _changed(revision: str | None) -> Changed | None:
    if revision is None:
        return None
    from vnicaudit.audit.changed import changed_since

    return changed_since(revision)


def screen(given: dict[str, Any]) -> Options:
    """How to write to standard output."""
    return Options(
        width=terminal_width(),
        color=use_color(given["color"], to_terminal=stream().isatty()),
        verbose=given["verbose"],
        quiet=given["quiet"],
        group_by=given.get("group_by") or "",
    )


def _release(name: str | None) -> Release | None:
    if name is None:
        return None
    from vnicaudit.platforms.nova_conf.options import release_of

    return release_of(name)


def _version(text: str | None) -> Version | None:
    return None if text is None else Version.parse(text)
