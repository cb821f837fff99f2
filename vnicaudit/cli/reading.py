"""What the options and settings of a reading command mean: one place, so that audit, nics and
explain cannot disagree about the same input."""

from __future__ import annotations

from typing import Any, NamedTuple

from vnicaudit.audit.live import LiveOptions
from vnicaudit.audit.run import RunOptions
from vnicaudit.audit.settings import Loaded, load_settings
from vnicaudit.audit.work import Assumptions
from vnicaudit.cli.options import DEADLINE, terminal_width, use_color
from vnicaudit.cli.stdout import stream
from vnicaudit.model.version import Version
from vnicaudit.reports.writer import Options


class Reading(NamedTuple):
    """Settings, the versions to judge by, and how to read; the command line wins."""

    settings: Loaded
    assumptions: Assumptions
    options: RunOptions


def reading(given: dict[str, Any], *, jobs: int | None = None) -> Reading:
    """What ``reading_options`` gave, merged with the settings. ``jobs`` overrides ``--jobs``.

    Raises UsageError for whatever is wrong in the settings.
    """
    loaded = load_settings(given["config"])
    settings = loaded.settings
    assumptions = Assumptions(
        given["assume_qemu"] or _version(settings.assume_qemu),
        given["assume_libvirt"] or _version(settings.assume_libvirt),
    )
    live = LiveOptions(
        deadline=given["deadline"] or settings.deadline or DEADLINE, agent=given["agent"]
    )
    return Reading(loaded, assumptions, RunOptions(given["jobs"] if jobs is None else jobs, live))


def screen(given: dict[str, Any]) -> Options:
    """How to write to standard output."""
    return Options(
        width=terminal_width(),
        color=use_color(given["color"], to_terminal=stream().isatty()),
        verbose=given["verbose"],
        quiet=given["quiet"],
    )


def _version(text: str | None) -> Version | None:
    return None if text is None else Version.parse(text)
