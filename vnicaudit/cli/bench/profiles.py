"""``vnicaudit bench profiles``: list the profiles, or check and show one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from vnicaudit.cli.options.candidates import profiles
from vnicaudit.cli.options.output import (
    Format,
    OutputOptions,
    format_option,
    output_options,
    screen_options,
)
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vnicaudit.bench.profiles.profile import Profile

_EPILOG = """\b
Examples:
  vnicaudit bench profiles
  vnicaudit bench profiles quick
  vnicaudit bench profiles quick --verbose       describe each workload
  vnicaudit bench profiles ./web.toml            validate your own profile
  vnicaudit bench profiles --format json

\b
Exit codes: 0 valid, 2 no such profile, or a mistake in it."""


class BenchProfilesOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit bench profiles``."""

    profile: str | None
    format: Format
    output: OutputOptions


@click.command("profiles", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("profile", required=False, metavar="[PROFILE]", shell_complete=profiles)
@format_option
@output_options
@as_record(BenchProfilesOptions)
def command(options: BenchProfilesOptions) -> int:
    """List the profiles, or show one: its workloads, how they are judged, and how long it takes.

    PROFILE is the name of a built-in profile, or the path of your own .toml file: mistakes in it
    are reported with their table and key. Times are estimates.
    """
    from vnicaudit.bench.profiles.load import load_profile, shipped_profiles

    profile = options.profile
    profiles = [load_profile(name) for name in ([profile] if profile else shipped_profiles())]
    if options.format == "json":
        from vnicaudit.reports.bench.profiles import to_json

        emit(to_json(profiles))
    else:
        _print(profiles, options.output, whole=profile is not None)
    return 0


def _print(profiles: Sequence[Profile], output: OutputOptions, *, whole: bool) -> None:
    from vnicaudit.reports.bench.profiles import render, render_one

    style = screen_options(output)
    for text in render_one(profiles[0], style) if whole else render(profiles, style):
        emit(text)
