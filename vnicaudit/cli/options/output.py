"""``--quiet``, ``--verbose``, ``--color`` and ``--format``: how results are printed."""

from __future__ import annotations

import os
import shutil
from typing import Literal

import click
import msgspec

from vnicaudit.cli.options.records import group
from vnicaudit.cli.output.stdout import stream
from vnicaudit.errors import UsageError
from vnicaudit.reports.writer import Options, View

Color = Literal["auto", "always", "never"]
Format = Literal["text", "json"]

_WITHOUT_LINKS = ("", "dumb", "linux")
"""Values of ``TERM`` without links: the Linux console prints part of their escape sequences."""


class OutputOptions(msgspec.Struct, frozen=True):
    """How much is printed, and whether in colour."""

    quiet: bool
    verbose: bool
    color: Color


output_options = group(
    "output",
    OutputOptions,
    click.option(
        "-q",
        "--quiet",
        envvar="VNICAUDIT_QUIET",
        is_flag=True,
        help="Print results only; no progress, no notes.",
    ),
    click.option(
        "-v",
        "--verbose",
        envvar="VNICAUDIT_VERBOSE",
        is_flag=True,
        help="Also show what passed, and why.",
    ),
    click.option(
        "--color",
        envvar="VNICAUDIT_COLOR",
        type=click.Choice(("auto", "always", "never")),
        default="auto",
        show_default=True,
        help="Colour on a terminal, always, or never (NO_COLOR is honoured).",
    ),
)
"""Options of every command that prints something."""


format_option = click.option(
    "--format",
    "format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Output format.",
)
"""``--format``, for commands that print one document for people or for programs."""


def screen_options(
    output: OutputOptions, *, group_by: str | None = None, view: View = "full"
) -> Options:
    """Options for writing reports to standard output."""
    return Options(
        width=terminal_width(),
        color=use_color(output.color, to_terminal=stream().isatty()),
        verbose=output.verbose,
        quiet=output.quiet,
        group_by=group_by or "",
        view=view,
    )


def use_color(choice: Color, *, to_terminal: bool) -> bool:
    """True if output is coloured: on request, or on a terminal unless the environment forbids
    it."""
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return to_terminal and not plain


def shows_links(choice: Color, *, to_terminal: bool) -> bool:
    """True if hyperlinks may be written: on a coloured terminal, unless it is known to print them
    as text."""
    return (
        to_terminal
        and use_color(choice, to_terminal=True)
        and os.environ.get("TERM", "") not in _WITHOUT_LINKS
    )


def terminal_width() -> int:
    """Columns of the terminal; 100 if standard output is not a terminal."""
    if stream().isatty() or "COLUMNS" in os.environ:
        return max(20, shutil.get_terminal_size().columns)
    return 100


def pairs(formats: tuple[str, ...], outputs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pair up ``--format`` and ``--output``; a format without an output goes to standard output.

    Raises UsageError if there are more outputs than formats, or if two formats would share standard
    output or a file.
    """
    formats = formats or ("text",)
    if len(outputs) > len(formats):
        raise UsageError(
            "more --output than --format options: each --output needs its own --format"
        )
    places = [*outputs, *["-"] * (len(formats) - len(outputs))]
    if len(set(places)) < len(places):
        twice = next(place for place in places if places.count(place) > 1)
        name = "standard output" if twice == "-" else twice
        raise UsageError(f"two formats would be written to {name}: give each its own --output")
    return list(zip(formats, places, strict=True))
