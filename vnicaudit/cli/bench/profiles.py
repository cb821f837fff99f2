"""``vnicaudit bench profiles``: list the profiles, or check and show one."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.bench.profiles.load import load_profile, shipped_profiles
from vnicaudit.cli.options.candidates import profiles
from vnicaudit.cli.options.output import FormatOption, OutputOptions, screen_options
from vnicaudit.cli.options.records import SectionedCommand, takes
from vnicaudit.cli.output.files import emit
from vnicaudit.reports.bench.profiles import render, render_one, to_json

_EPILOG = """\b
Examples:
  vnicaudit bench profiles
  vnicaudit bench profiles quick
  vnicaudit bench profiles quick --verbose       describe each workload
  vnicaudit bench profiles ./web.toml            validate your own profile
  vnicaudit bench profiles --format json

\b
Exit codes: 0 valid, 2 no such profile, or a mistake in it."""


class BenchProfilesOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit bench profiles``."""

    profile: str | None
    format: FormatOption = "text"
    output: OutputOptions


@click.command("profiles", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("profile", required=False, metavar="[PROFILE]", shell_complete=profiles)
@takes(BenchProfilesOptions)
def command(options: BenchProfilesOptions) -> int:
    """List the profiles, or show one: its workloads, how they are judged, and how long it takes.

    PROFILE is the name of a built-in profile, or the path of your own .toml file: mistakes in it
    are reported with their table and key. Times are estimates.
    """
    names = [options.profile] if options.profile else shipped_profiles()
    found = [load_profile(name) for name in names]
    if options.format == "json":
        emit(to_json(found))
        return 0
    style = screen_options(options.output)
    for text in render_one(found[0], style) if options.profile else render(found, style):
        emit(text)
    return 0
