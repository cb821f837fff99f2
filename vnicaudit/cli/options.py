"""Options that several commands share, and what they mean together."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from vnicaudit.cli.stdout import stream
from vnicaudit.errors import UsageError
from vnicaudit.model.host import DEADLINE, CloudLimits
from vnicaudit.model.nova_options import Release
from vnicaudit.model.version import Version

F = TypeVar("F", bound=Callable[..., Any])


def _version(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Version | None:
    """A version on the command line: ``10.0`` or ``10.0.13``."""
    if value is None:
        return None
    try:
        return Version.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


def _nova_release(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Release | None:
    """A release of Nova: ``caracal``, ``29``, ``29.2.0`` or ``2024.1``."""
    if value is None:
        return None
    from vnicaudit.platforms.nova_conf.options import release_of, releases

    release = release_of(value)
    if release is None:
        known = f"{releases()[0]} to {releases()[-1]}"
        raise click.BadParameter(
            f"{value!r} is no release of Nova from {known}; name it as Caracal, 29.0 or 2024.1",
            context,
            parameter,
        )
    return release


def _seconds(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    """A length of time: not ``nan``, not endless."""
    if value is not None and not 0.1 <= value <= 86_400:
        raise click.BadParameter("from 0.1 to 86400 seconds", context, parameter)
    return value


class Number(click.FloatRange):
    """A number in a range; ``nan`` is in none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found: float = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator for several options, which ``--help`` shows in this order."""

    def decorated(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
"""Of the commands that print one thing, for people or for programs."""

reading_options = together(
    click.option(
        "--config",
        envvar="VNICAUDIT_CONFIG",
        metavar="FILE",
        type=click.Path(),
        help="Instead of vnicaudit.toml or [tool.vnicaudit] in pyproject.toml, found upwards "
        "from here.",
    ),
    click.option(
        "--trust-settings",
        "trusted_settings",
        envvar="VNICAUDIT_TRUST_SETTINGS",
        multiple=True,
        metavar="FOLDER",
        type=click.Path(),
        help="Settings that are found in this folder, or below it, hold although somebody else "
        "may write them; repeatable.",
    ),
    click.option(
        "--exclude",
        "excluded",
        envvar="VNICAUDIT_EXCLUDE",
        multiple=True,
        metavar="PATTERN",
        help="Not these files and folders, where they are found in a folder; besides those of the "
        "settings. Repeatable.",
    ),
    click.option(
        "--assume-qemu",
        envvar="VNICAUDIT_ASSUME_QEMU",
        callback=_version,
        metavar="VERSION",
        help="Judge as if the hosts ran this QEMU: will the domains still start?",
    ),
    click.option(
        "--assume-libvirt",
        envvar="VNICAUDIT_ASSUME_LIBVIRT",
        callback=_version,
        metavar="VERSION",
        help="Judge as if the hosts ran this libvirt.",
    ),
    click.option(
        "--deadline",
        envvar="VNICAUDIT_DEADLINE",
        type=float,
        callback=_seconds,
        metavar="SECONDS",
        help=f"Give a live host up when one call takes longer.  [default: {DEADLINE:.0f}]",
    ),
    click.option(
        "--max-rps",
        envvar="VNICAUDIT_MAX_RPS",
        type=click.FloatRange(min=0.01, max=10_000),
        metavar="N",
        help="Send a cloud at most N requests per second.  [default: no limit]",
    ),
    click.option(
        "--cloud-deadline",
        envvar="VNICAUDIT_CLOUD_DEADLINE",
        type=float,
        callback=_seconds,
        metavar="SECONDS",
        help="Stop reading a cloud after this time and report what was read.  [default: "
        f"{CloudLimits().total:.0f}]",
    ),
    click.option(
        "--agent",
        envvar="VNICAUDIT_AGENT",
        is_flag=True,
        help="Also ask guest agents of live domains (slower).",
    ),
    click.option(
        "--jobs",
        envvar="VNICAUDIT_JOBS",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Worker processes for files; 0 means one per core.",
    ),
)
"""Options of every command that reads targets."""

nova_options = together(
    click.option(
        "--nova-config",
        envvar="VNICAUDIT_NOVA_CONFIG",
        multiple=True,
        metavar="PATH",
        type=click.Path(),
        help="A file or folder that nova-compute is given as --config-file or --config-dir; "
        "repeatable: all are read as one configuration, in this order.",
    ),
    click.option(
        "--nova-release",
        envvar="VNICAUDIT_NOVA_RELEASE",
        callback=_nova_release,
        metavar="NAME",
        help="Judge nova.conf for this release: Caracal, 29.0 or 2024.1.  [default: the newest "
        "known]",
    ),
)
"""Options that say how Nova's configuration is read."""

output_options = together(
    click.option(
        "-q",
        "--quiet",
        envvar="VNICAUDIT_QUIET",
        is_flag=True,
        help="Only results; no progress, no summary.",
    ),
    click.option(
        "-v",
        "--verbose",
        envvar="VNICAUDIT_VERBOSE",
        is_flag=True,
        help="Also what is in order, and why.",
    ),
    click.option(
        "--color",
        envvar="VNICAUDIT_COLOR",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colour on a terminal, always, or never (NO_COLOR is honoured).",
    ),
)
"""Options of every command that prints something."""


def use_color(choice: str, *, to_terminal: bool) -> bool:
    """Whether to colour: asked for, or on a terminal where nothing speaks against it."""
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return to_terminal and not plain


def terminal_width() -> int:
    """Columns of the terminal; 100 where standard output is none."""
    if stream().isatty() or "COLUMNS" in os.environ:
        import shutil  # slow to load, and a report that goes to a file or a pipe needs none of it

        return max(20, shutil.get_terminal_size().columns)
    return 100


def pairs(formats: tuple[str, ...], outputs: tuple[str, ...]) -> list[tuple[str, str]]:
    """``--format`` and ``--output`` pairwise; a format without an output goes to standard output.

    Raises UsageError when there are more outputs than formats, when two formats would share
    standard output, or when two would share a file.
    """
    formats = formats or ("text",)
    if len(outputs) > len(formats):
        raise UsageError("more --output than --format: they are taken in pairs")
    places = [*outputs, *["-"] * (len(formats) - len(outputs))]
    if len(set(places)) < len(places):
        twice = next(place for place in places if places.count(place) > 1)
        name = "standard output" if twice == "-" else twice
        raise UsageError(f"two formats would be written to {name}: give each its own --output")
    return list(zip(formats, places, strict=True))
