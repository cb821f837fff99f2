"""``vnicaudit bench profiles``: what can be measured, or one profile, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.options import format_option, output_options
from vnicaudit.cli.stdout import emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vnicaudit.bench.profiles.profile import Profile

_EPILOG = """\b
Examples:
  vnicaudit bench profiles
  vnicaudit bench profiles quick
  vnicaudit bench profiles quick --verbose       … each workload in words
  vnicaudit bench profiles ./web.toml            check one of your own
  vnicaudit bench profiles --format json

\b
Exit codes: 0 in order, 2 there is no such profile, or a mistake in it."""


def profile_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For shell completion: the shipped profiles."""
    del context, parameter
    from vnicaudit.bench.profiles.load import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


@click.command("profiles", epilog=_EPILOG)
@click.argument("profile", required=False, metavar="[PROFILE]", shell_complete=profile_names)
@format_option
@output_options
def command(profile: str | None, **given: Any) -> int:
    """List the profiles, or show one: its workloads, how it is judged, how long it takes.

    PROFILE is the name of a shipped one, or the path of your own, which ends in .toml: a mistake
    in it is told with its line. Times are estimates.
    """
    from vnicaudit.bench.profiles.load import load_profile, shipped

    profiles = [load_profile(name) for name in ([profile] if profile else shipped())]
    if given["format_"] == "json":
        from vnicaudit.reports.profiles.json import to_json

        emit(to_json(profiles))
    else:
        _print(profiles, given, whole=profile is not None)
    return 0


def _print(profiles: Sequence[Profile], given: dict[str, Any], *, whole: bool) -> None:
    from vnicaudit.cli.reading import screen
    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.profiles.text import render, render_one

    options = screen(given)
    paint = Paint(color=options.color)
    pieces = render_one(profiles[0], options, paint) if whole else render(profiles, options, paint)
    for text in pieces:
        emit(text)
